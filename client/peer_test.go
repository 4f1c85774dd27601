package client_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// peer is a server written from the specification with the standard library
// only: it shares no code with the client. It has one tool, pay. Everything but
// tools/call it answers as it should, over real pipes or a real socket.
type peer struct {
	t         testing.TB
	stateless bool
	over      string // "stdio" or "http"
	// pay answers one tools/call.
	pay func(x *payment)
	// replies answers other methods: the first true is the end of it.
	replies func(x *payment) bool

	mu       sync.Mutex
	methods  []string
	payments int
	sessions int
	answers  map[string]chan json.RawMessage // of the client, by the id we asked with
	asked    int
	out      io.Writer // of stdio
}

// fromClient is any message of the client.
type fromClient struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Error  json.RawMessage `json:"error"`
	Result json.RawMessage `json:"result"`
}

// payment is one request and the way its answer goes.
type payment struct {
	peer   *peer
	number int // of the tools/call, from 1
	fromClient
	w      http.ResponseWriter // nil over stdio
	done   <-chan struct{}     // closed when the client has left; nil over stdio
	stream bool
}

// reply ends the request with a message, in which "id":ID has the id of the
// request. The status is for HTTP; 0 means 200.
func (x *payment) reply(status int, body string) {
	body = strings.ReplaceAll(body, `"id":ID`, `"id":`+string(x.ID))
	switch {
	case x.w == nil:
		x.peer.write(body)
	case x.stream:
		_, _ = fmt.Fprintf(x.w, "data: %s\n\n", body)
	default:
		x.w.Header().Set("Content-Type", "application/json")
		if status > 0 {
			x.w.WriteHeader(status)
		}
		_, _ = io.WriteString(x.w, body)
	}
}

// begin begins an event stream with a message about the progress of a call.
func (x *payment) begin(status int) {
	x.stream = true
	x.w.Header().Set("Content-Type", "text/event-stream")
	x.w.WriteHeader(status)
	_, _ = io.WriteString(x.w, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"paid"}}`+"\n\n")
}

// ask asks the client something in the middle of a call and returns the error it
// answers with.
func (x *payment) ask(method string) json.RawMessage {
	p := x.peer
	p.mu.Lock()
	p.asked++
	id := fmt.Sprint(p.asked)
	answer := make(chan json.RawMessage, 1)
	p.answers[id] = answer
	p.mu.Unlock()
	question := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, id, method)
	if x.w == nil {
		p.write(question)
		return <-answer
	}
	x.stream = true
	x.w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(x.w, "data: %s\n\n", question)
	x.w.(http.Flusher).Flush()
	return <-answer
}

func (p *peer) write(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.out, line+"\n")
}

// take takes a message of the client.
func (p *peer) take(body []byte, w http.ResponseWriter, done <-chan struct{}) {
	x := &payment{peer: p, w: w, done: done}
	if err := json.Unmarshal(body, &x.fromClient); err != nil {
		p.t.Errorf("the client sent %q: %v", body, err)
		return
	}
	p.mu.Lock()
	if x.Method == "tools/call" {
		p.payments++
		x.number = p.payments
	}
	if x.Method != "" {
		p.methods = append(p.methods, x.Method)
	}
	answer := p.answers[string(x.ID)]
	p.mu.Unlock()
	switch {
	case x.Method == "" && answer != nil:
		answer <- x.Error
		if w != nil {
			w.WriteHeader(http.StatusAccepted)
		}
	case x.replies():
	case x.ID == nil:
		if w != nil {
			w.WriteHeader(http.StatusAccepted)
		}
	case x.Method == "tools/call":
		p.pay(x)
	case x.Method == "tools/list":
		x.reply(0, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","tools":[{"name":"pay","inputSchema":{"type":"object"}},{"name":"convert_pdf","inputSchema":{"type":"object"}}]}}`)
	case x.Method == "server/discover" && p.stateless:
		x.reply(0, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{}}}}`)
	case x.Method == "initialize" && !p.stateless:
		if w != nil {
			p.mu.Lock()
			p.sessions++
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("session-", p.sessions))
			p.mu.Unlock()
		}
		x.reply(0, `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"p","version":"1"}}}`)
	case x.Method == "ping":
		x.reply(0, `{"jsonrpc":"2.0","id":ID,"result":{}}`)
	default:
		x.reply(0, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"Method not found"}}`)
	}
}

func (x *payment) replies() bool { return x.peer.replies != nil && x.peer.replies(x) }

// count returns how many messages of a method came.
func (p *peer) count(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, m := range p.methods {
		if m == method {
			n++
		}
	}
	return n
}

// dial connects a client to the peer.
func (p *peer) dial(opts ...client.Option) *client.Client {
	p.t.Helper()
	era := "2025-11-25"
	if p.stateless {
		era = "2026-07-28"
	}
	c, err := p.connect(append([]client.Option{client.WithProtocolVersion(era)}, opts...)...)
	require.NoError(p.t, err)
	return c
}

// connect is dial without a revision, that may fail.
func (p *peer) connect(opts ...client.Option) (*client.Client, error) {
	p.answers = map[string]chan json.RawMessage{}
	var (
		c   *client.Client
		err error
	)
	if p.over == "http" {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			switch {
			case err != nil:
			case r.Method != http.MethodPost:
				w.WriteHeader(http.StatusMethodNotAllowed)
			default:
				p.take(body, w, r.Context().Done())
			}
		}))
		p.t.Cleanup(s.Close)
		c, err = client.Dial(p.t.Context(), s.URL, opts...)
	} else {
		theirs, in, _ := os.Pipe()
		out, ours, perr := os.Pipe()
		require.NoError(p.t, perr)
		p.out = ours
		done := make(chan struct{})
		go func() {
			defer close(done)
			var calls sync.WaitGroup
			for lines := bufio.NewScanner(theirs); lines.Scan(); {
				line := append([]byte(nil), lines.Bytes()...)
				calls.Go(func() { p.take(line, nil, nil) })
			}
			calls.Wait()
		}()
		p.t.Cleanup(func() {
			<-done
			_, _ = theirs.Close(), ours.Close()
		})
		c, err = client.Connect(p.t.Context(), &transport.Stream{In: out, Out: in}, opts...)
	}
	if err == nil {
		p.t.Cleanup(func() { require.NoError(p.t, c.Close()) })
	}
	return c, err
}

// everyWay runs a test with a peer of each transport and era.
func everyWay(t *testing.T, test func(t *testing.T, p *peer)) {
	t.Helper()
	for _, over := range []string{"stdio", "http"} {
		for _, stateless := range []bool{false, true} {
			name := over + ", session"
			if stateless {
				name = over + ", stateless"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, &peer{t: t, over: over, stateless: stateless})
			})
		}
	}
}
