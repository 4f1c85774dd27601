package client_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
)

// listPeer is a small server written from the specification alone. The same one
// answers over a pipe and over HTTP, in the revision it was made for.
type listPeer struct {
	t       *testing.T
	version string
	http    bool

	mu      sync.Mutex
	tools   string // the members of the list
	ttl     int    // ms, of the stateless era
	result  string // of tools/call
	answers map[string]func(params json.RawMessage) string
	asked   map[string]int
	notify  func(line string)
	listen  json.RawMessage // id of subscriptions/listen
}

// list sets the tools that the peer lists from now on.
func (p *listPeer) list(tools string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tools = tools
}

// answer sets the peer's answer to a method: the members "result" or "error" of a
// response.
func (p *listPeer) answer(method string, f func(params json.RawMessage) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[method] = f
}

func (p *listPeer) count(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[method]
}

// say has the peer send a line of its own: over HTTP on the stream that the client
// opened for it, which one without a handler does not.
func (p *listPeer) say(line string) {
	p.mu.Lock()
	write := p.notify
	p.mu.Unlock()
	write(line)
}

// changed has the peer say that its tools have changed.
func (p *listPeer) changed() {
	p.mu.Lock()
	about := ""
	if p.listen != nil {
		about = `,"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(p.listen) + `}}`
	}
	p.mu.Unlock()
	p.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"` + about + `}`)
}

// reply is the response to one message, "" to a notification.
func (p *listPeer) reply(message []byte) string {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		p.t.Errorf("the client sent what is not JSON: %v", err)
	}
	p.mu.Lock()
	p.asked[m.Method]++
	own := p.answers[m.Method]
	var body string
	switch m.Method {
	case "initialize":
		body = `"result":{"protocolVersion":"` + p.version + `","capabilities":{"tools":{"listChanged":true},"prompts":{}},"serverInfo":{"name":"peer","version":"1"}}`
	case "server/discover":
		body = `"result":{"resultType":"complete","supportedVersions":["` + p.version + `"],"capabilities":{"tools":{"listChanged":true},"prompts":{}},"ttlMs":0,"cacheScope":"private"}`
	case "tools/list":
		body = `"result":{"resultType":"complete","ttlMs":` + fmt.Sprint(p.ttl) + `,"cacheScope":"private","tools":[` + p.tools + `]}`
		if p.version < "2026" {
			body = `"result":{"tools":[` + p.tools + `]}`
		}
	case "tools/call":
		body = `"result":` + p.result
	case "ping":
		body = `"result":{}`
	case "subscriptions/listen":
		p.listen = m.ID
		p.mu.Unlock()
		return `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(m.ID) + `}}}`
	default:
		body = `"error":{"code":-32601,"message":"Method not found"}`
	}
	p.mu.Unlock()
	if m.ID == nil {
		return ""
	}
	if own != nil {
		body = own(m.Params)
	}
	return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + body + `}`
}

// ServeHTTP is the peer over streamable HTTP.
func (p *listPeer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && p.version < "2026":
		p.stream(w, r, "")
		return
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	answer := p.reply(body)
	if _, code, found := strings.Cut(answer, `"status":`); found { // a status, and no message
		status, err := strconv.Atoi(strings.TrimRight(code, "}"))
		if err != nil {
			p.t.Errorf("status %q", code)
		}
		w.WriteHeader(status)
		return
	}
	if answer == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if strings.Contains(answer, "subscriptions/acknowledged") {
		p.stream(w, r, answer)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answer)
}

// stream is the stream on which the peer sends its own messages over HTTP.
func (p *listPeer) stream(w http.ResponseWriter, r *http.Request, first string) {
	w.Header().Set("Content-Type", "text/event-stream")
	write := func(line string) { flush(w, "data: "+line+"\n\n") }
	if first != "" {
		write(first)
	} else {
		flush(w, ": open\n\n")
	}
	p.mu.Lock()
	p.notify = write
	p.mu.Unlock()
	<-r.Context().Done()
}

// serve is the peer over a pipe.
func (p *listPeer) serve(conn net.Conn) {
	var writing sync.Mutex
	write := func(line string) {
		writing.Lock()
		defer writing.Unlock()
		_, _ = io.WriteString(conn, line+"\n") // the client may be gone
	}
	p.mu.Lock()
	p.notify = write
	p.mu.Unlock()
	for lines := bufio.NewReader(conn); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		go func() {
			if answer := p.reply(line); answer != "" {
				write(answer)
			}
		}()
	}
}

// dial connects a client to the peer. Both end with the test.
func (p *listPeer) dial(opts ...client.Option) (*client.Client, error) {
	opts = append([]client.Option{client.WithProtocolVersion(p.version), exactly}, opts...)
	var c *client.Client
	var err error
	if p.http {
		mem := memhttp.New(onWire(p.t, p))
		p.t.Cleanup(mem.Close)
		c, err = client.Connect(p.t.Context(), &transport.HTTP{URL: memhttp.URL, RoundTripper: mem.Transport()}, opts...)
	} else {
		tr, conn := transport.InMemory()
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.serve(conn)
		}()
		p.t.Cleanup(func() { _ = conn.Close(); <-done })
		c, err = client.Connect(p.t.Context(), tr, opts...)
	}
	if err == nil {
		p.t.Cleanup(func() { require.NoError(p.t, ignoreClosed(c.Close())) })
	}
	return c, err
}

const (
	peerTool     = `{"name":"echo","inputSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}}`
	peerNewTool  = `{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}`
	peerReturn   = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`
	peerInternal = `"error":{"code":-32603,"message":"the backend is away"}`
)

// inBubbleEachWay runs a test with a peer over a pipe and over HTTP, in both eras, in
// virtual time.
func inBubbleEachWay(t *testing.T, f func(t *testing.T, p *listPeer)) {
	t.Helper()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, http := range []bool{false, true} {
			t.Run(map[bool]string{false: "pipe ", true: "http "}[http]+version, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f(t, &listPeer{
						t: t, version: version, http: http, tools: peerTool, ttl: 300_000, result: peerReturn,
						answers: map[string]func(json.RawMessage) string{}, asked: map[string]int{},
					})
				})
			})
		}
	}
}

// inBubbleWithPeer is inBubbleEachWay with a client that is connected already.
func inBubbleWithPeer(t *testing.T, f func(t *testing.T, p *listPeer, c *client.Client), opts ...client.Option) {
	t.Helper()
	inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
		c, err := p.dial(opts...)
		require.NoError(t, err)
		f(t, p, c)
	})
}
