package clientsuite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// peer is the server of one scenario: a good one of one revision, but for what
// the scenario has it do. Handlers run concurrently.
type peer struct {
	revision mcp.Version
	tape     *tape
	// handlers answer in the place of the good server, by method; those of
	// notifications, too. Set before the client starts.
	handlers map[string]func(*exchange)
	// gate, when set, sees each exchange first, also those that carry no message,
	// and reports whether it dealt with it.
	gate func(*exchange) bool
	// capabilities, tools, resources and prompts are what is offered, as JSON.
	capabilities, tools, resources, prompts string
	// sessions tells whether a session id is given over HTTP, lowerCase whether the
	// name of its header is in small letters.
	sessions, lowerCase bool

	mu       sync.Mutex
	asked    map[string]chan *message // our requests that wait for an answer, by id
	count    int
	executed []string // names of the tools that ran
}

func newPeer(revision mcp.Version, t *tape) *peer {
	return &peer{
		revision: revision, tape: t, handlers: map[string]func(*exchange){}, sessions: true, asked: map[string]chan *message{},
		capabilities: `{"tools":{},"resources":{},"prompts":{}}`,
		tools: `[{"name":"echo","description":"Says it again","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"}}}},` +
			`{"name":"write","description":"Writes it down","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]`,
		resources: `[{"uri":"mem://one","name":"one"}]`,
		prompts:   `[{"name":"greet","arguments":[{"name":"who"}]}]`,
	}
}

func (p *peer) stateless() bool { return p.revision.Era() == mcp.EraStateless }

// exchange is one message from the client and the way to answer it.
type exchange struct {
	*message
	peer *peer
	// ctx ends when the client went away.
	ctx context.Context //nolint:containedctx // of the exchange itself
	way way
}

// way carries what answers one message.
type way interface {
	// send writes one message: over HTTP as an event once stream was called, else
	// as the whole body.
	send(data []byte)
	// stream says that more than one message will come.
	stream()
	// bytes writes as it is what may be no message: a part of an event stream, or
	// of the lines.
	bytes(data string)
	// status answers without a message; over stdio nothing happens.
	status(code int, header http.Header, body string)
	// drop breaks the connection.
	drop()
}

// serve answers one message, or an HTTP request without one.
func (p *peer) serve(x *exchange) {
	if p.gate != nil && p.gate(x) {
		return
	}
	if x.isResponse() {
		p.answered(x)
		return
	}
	if h := p.handlers[x.method()]; h != nil {
		h(x)
		return
	}
	x.good()
}

// answered gives the client's answer to who asked.
func (p *peer) answered(x *exchange) {
	p.mu.Lock()
	waiting := p.asked[x.id()]
	delete(p.asked, x.id())
	p.mu.Unlock()
	if waiting != nil {
		waiting <- x.message // has room for one
	}
	x.way.status(http.StatusAccepted, nil, "")
}

// good is what the good server does.
func (x *exchange) good() {
	switch {
	case x.verb == http.MethodGet:
		x.way.status(http.StatusMethodNotAllowed, http.Header{"Allow": {"POST, DELETE"}}, "")
	case x.verb == http.MethodDelete:
		x.way.status(http.StatusOK, nil, "")
	case x.err != nil:
		x.way.status(http.StatusBadRequest, nil, "")
	case !x.isRequest():
		x.way.status(http.StatusAccepted, nil, "")
	default:
		x.request()
	}
}

