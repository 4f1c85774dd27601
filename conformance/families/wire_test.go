package families

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// logs collects the server's log.
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

// probe is a family whose tools misbehave on demand.
func probe(release <-chan struct{}) *family.Family {
	schema := json.RawMessage(`{"type":"object"}`)
	return &family.Family{Name: "probe", Profile: "probe", Tools: []family.Tool{
		{Name: "panic", InputSchema: schema, Handle: func(context.Context, *family.Call) (any, error) { panic("a bug") }},
		{Name: "fail", InputSchema: schema, Handle: func(context.Context, *family.Call) (any, error) { return nil, io.ErrUnexpectedEOF }},
		{Name: "odd", InputSchema: schema, Handle: func(context.Context, *family.Call) (any, error) { return func() {}, nil }},
		{Name: "wait", InputSchema: schema, Handle: func(ctx context.Context, _ *family.Call) (any, error) {
			select {
			case <-release:
				return map[string]bool{"waited": true}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}},
	}}
}

// wire is a raw client on a server's stdio.
type wire struct {
	t       *testing.T
	srv     *server.Server
	logs    *logs
	in      *io.PipeWriter
	out     *bufio.Scanner
	stop    context.CancelFunc
	release chan struct{}
	ended   chan error
}

func dial(t *testing.T, change ...func(*Options)) *wire {
	t.Helper()
	w := &wire{t: t, logs: &logs{}, release: make(chan struct{}), ended: make(chan error, 1)}
	opts := Options{Options: server.Options{Families: []string{"artifact"}, Logger: server.NewLogger(w.logs, slog.LevelDebug), Extra: []*family.Family{probe(w.release)}}}
	for _, c := range change {
		c(&opts)
	}
	srv, err := New(opts)
	require.NoError(t, err)
	w.srv = srv
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	w.in, w.out = inW, bufio.NewScanner(outR)
	w.out.Buffer(nil, 1<<20)
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	go func() {
		w.ended <- srv.ServeStdio(ctx, inR, outW)
		_ = outW.Close()
	}()
	t.Cleanup(func() {
		_ = inW.Close()
		_ = outR.Close()
		require.NoError(t, srv.Close())
	})
	return w
}

func (w *wire) send(line string) {
	w.t.Helper()
	_, err := io.WriteString(w.in, line+"\n")
	require.NoError(w.t, err)
}

// answer is what a response line holds.
type answer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int64          `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

func (w *wire) recv() answer {
	w.t.Helper()
	require.True(w.t, w.out.Scan(), "the server has gone: %v", w.out.Err())
	var a answer
	require.NoError(w.t, json.Unmarshal(w.out.Bytes(), &a), w.out.Text())
	require.Equal(w.t, "2.0", a.JSONRPC)
	require.NotEqual(w.t, a.Result == nil, a.Error == nil, "exactly one of result and error: %s", w.out.Text())
	return a
}

func (w *wire) ask(line string) answer {
	w.t.Helper()
	w.send(line)
	return w.recv()
}

func (w *wire) initialize(version string) answer {
	w.t.Helper()
	a := w.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, version))
	require.Nil(w.t, a.Error)
	return a
}

func (w *wire) handshake(version string) {
	w.t.Helper()
	w.initialize(version)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (w *wire) call(tool string, args any) answer {
	w.t.Helper()
	return w.ask(callLine(w.t, tool, args))
}

func callLine(t *testing.T, tool string, args any) string {
	t.Helper()
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": "call", "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": args},
	})
	require.NoError(t, err)
	return string(line)
}

func example(t *testing.T, name string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "artifacts", name))
	require.NoError(t, err)
	var args map[string]any
	require.NoError(t, json.Unmarshal(data, &args))
	return args
}

func TestRevisions(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25",
	} {
		t.Run(asked, func(t *testing.T) {
			t.Parallel()
			w := dial(t)
			var res struct {
				ProtocolVersion string
				ServerInfo      struct{ Name, Version string }
				Capabilities    struct {
					Tools, Resources map[string]any
					Experimental     struct {
						ErrorProfiles map[string]string
						Conformance   map[string]string
					}
				}
			}
			require.NoError(t, json.Unmarshal(w.initialize(asked).Result, &res))
			w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			require.Equal(t, want, res.ProtocolVersion)
			require.Equal(t, server.Name, res.ServerInfo.Name)
			require.NotEmpty(t, res.ServerInfo.Version)
			require.NotNil(t, res.Capabilities.Tools)
			require.Equal(t, "artifact", res.Capabilities.Experimental.ErrorProfiles["validate_artifact"])
			require.Equal(t, "artifact", res.Capabilities.Experimental.ErrorProfiles["store_artifact"])
			require.Equal(t, "all", res.Capabilities.Experimental.Conformance["sideEffects"])

			// X-WIRE-13: structuredContent is unknown before 2025-06-18.
			a := w.call("validate_artifact", example(t, "prd-006-validate.json"))
			require.Nil(t, a.Error)
			var call struct {
				Content           []struct{ Type, Text string }
				StructuredContent json.RawMessage
				IsError           bool
			}
			require.NoError(t, json.Unmarshal(a.Result, &call))
			require.Len(t, call.Content, 1)
			require.Contains(t, call.Content[0].Text, `"automated_pass_rate":"24/24"`)
			require.False(t, call.IsError)
			if want < "2025-06-18" {
				require.Empty(t, call.StructuredContent)
			} else {
				require.JSONEq(t, call.Content[0].Text, string(call.StructuredContent))
			}
		})
	}
}

func TestNoLeaveToCallToolsOnRealData(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*Options){
		func(o *Options) { o.DataDir = t.TempDir() },
		func(o *Options) { o.ArtifactsDir = t.TempDir() },
	} {
		w := dial(t, change)
		require.NotContains(t, string(w.initialize("2025-11-25").Result), "sideEffects")
	}
}

func TestX_WIRE_01_BadEnvelope(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-11-25")
	for _, line := range []string{`{"id":7,"method":"ping"}`, `{"jsonrpc":"1.0","id":7,"method":"ping"}`, `{"jsonrpc":"2.0","id":7}`} {
		a := w.ask(line)
		require.Equal(t, int64(-32600), a.Error.Code)
		require.Equal(t, "7", string(a.ID))
	}
	require.Nil(t, w.ask(`{"jsonrpc":"2.0","id":8,"method":"ping"}`).Error)
}

func TestX_WIRE_02_MalformedLine(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-11-25")
	a := w.ask(`{"jsonrpc":`)
	require.Equal(t, int64(-32700), a.Error.Code)
	require.Equal(t, "null", string(a.ID))
	require.Nil(t, w.ask(`{"jsonrpc":"2.0","id":8,"method":"tools/list"}`).Error)
}

func TestX_WIRE_03_UnknownMethodAndTool(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-11-25")
	for _, method := range []string{"nope", "server/discover", "logging/setLevel"} {
		require.Equal(t, int64(-32601), w.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{}}`, method)).Error.Code)
	}
	a := w.call("nope", map[string]any{})
	require.Equal(t, int64(-32602), a.Error.Code)
	require.Equal(t, "Unknown tool: nope", a.Error.Message)
	require.Equal(t, "nope", a.Error.Data["tool"])
}

