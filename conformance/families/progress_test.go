package families

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// slow is a family of tools that take their time: `work` takes 12 s and reports
// nothing, `report` reports 1 of 3, 2 of 3 and 3 of 3 after the given seconds.
func slow() *family.Family {
	schema := json.RawMessage(`{"type":"object"}`)
	pause := func(ctx context.Context, d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	report := func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ After []int }
		if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
			return nil, err
		}
		for i, after := range args.After {
			if err := pause(ctx, time.Duration(after)*time.Second); err != nil {
				return nil, err
			}
			own := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3, Message: "own"}
			if err := r.Session.NotifyProgress(ctx, own); err != nil {
				return nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "reported"}}}, nil
	}
	return &family.Family{
		Name: "slow", Profile: "slow", Registered: []string{"report"},
		Tools: []family.Tool{{Name: "work", InputSchema: schema, Handle: func(ctx context.Context, _ *family.Call) (any, error) {
			return map[string]bool{"worked": true}, pause(ctx, 12*time.Second)
		}}},
		Register: func(s *mcp.Server) { s.AddTool(&mcp.Tool{Name: "report", InputSchema: schema}, report) },
	}
}

// told is what a client hears during a call: each message with its time.
type told struct {
	At     time.Duration
	Method string
	Params struct {
		ProgressToken   json.RawMessage
		Progress, Total float64
		Message         string
	}
	Result json.RawMessage
	Error  json.RawMessage
}

func (m told) String() string {
	if m.Method == "" {
		return fmt.Sprintf("%v: result %t", m.At, m.Result != nil)
	}
	return fmt.Sprintf("%v: %v of %v for %s", m.At, m.Params.Progress, m.Params.Total, m.Params.ProgressToken)
}

// hear reads messages, one a line, until the response.
func hear(t *testing.T, r io.Reader, begin time.Time) (all []string) {
	t.Helper()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		text := strings.TrimPrefix(lines.Text(), "data: ")
		if !strings.HasPrefix(text, "{") {
			continue // what else there is in a stream of events
		}
		var m told
		require.NoError(t, json.Unmarshal([]byte(text), &m), text)
		require.Nil(t, m.Error, text)
		m.At = time.Since(begin)
		all = append(all, m.String())
		if m.Method == "" {
			break
		}
		require.Equal(t, "notifications/progress", m.Method)
	}
	return all
}

const (
	sessionProgress   = `{"progressToken":"t"}`
	statelessProgress = `{"progressToken":"t","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
)

func toolCall(tool, arguments, meta string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":%s}}`, tool, arguments, meta)
}

func slowServer(t *testing.T) *server.Server {
	t.Helper()
	srv, err := New(Options{Options: server.Options{Families: []string{"skills"}, DataDir: t.TempDir(), Extra: []*family.Family{slow()}}})
	require.NoError(t, err)
	return srv
}

// overPipe calls a tool over stdio and returns what is heard.
func overPipe(t *testing.T, line string, handshake bool) []string {
	t.Helper()
	srv := slowServer(t)
	defer func() { require.NoError(t, srv.Close()) }()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- srv.ServeStdio(t.Context(), inR, outW)
		_ = outW.Close()
	}()
	if handshake {
		_, err := io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
		require.NoError(t, err)
		hear(t, outR, time.Now())
		_, err = io.WriteString(inW, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
		require.NoError(t, err)
	}
	_, err := io.WriteString(inW, line+"\n")
	require.NoError(t, err)
	all := hear(t, outR, time.Now())
	<-time.After(time.Minute) // virtual: time for what should not come
	require.NoError(t, inW.Close())
	rest, err := io.ReadAll(outR)
	require.NoError(t, err)
	require.Empty(t, rest, "nothing comes after the result")
	require.NoError(t, <-ended)
	return all
}

// streamed is an answer that is read while it is written, without a network: a
// bubble of virtual time has none.
type streamed struct {
	header http.Header
	out    *io.PipeWriter
}

func (s streamed) Header() http.Header         { return s.header }
func (s streamed) WriteHeader(int)             {}
func (s streamed) Write(b []byte) (int, error) { return s.out.Write(b) }
func (s streamed) Flush()                      {}

