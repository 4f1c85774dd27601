package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}},
"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1.2.3"}}}`

// speaking connects to a fake server in one revision, in a bubble.
func speaking(t *testing.T, version string, f func(t *testing.T, c *client.Client, s *fakeServer), opts ...client.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		s.result("initialize", strings.Replace(initResult, "2025-11-25", version, 1))
		s.result("server/discover", discovered)
		c, err := client.Connect(t.Context(), tr, append([]client.Option{client.WithProtocolVersion(version)}, opts...)...)
		require.NoError(t, err)
		f(t, c, s)
		require.NoError(t, ignoreClosed(c.Close()))
	})
}

// lines is a log to look at. The client writes to it on a goroutine of its own,
// which text waits for.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
	log *slog.Logger
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) logger() *slog.Logger {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		l.log = callback.Logger(slog.New(slog.NewTextHandler(l, nil)), nil)
	}
	return l.log
}

func (l *lines) text() string {
	callback.Flush(l.logger(), time.Minute)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// String is text.
func (l *lines) String() string { return l.text() }

// request sends a request of the server's own.
func (s *fakeServer) request(id int, method, params string) {
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
}

// told waits until nothing happens any more and returns the client's answer to a
// request: a result, or an error as "code message"; "" for none.
func (s *fakeServer) told(id int) string {
	synctest.Wait()
	answer := ""
	for _, line := range s.received() {
		m, err := jsonrpc.Decode([]byte(line))
		require.NoError(s.t, err)
		resp, ok := m.(jsonrpc.Response)
		if !ok || resp.ID != jsonrpc.IntID(int64(id)) {
			continue
		}
		require.Empty(s.t, answer, "answered twice")
		if answer = string(resp.Result); resp.Error != nil {
			answer = fmt.Sprintf("%d %s", resp.Error.Code, resp.Error.Message)
		}
	}
	return answer
}

// pass lets time go by; speaking runs its function in a bubble.
func pass(d time.Duration) { <-time.After(d) }

// Handlers that say yes.
func sampleYes(_ context.Context, r client.SamplingRequest) (*mcp.CreateMessageResult, error) {
	asked := r.Params.Messages[len(r.Params.Messages)-1].Content[0].(*mcp.TextContent).Text
	return &mcp.CreateMessageResult{Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "re: " + asked}}}, nil
}

func formYes(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
	return client.AcceptForm(map[string]any{"name": "Ada"})
}

func urlYes(context.Context, client.URLRequest) (mcp.ElicitAction, error) {
	return mcp.ElicitAccept, nil
}

const (
	askSample = `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":10}`
	askForm   = `{"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`
	askURL    = `{"mode":"url","message":"sign","url":"https://example.com/sign","elicitationId":"e1"}`

	saidSample = `{"role":"assistant","content":{"type":"text","text":"re: hi"},"model":"m"}`
	saidForm   = `{"action":"accept","content":{"name":"Ada"}}`
	saidRoots  = `{"roots":[{"uri":"file:///work","name":"w"}]}`
)

var everything = []client.Option{
	client.OnSampling(sampleYes), client.OnElicitForm(formYes), client.OnElicitURL(urlYes),
	client.WithRoots(mcp.Root{URI: "file:///work", Name: "w"}),
}

// round is what a fake server got of one request of a call.
type round struct {
	id             string
	raw            string
	Name           string
	Arguments      json.RawMessage
	InputResponses map[string]json.RawMessage
	RequestState   *string
	Meta           struct {
		ProgressToken json.RawMessage
	} `json:"_meta"`
}

// askFirst makes tools/call ask for requests, by method, before it answers.
func (s *fakeServer) askFirst(requests map[string]string) *[]round {
	entries := make([]string, 0, len(requests))
	for method, params := range requests {
		entries = append(entries, fmt.Sprintf(`%q:{"method":%q,"params":%s}`, method, method, params))
	}
	return s.script(`{"resultType":"input_required","inputRequests":{`+strings.Join(entries, ",")+`}}`, plainResult)
}

const plainResult = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`

// script makes tools/call return the results one after the other, and the last one
// forever.
func (s *fakeServer) script(results ...string) *[]round {
	rounds := &[]round{}
	s.on("tools/call", func(req jsonrpc.Request) any {
		var r round
		if err := json.Unmarshal(req.Params, &r); err != nil {
			s.t.Errorf("params: %v", err)
		}
		r.id, r.raw = req.ID.String(), string(req.Params)
		*rounds = append(*rounds, r)
		return rawLine(string(jsonrpc.Response{ID: req.ID, Result: json.RawMessage(results[min(len(*rounds), len(results))-1])}.AppendJSON(nil)))
	})
	return rounds
}