func TestX_WIRE_04_IDs(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-11-25")
	for _, id := range []string{`1`, `-3`, `9007199254740993`, `"1"`, `"6f9619ff-8b86-4d11-b42d-00c04fc964ff"`} {
		require.Equal(t, id, string(w.ask(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`).ID))
		require.Equal(t, id, string(w.ask(`{"jsonrpc":"2.0","id":`+id+`,"method":"nope"}`).ID))
	}
}

func TestX_WIRE_05_NotificationsAreNotAnswered(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-11-25")
	for _, method := range []string{"notifications/initialized", "notifications/cancelled", "notifications/unheard", "tools/list"} {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method))
	}
	require.Equal(t, "9", string(w.ask(`{"jsonrpc":"2.0","id":9,"method":"ping"}`).ID))
}

func TestX_WIRE_07_ToolsList(t *testing.T) {
	t.Parallel()
	w := dial(t, func(o *Options) { o.Extra = nil })
	w.handshake("2025-11-25")
	var res struct {
		Tools []struct {
			Name, Title, Description string
			InputSchema              json.RawMessage
			Annotations              struct{ ReadOnlyHint, IdempotentHint bool }
		}
	}
	require.NoError(t, json.Unmarshal(w.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Result, &res))
	listed := 0
	for _, tool := range res.Tools {
		name := tool.Name
		if name != "store_artifact" && name != "validate_artifact" {
			continue
		}
		listed++
		require.NotEmpty(t, tool.Description)
		require.Equal(t, name == "validate_artifact", tool.Annotations.ReadOnlyHint)
		require.Equal(t, name == "store_artifact", tool.Annotations.IdempotentHint)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.InputSchema))
		require.NoError(t, err)
		c := jsonschema.NewCompiler()
		require.NoError(t, c.AddResource("tool.json", doc))
		schema, err := c.Compile("tool.json")
		require.NoError(t, err)
		arguments := map[string]string{"store_artifact": "prd-006.json", "validate_artifact": "prd-006-validate.json"}
		require.NoError(t, schema.Validate(example(t, arguments[name])), "the example fits the schema")
		require.Error(t, schema.Validate(map[string]any{"task_id": "t"}))
	}
	require.Equal(t, 2, listed)
}

func TestX_WIRE_12_ConcurrentCalls(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-11-25")
	n := testmain.Fewer(200, 4)
	go func() {
		for i := range n {
			id := fmt.Sprintf("PRD-%03d", i)
			args, _ := json.Marshal(map[string]string{"artifact_content": "# " + id, "artifact_id": id, "task_id": "t"})
			_, _ = fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"validate_artifact","arguments":%s}}`+"\n", i, args)
		}
	}()
	seen := make(map[string]bool)
	for range n {
		a := w.recv()
		require.Nil(t, a.Error)
		seen[string(a.ID)] = true
	}
	require.Len(t, seen, n)
}

func TestX_GATE_01_CallsBeforeInitialized(t *testing.T) {
	t.Parallel()
	w := dial(t)
	list, call := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, callLine(t, "validate_artifact", example(t, "prd-006-validate.json"))
	refused := func(line string) {
		a := w.ask(line)
		require.NotNil(t, a.Error)
		require.Equal(t, int64(-32600), a.Error.Code)
		require.Equal(t, "Invalid Request: server not initialized", a.Error.Message)
		require.Equal(t, "not_initialized", a.Error.Data["reason"])
	}
	ping := func() { require.Nil(t, w.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`).Error) }
	refused(list)
	refused(call)
	ping()
	w.initialize("2025-11-25")
	refused(list)
	refused(call)
	ping()
	require.NotContains(t, w.logs.String(), "validate_artifact_invocation", "nothing ran")
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.Nil(t, w.ask(list).Error)
	require.Nil(t, w.ask(call).Error)
}

// A notification that comes before initialize opens nothing.
func TestX_GATE_01_InitializedBeforeInitialize(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w.initialize("2025-11-25")
	require.Equal(t, int64(-32600), w.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Error.Code)
}

func TestX_PROF_01_ProfileInEveryError(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-11-25")
	for _, tc := range []struct {
		tool    string
		args    any
		code    int64
		profile string
	}{
		{"validate_artifact", map[string]any{}, -32602, "artifact"},
		{"validate_artifact", []int{1}, -32602, "artifact"},
		{"approve_artifact", map[string]any{"artifact_id": "PRD-999", "task_id": "t"}, -32001, "artifact"},
		{"store_artifact", map[string]any{"artifact_content": "x", "task_id": "t"}, -32602, "artifact"},
		{"panic", map[string]any{}, -32603, "probe"},
		{"fail", map[string]any{}, -32603, "probe"},
		{"odd", map[string]any{}, -32603, "probe"},
	} {
		a := w.call(tc.tool, tc.args)
		require.NotNil(t, a.Error)
		require.Equal(t, tc.code, a.Error.Code, "%s %v", tc.tool, tc.args)
		require.Equal(t, tc.profile, a.Error.Data["profile"])
	}
}

func TestX_SEC_03_PanicIsAnswered(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-11-25")
	for range 3 {
		a := w.call("panic", map[string]any{})
		require.Equal(t, int64(-32603), a.Error.Code)
		require.NotContains(t, a.Error.Message, "a bug")
		require.Nil(t, w.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`).Error)
	}
	require.Equal(t, 3, strings.Count(w.logs.String(), `"event":"panic_invocation_failed"`))
	require.Contains(t, w.logs.String(), "a bug")
}