// overHTTP calls a tool over HTTP and returns what is heard on the answer's stream.
func overHTTP(t *testing.T, line string, handshake bool) []string {
	t.Helper()
	srv := slowServer(t)
	defer func() { require.NoError(t, srv.Close()) }()
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	post := func(body string) (http.Header, io.Reader) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, server.Path, strings.NewReader(body))
		r.Host, r.Header = "localhost", header.Clone()
		in, out := io.Pipe()
		answer := streamed{http.Header{}, out}
		go func() {
			srv.Handler().ServeHTTP(answer, r)
			_ = out.Close()
		}()
		return answer.header, in
	}
	all := func(r io.Reader) string {
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		return string(b)
	}
	if handshake {
		answer, body := post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		all(body)
		header.Set("Mcp-Session-Id", answer.Get("Mcp-Session-Id"))
		header.Set("Mcp-Protocol-Version", "2025-11-25")
		_, body = post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		all(body)
	} else {
		header.Set("Mcp-Protocol-Version", "2026-07-28")
		header.Set("Mcp-Method", "tools/call")
		var m struct{ Params struct{ Name string } }
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		header.Set("Mcp-Name", m.Params.Name)
	}
	begin := time.Now()
	_, body := post(line)
	heard := hear(t, body, begin)
	require.NotContains(t, all(body), "data: {", "nothing comes after the result")
	return heard
}

// A call that works for long reports progress every 5 s (basic/utilities/progress),
// or a client that waits for a sign of life gives it up.
func TestSlowToolsReportProgress(t *testing.T) {
	t.Parallel()
	ways := []struct {
		name      string
		over      func(*testing.T, string, bool) []string
		handshake bool
		meta      string
	}{
		{"stdio, session", overPipe, true, sessionProgress},
		{"stdio, stateless", overPipe, false, statelessProgress},
		{"HTTP, session", overHTTP, true, sessionProgress},
		{"HTTP, stateless", overHTTP, false, statelessProgress},
	}
	calls := []struct {
		name, tool, arguments string
		want                  []string
	}{
		{"a tool that reports nothing", "work", `{}`, []string{`5s: 1 of 0 for "t"`, `10s: 2 of 0 for "t"`, `12s: result true`}},
		{"a tool that reports", "report", `{"after":[2,4,4]}`, []string{`2s: 1 of 3 for "t"`, `6s: 2 of 3 for "t"`, `10s: 3 of 3 for "t"`, `10s: result true`}},
		// What the server adds counts one more step, for the tool as well.
		{"a tool that reports now and then", "report", `{"after":[7,1,12]}`, []string{
			`5s: 1 of 0 for "t"`, `7s: 2 of 4 for "t"`, `8s: 3 of 4 for "t"`, `13s: 4 of 5 for "t"`, `18s: 5 of 6 for "t"`, `20s: 6 of 6 for "t"`, `20s: result true`,
		}},
	}
	for _, way := range ways {
		for _, c := range calls {
			t.Run(way.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					require.Equal(t, c.want, way.over(t, toolCall(c.tool, c.arguments, way.meta), way.handshake))
				})
			})
		}
	}
}

func TestNoProgressWithoutToken(t *testing.T) {
	t.Parallel()
	for name, meta := range map[string]string{"no token": `{}`, "null": `{"progressToken":null}`, "an object": `{"progressToken":{}}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, []string{"12s: result true"}, overPipe(t, toolCall("work", `{}`, meta), true))
			})
		})
	}
}

// A token is sent back unchanged, also where a number has no exact float64.
func TestProgressTokenComesBackUnchanged(t *testing.T) {
	t.Parallel()
	for _, token := range []string{`7`, `-1`, `9007199254740993`, `"é"`, `""`} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				all := overPipe(t, toolCall("work", `{}`, `{"progressToken":`+token+`}`), true)
				require.Equal(t, []string{"5s: 1 of 0 for " + token, "10s: 2 of 0 for " + token, "12s: result true"}, all)
			})
		})
	}
}