// request answers a request as the good server does.
func (x *exchange) request() {
	p := x.peer
	switch method := x.method(); {
	case method == mcp.MethodInitialize && p.stateless():
		x.fail(mcp.CodeUnsupportedProtocolVersion, "this server has no sessions", fmt.Sprintf(`{"supported":[%q],"requested":%s}`, p.revision, orNull(x.param("protocolVersion"))))
	case method == mcp.MethodInitialize:
		x.initialized(p.revision)
	case method == mcp.MethodDiscover && p.stateless():
		x.discovered(string(p.revision))
	case method == mcp.MethodPing && !p.stateless():
		x.result(``)
	case method == mcp.MethodToolsList:
		x.result(`"tools":` + p.tools)
	case method == mcp.MethodResourcesList:
		x.result(`"resources":` + p.resources)
	case method == mcp.MethodResourceTemplatesList:
		x.result(`"resourceTemplates":[]`)
	case method == mcp.MethodPromptsList:
		x.result(`"prompts":` + p.prompts)
	case method == mcp.MethodResourcesRead:
		x.result(`"contents":[{"uri":` + orNull(x.param("uri")) + `,"text":"read"}]`)
	case method == mcp.MethodPromptsGet:
		x.result(`"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]`)
	case method == mcp.MethodToolsCall:
		x.execute()
	default:
		x.fail(jsonrpc.CodeMethodNotFound, "Method not found", "")
	}
}

// execute runs a tool: the answer is the argument text, or "n N" where there is
// an n.
func (x *exchange) execute() {
	x.peer.ran(text(x.param("name")))
	said := text(x.param("arguments", "text"))
	if n := x.param("arguments", "n"); n != nil {
		said = "n " + string(n)
	}
	x.says(said)
}

func (p *peer) ran(tool string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.executed = append(p.executed, tool)
}

// says answers a call with a text.
func (x *exchange) says(said string) {
	x.result(`"content":[{"type":"text","text":` + quote(said) + `}]`)
}

// initialized answers initialize with a revision.
func (x *exchange) initialized(v mcp.Version) {
	x.result(fmt.Sprintf(`"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"scripted","version":"1"}`, v, x.peer.capabilities))
}

// discovered answers server/discover with revisions.
func (x *exchange) discovered(revisions ...string) {
	list, _ := json.Marshal(revisions) // strings
	x.result(fmt.Sprintf(`"supportedVersions":%s,"capabilities":%s`, list, x.peer.capabilities))
}

// result answers with these members of a result, and with those that the
// revision asks for.
func (x *exchange) result(members string) {
	if x.peer.stateless() {
		extra := `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"scripted","version":"1"}}`
		switch x.method() {
		case mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead:
			extra += `,"ttlMs":0,"cacheScope":"private"`
		}
		if members != "" {
			extra += ","
		}
		members = extra + members
	}
	x.bare(`{` + members + `}`)
}

// bare answers with this result as it is.
func (x *exchange) bare(result string) {
	x.way.send([]byte(`{"jsonrpc":"2.0","id":` + x.id() + `,"result":` + result + `}`))
}

// fail answers with an error; data is JSON, or empty.
func (x *exchange) fail(code int64, message, data string) {
	if data != "" {
		data = `,"data":` + data
	}
	x.way.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s%s}}`, x.id(), code, quote(message), data))
}

// notify sends a notification before the answer; params is JSON.
func (x *exchange) notify(method, params string) {
	x.way.stream()
	x.way.send([]byte(`{"jsonrpc":"2.0","method":` + quote(method) + `,"params":` + params + `}`))
}

// ask sends a request of the server before the answer, and waits for the
// client's answer for as long as answerWait. id is JSON.
func (x *exchange) ask(id, method, params string) {
	came := make(chan *message, 1)
	x.peer.mu.Lock()
	x.peer.asked[id] = came
	x.peer.mu.Unlock()
	x.way.stream()
	x.way.send([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":` + quote(method) + `,"params":` + params + `}`))
	t := time.NewTimer(answerWait)
	defer t.Stop()
	select {
	case <-came:
	case <-t.C:
	case <-x.ctx.Done():
	}
}

// answerWait is how long the server waits for an answer of the client.
const answerWait = 3 * time.Second

// hold waits until the client goes away, or for so long.
func (x *exchange) hold(longest time.Duration) {
	t := time.NewTimer(longest)
	defer t.Stop()
	select {
	case <-x.ctx.Done():
	case <-t.C:
	}
}

// next counts from 1 over all that is asked of the peer by who counts.
func (p *peer) next() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	return p.count
}

func quote(s string) string {
	raw, _ := json.Marshal(s) // a string
	return string(raw)
}

func orNull(raw json.RawMessage) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}