func TestX_SHUT_01_RunningCallsAreAnswered(t *testing.T) {
	t.Parallel()
	w := dial(t)
	w.handshake("2025-11-25")
	w.send(callLine(t, "wait", map[string]any{}))
	require.Nil(t, w.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`).Error)
	w.stop()
	close(w.release)
	require.Contains(t, string(w.recv().Result), "waited")
	require.NoError(t, <-w.ended)
	require.False(t, w.out.Scan(), "the output ends")
}

func TestCloseRemovesTemporaryDataOnly(t *testing.T) {
	t.Parallel()
	srv, err := New(Options{})
	require.NoError(t, err)
	dir, temporary := srv.DataDir()
	require.True(t, temporary)
	require.DirExists(t, dir)
	require.NoError(t, srv.Close())
	require.NoError(t, srv.Close(), "twice is once")
	require.NoDirExists(t, dir)

	kept := t.TempDir()
	srv, err = New(Options{Options: server.Options{DataDir: kept}})
	require.NoError(t, err)
	dir, temporary = srv.DataDir()
	require.False(t, temporary)
	require.Equal(t, kept, dir)
	require.NoError(t, srv.Close())
	require.DirExists(t, kept)
}

func TestUnknownFamily(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Options: server.Options{Families: []string{"artifact", "cheese"}}})
	require.ErrorContains(t, err, `unknown family "cheese", known: artifact, `)
	_, err = New(Options{Options: server.Options{Families: []string{}}})
	require.ErrorContains(t, err, "no family to serve, known: artifact, ")
}

func TestLogger(t *testing.T) {
	t.Parallel()
	var l logs
	server.NewLogger(&l, slog.LevelInfo).Info("something", "time", time.Now(), slog.Group("g", "msg", "x"))
	require.Regexp(t, `^\{"timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","level":"INFO","event":"something",.*"g":\{"msg":"x"\}\}\n$`, l.String())
}
