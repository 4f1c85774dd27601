package peer

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Exchange is one message from the client and its answer.
type Exchange struct {
	*Message
	Peer *Peer
	// Context ends when the client is gone.
	Context context.Context //nolint:containedctx // of the exchange itself
	Writer
}

// Writer writes the answer of one message.
type Writer interface {
	// Send writes one message: over HTTP as an event after Stream, else as the whole
	// body.
	Send(data []byte)
	// Stream announces more than one message.
	Stream()
	// Bytes writes data unchanged, even if it is no message: a part of an event stream,
	// or of the lines.
	Bytes(data string)
	// Status answers without a message; over stdio it does nothing.
	Status(code int, header http.Header, body string)
	// Drop breaks the connection.
	Drop()
}

// Default gives the default answer.
func (x *Exchange) Default() {
	switch {
	case x.Verb == http.MethodGet:
		x.Status(http.StatusMethodNotAllowed, http.Header{"Allow": {"POST, DELETE"}}, "")
	case x.Verb == http.MethodDelete:
		x.Status(http.StatusOK, nil, "")
	case x.Err != nil:
		x.Status(http.StatusBadRequest, nil, "")
	case !x.IsRequest():
		x.Status(http.StatusAccepted, nil, "")
	default:
		x.request()
	}
}

// lists are the results of the methods whose result is always the same, but for that of
// tools/list.
var lists = map[string]string{
	mcp.MethodResourcesList:         `"resources":[{"uri":"mem://one","name":"one"}]`,
	mcp.MethodResourceTemplatesList: `"resourceTemplates":[]`,
	mcp.MethodPromptsList:           `"prompts":[{"name":"greet","arguments":[{"name":"who"}]}]`,
	mcp.MethodPromptsGet:            `"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]`,
}

// request gives the default answer to a request.
func (x *Exchange) request() {
	p := x.Peer
	switch method := x.Method(); {
	case method == mcp.MethodInitialize && p.stateless():
		x.Fail(mcp.CodeUnsupportedProtocolVersion, "this server has no sessions", fmt.Sprintf(`{"supported":[%q],"requested":%s}`, p.Revision, OrNull(x.Param("protocolVersion"))))
	case method == mcp.MethodInitialize:
		x.Initialized(string(p.Revision))
	case method == mcp.MethodDiscover && p.stateless():
		x.Discovered(string(p.Revision))
	case method == mcp.MethodPing && !p.stateless():
		x.Result(``)
	case method == mcp.MethodToolsList:
		x.Result(`"tools":` + p.Tools)
	case lists[method] != "":
		x.Result(lists[method])
	case method == mcp.MethodResourcesRead:
		x.Result(`"contents":[{"uri":` + OrNull(x.Param("uri")) + `,"text":"read"}]`)
	case method == mcp.MethodToolsCall:
		x.execute()
	default:
		x.Fail(jsonrpc.CodeMethodNotFound, "Method not found", "")
	}
}

// execute runs a tool: the answer is the argument text, or "n N" if there is an n.
func (x *Exchange) execute() {
	said := rawjson.Text(x.Param("arguments", "text"))
	if n := x.Param("arguments", "n"); n != nil {
		said = "n " + string(n)
	}
	x.Text(said)
}

// Tool returns the name that a call or prompts/get has in its params.
func (x *Exchange) Tool() string { return rawjson.Text(x.Param("name")) }

// Text answers a call with a text.
func (x *Exchange) Text(said string) {
	x.Result(`"content":[{"type":"text","text":` + Quote(said) + `}]`)
}

// Initialized answers initialize with a revision.
func (x *Exchange) Initialized(revision string) {
	x.Result(fmt.Sprintf(`"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"scripted","version":"1"}`, revision, x.Peer.Capabilities))
}

// Discovered answers server/discover with revisions.
func (x *Exchange) Discovered(revisions ...string) {
	x.Result(fmt.Sprintf(`"supportedVersions":["%s"],"capabilities":%s`, strings.Join(revisions, `","`), x.Peer.Capabilities))
}

// Result answers with these members of a result, and adds those that the revision
// requires.
func (x *Exchange) Result(members string) {
	if x.Peer.stateless() {
		extra := `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"scripted","version":"1"}}`
		switch x.Method() {
		case mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead:
			extra += `,"ttlMs":0,"cacheScope":"private"`
		}
		if members != "" {
			extra += ","
		}
		members = extra + members
	}
	x.Raw(`{` + members + `}`)
}

// Raw answers with this result, unchanged.
func (x *Exchange) Raw(result string) {
	x.Send([]byte(`{"jsonrpc":"2.0","id":` + x.ID() + `,"result":` + result + `}`))
}

// TextAnswer is a whole answer to a call, with a text.
func TextAnswer(id, said string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete","content":[{"type":"text","text":` + Quote(said) + `}]}}`
}

// InputRequired answers with input_required; requests is an object or empty, state a text
// or empty.
func (x *Exchange) InputRequired(requests, state string) {
	out := `{"resultType":"input_required"`
	if requests != "" {
		out += `,"inputRequests":` + requests
	}
	if state != "" {
		out += `,"requestState":` + Quote(state)
	}
	x.Raw(out + "}")
}

// Fail answers with an error; data is JSON, or empty.
func (x *Exchange) Fail(code int64, message, data string) {
	if data != "" {
		data = `,"data":` + data
	}
	x.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s%s}}`, x.ID(), code, Quote(message), data))
}

// Notify sends a notification before the answer; params is JSON.
func (x *Exchange) Notify(method, params string) {
	x.Stream()
	x.Send([]byte(`{"jsonrpc":"2.0","method":` + Quote(method) + `,"params":` + params + `}`))
}

// answerWait is how long the server waits for an answer of the client.
const answerWait = 3 * time.Second

// Ask sends a request of the server before the answer, and waits for the client's response
// for up to answerWait. id is JSON.
func (x *Exchange) Ask(id, method, params string) {
	answered := make(chan struct{})
	x.Peer.mu.Lock()
	x.Peer.asked[id] = answered
	x.Peer.mu.Unlock()
	x.Stream()
	x.Send([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":` + Quote(method) + `,"params":` + params + `}`))
	x.WaitFor(answered, answerWait)
}

// Hold waits for d, or until the client is gone.
func (x *Exchange) Hold(d time.Duration) { x.WaitFor(nil, d) }

// WaitFor waits until done is closed, the client is gone, or limit has passed.
func (x *Exchange) WaitFor(done <-chan struct{}, limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-x.Context.Done():
	}
}
