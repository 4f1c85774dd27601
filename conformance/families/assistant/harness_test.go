package assistant

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/agent"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// memory is a store that can fail.
type memory struct {
	mu    sync.Mutex
	fault error
	rows  map[uuid.UUID]store.Artifact
}

func (m *memory) SaveArtifact(_ context.Context, a store.Artifact) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault != nil {
		return m.fault
	}
	if m.rows == nil {
		m.rows = map[uuid.UUID]store.Artifact{}
	}
	m.rows[a.ID] = a
	return a.Check()
}

func (m *memory) Artifact(_ context.Context, id uuid.UUID) (*store.Artifact, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault != nil {
		return nil, m.fault
	}
	a, ok := m.rows[id]
	if !ok {
		return nil, store.ErrNotFound
	}
	return &a, nil
}

func (m *memory) all() []store.Artifact {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []store.Artifact
	for _, a := range m.rows {
		out = append(out, a)
	}
	return out
}

var errFault = errors.New("the disk is full")

type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// rig is the family served over real HTTP: its routes and, at exactly /mcp, a
// go-sdk server with its tool.
type rig struct {
	*service
	store *memory
	logs  *logs
	url   string
}

func newRig(t testing.TB, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{store: &memory{}, logs: &logs{}}
	log := slog.New(slog.NewJSONHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opts := Options{Store: r.store, Logger: log, BaseURL: func() string { return r.url }}
	for _, c := range change {
		c(&opts)
	}
	s, err := newService(opts)
	require.NoError(t, err)
	r.service = s
	server := httptest.NewServer(r.handler(log))
	r.url = server.URL
	t.Cleanup(func() {
		require.NoError(t, s.close(context.WithoutCancel(t.Context())))
		server.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return r
}

func (r *rig) handler(log *slog.Logger) http.Handler {
	tool := r.saveTool()
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	server.AddTool(tool.MCP(), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, fail := handle(ctx, tool, req.Params.Arguments, log)
		if fail != nil {
			return nil, fail.Wire(Name)
		}
		return &mcp.CallToolResult{IsError: res.IsError, Content: []mcp.Content{&mcp.TextContent{Text: res.Text}}}, nil
	})
	mux := http.NewServeMux()
	for pattern, route := range r.family().Routes {
		mux.Handle(pattern, route)
	}
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	return mux
}

func handle(ctx context.Context, tool family.Tool, raw json.RawMessage, log *slog.Logger) (*family.Result, *family.Error) {
	call := family.NewCall(tool.Name, raw, log)
	res, err := tool.Handle(ctx, call)
	fail := (&family.Family{}).Failure(err)
	call.Finish(ctx, fail)
	if fail != nil {
		return nil, fail
	}
	out, _ := res.(*family.Result)
	return out, nil
}

// save calls the tool in process.
func (r *rig) save(t testing.TB, args map[string]any) (*family.Result, *family.Error) {
	t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	return handle(t.Context(), r.saveTool(), raw, r.log)
}

// sse is one event of a stream.
type sse struct{ name, data string }

func (r *rig) post(t testing.TB, thread string, body any) (int, []sse) {
	t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	res, err := http.Post(r.url+"/api/threads/"+thread+"/chat", "application/json", bytes.NewReader(raw))
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return res.StatusCode, nil
	}
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	return res.StatusCode, readEvents(t, res.Body)
}

func readEvents(t testing.TB, body io.Reader) []sse {
	t.Helper()
	var out []sse
	var e sse
	sc := bufio.NewScanner(body)
	sc.Buffer(nil, 1<<22)
	for sc.Scan() {
		switch name, value, _ := strings.Cut(sc.Text(), ": "); name {
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			out = append(out, e)
			e = sse{}
		}
	}
	require.NoError(t, sc.Err())
	return out
}

func (r *rig) chat(t testing.TB, thread, content string, generate bool) []sse {
	t.Helper()
	status, events := r.post(t, thread, map[string]any{"content": content, "artifact_generation": generate, "thread_type": "assistant"})
	require.Equal(t, http.StatusOK, status)
	return events
}

func kinds(events []sse) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.name)
	}
	return out
}

// says is an agent that writes fixed lines, after it has done what do says.
type says struct {
	do    func(t agent.Task)
	lines []string
	err   error
}

func (s *says) Run(_ context.Context, t agent.Task, event func(json.RawMessage)) error {
	if s.do != nil {
		s.do(t)
	}
	for _, l := range s.lines {
		event(json.RawMessage(l))
	}
	return s.err
}

func running(a agent.Runner) func(*Options) { return func(o *Options) { o.runner = a } }
