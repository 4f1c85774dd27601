package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// useAll uses a connection for what it has, errors included.
func useAll(t *testing.T, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	for _, err := range c.Tools(ctx) {
		require.NoError(t, err)
	}
	for _, err := range c.Resources(ctx) {
		require.NoError(t, err)
	}
	_, err := c.ListResourceTemplates(ctx, nil)
	require.NoError(t, err)
	_, err = c.ListPrompts(ctx, nil)
	require.NoError(t, err)
	_, err = c.ReadResource(ctx, "x:/a")
	require.NoError(t, err)
	_, err = c.GetPrompt(ctx, "p", nil)
	require.NoError(t, err)
	_, err = c.CallTool(ctx, "echo", map[string]string{"region": "x"}, client.WithProgress(func(mcp.ProgressParams) {}))
	require.NoError(t, err)
	_, err = c.Call(ctx, "com.example/own", map[string]any{"a": 1})
	require.NoError(t, err)
	for _, old := range []string{"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list", "tasks/result"} {
		_, err = c.Call(ctx, old, nil)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err), old)
		require.Equal(t, mcperrors.CodeMissingCapability, mcperrors.CodeOf(err), old)
	}
	for _, old := range []string{"initialize", "sampling/createMessage"} {
		_, err = c.Call(ctx, old, nil)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err), old)
	}
	require.Error(t, c.Notify(ctx, "notifications/roots/list_changed", nil))
	require.Error(t, c.Notify(ctx, "notifications/initialized", nil))
	c.InvalidateTools()
	_, err = c.GetToolSchema(ctx, "echo")
	require.NoError(t, err)
	require.NoError(t, c.SetLogLevel(ctx, mcp.LevelError))
}

// answersOf sets up a server for [useAll].
func answersOf(result func(method, result string), on func(string, answerFunc)) {
	result("resources/templates/list", `{"resultType":"complete","resourceTemplates":[]}`)
	result("prompts/list", `{"resultType":"complete","prompts":[]}`)
	on("resources/read", script(unsupported(`["2026-07-28"]`), `{"resultType":"complete","contents":[]}`))
	result("prompts/get", `{"resultType":"complete","messages":[]}`)
	result("com.example/own", `{"resultType":"complete"}`)
	on("resources/list", script(`{"resultType":"complete","resources":[],"nextCursor":"2"}`, `{"resultType":"complete","resources":[]}`))
	result("tools/call", doneResult)
}

var forbidden = map[string]bool{
	"ping": true, "initialize": true, "notifications/initialized": true, "logging/setLevel": true,
	"resources/subscribe": true, "resources/unsubscribe": true, "notifications/roots/list_changed": true, "notifications/cancelled": true,
}

// wantMeta checks the members that every request of the stateless era has.
func wantMeta(t *testing.T, message string) {
	t.Helper()
	meta := metaIn(t, message)
	require.JSONEq(t, `"2026-07-28"`, string(meta["io.modelcontextprotocol/protocolVersion"]), message)
	require.True(t, strings.HasPrefix(string(meta["io.modelcontextprotocol/clientCapabilities"]), "{"), message)
	require.JSONEq(t, `{"name":"mainstay","version":"`+client.Version+`"}`, string(meta["io.modelcontextprotocol/clientInfo"]), message)
}

// A long conversation has nothing of the other era, and every request, retries and
// pages included, identifies the client.
func TestStateless_DISC_18_HTTPWire(t *testing.T) {
	t.Parallel()
	s := newLone(t)
	defer s.mem.Close()
	answersOf(s.result, s.on)
	s.on("prompts/get", func(req jsonrpc.Request) any {
		return replyFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Mcp-Session-Id", "a-session")
			_, _ = fmt.Fprintf(w, "id: 1\nretry: 1\n: comment\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\",\"messages\":[]}}\n\n", req.ID.AppendJSON(nil))
		})
	})
	c, err := s.dial()
	require.NoError(t, err)
	useAll(t, c)
	require.NoError(t, c.Notify(t.Context(), "com.example/told", map[string]any{"a": 1}))
	require.NoError(t, c.Close())

	names := map[string]string{"tools/call": "echo", "prompts/get": "p", "resources/read": "x:/a"}
	ids := map[string]bool{}
	for _, p := range s.received() {
		require.Equal(t, http.MethodPost, p.verb)
		for _, name := range []string{"Mcp-Session-Id", "Last-Event-Id"} {
			require.NotContains(t, p.header, name, p.body)
		}
		require.Equal(t, []string{"2026-07-28"}, p.header["Mcp-Protocol-Version"], p.body)
		var m struct {
			Method string
			ID     json.RawMessage
			Params json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(p.body), &m))
		require.False(t, forbidden[m.Method], m.Method)
		require.Equal(t, []string{m.Method}, p.header["Mcp-Method"])
		require.Equal(t, names[m.Method], p.header.Get("Mcp-Name"), m.Method)
		if m.ID == nil {
			continue
		}
		require.False(t, ids[string(m.ID)], "an id is used once")
		ids[string(m.ID)] = true
		wantMeta(t, p.body)
	}
	require.Len(t, s.of("resources/read"), 2, "-32022 was mended")
	require.Len(t, s.of("resources/list"), 2)
}

func TestStateless_DISC_18_PipeWire(t *testing.T) {
	t.Parallel()
	c, s := statelessPipe(t)
	answersOf(s.result, s.on)
	useAll(t, c)
	require.NoError(t, ignoreClosed(c.Close()))
	for _, line := range s.received() {
		var m struct{ Method string }
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		require.NotEmpty(t, m.Method, "an answer: %s", line)
		require.False(t, forbidden[m.Method], m.Method)
		wantMeta(t, line)
	}
}

func TestStateless_META_05_WithoutClientInfo(t *testing.T) {
	t.Parallel()
	c, s := alone(t, client.WithClientInfo(mcp.Implementation{}))
	_, err := c.CallTool(t.Context(), "echo", nil)
	require.NoError(t, err)
	for _, p := range s.received() {
		require.NotContains(t, p.body, "clientInfo")
		require.Contains(t, p.body, `"io.modelcontextprotocol/clientCapabilities":{}`)
	}
}

// What a server calls itself changes nothing.
func TestStateless_META_07_HostileServerInfo(t *testing.T) {
	t.Parallel()
	for _, info := range []string{`null`, `7`, `{"name":7}`, `{"name":"\u0000\u001b[2J","version":""}`} {
		s := newLone(t)
		s.result("server/discover", strings.Replace(discoverAll, `{"name":"fake","version":"1.2.3"}`, info, 1))
		c, err := s.dial()
		require.NoError(t, err, info)
		_, err = c.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err, info)
		require.NoError(t, c.Close())
		s.mem.Close()
	}
}

func TestStateless_META_01_CallersKeys(t *testing.T) {
	t.Parallel()
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	c, s := alone(t)
	_, err := c.CallTool(t.Context(), "echo", nil, client.WithMeta("traceparent", trace), client.WithMeta("com.example/a", map[string]int{"b": 1}))
	require.NoError(t, err)
	meta := s.last("tools/call").meta(t)
	require.JSONEq(t, `"`+trace+`"`, string(meta["traceparent"]))
	require.JSONEq(t, `{"b":1}`, string(meta["com.example/a"]))
	wantMeta(t, s.last("tools/call").body)

	_, err = c.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"echo","_meta":{"own":1}}`), client.WithMeta("more", 2))
	require.NoError(t, err)
	meta = s.last("tools/call").meta(t)
	require.Equal(t, "1 2", string(meta["own"])+" "+string(meta["more"]))

	sent := len(s.received())
	for name, opts := range map[string][]client.CallOption{
		"reserved":      {client.WithMeta("io.modelcontextprotocol/protocolVersion", "x")},
		"reserved name": {client.WithMeta("a.mcp/x", 1)},
		"form":          {client.WithMeta("a b", 1)},
		"no W3C":        {client.WithMeta("traceparent", "x")},
		"token":         {client.WithMeta("progressToken", 1), client.WithProgress(func(mcp.ProgressParams) {})},
		"value":         {client.WithMeta("a", make(chan int))},
	} {
		_, err := c.CallTool(t.Context(), "echo", nil, opts...)
		require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err), name)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err), name)
	}
	_, err = c.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"echo","_meta":{"own":1}}`), client.WithMeta("own", 2))
	require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
	require.Error(t, c.Notify(t.Context(), "com.example/told", json.RawMessage(`{"_meta":{"a.mcp/x":1}}`)))
	require.Len(t, s.received(), sent)
}

// The keys of this era stay out of the other.
func TestStateless_META_10_SessionEra(t *testing.T) {
	t.Parallel()
	c, s := connected(t, client.WithProtocolVersion("2025-11-25"))
	_, err := c.CallTool(t.Context(), "echo", message, client.WithMeta("own", 1))
	require.NoError(t, err)
	for _, line := range s.received() {
		require.NotContains(t, line, "io.modelcontextprotocol/")
	}
	require.Contains(t, s.received()[len(s.received())-1], `,"own":1}`)
}

func unsupported(supported string) *jsonrpc.Error {
	return jsonrpc.NewError(-32022, "Unsupported protocol version", json.RawMessage(`{"supported":`+supported+`,"requested":"2026-07-28"}`))
}

func TestStateless_DISC_07_UnsupportedVersion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		method   string
		answers  []any
		attempts int
		err      string
	}{
		{"once", "resources/read", []any{unsupported(`["2031-01-01","2026-07-28"]`), `{"resultType":"complete","contents":[]}`}, 2, ""},
		{"twice", "resources/read", []any{unsupported(`["2026-07-28"]`)}, 2, "2026-07-28"},
		{"a call that must not run twice", "tools/call", []any{unsupported(`["2026-07-28"]`), doneResult}, 1, "2026-07-28"},
		{"nothing shared", "tools/call", []any{unsupported(`["2031-01-01"]`)}, 1, "2031-01-01"},
		{"the other era", "tools/call", []any{unsupported(`["2025-11-25"]`)}, 1, "2025-11-25"},
		{"no list", "tools/call", []any{jsonrpc.NewError(-32022, "no", nil)}, 1, "no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			guard := breaker.New(breaker.Settings{})
			resilience := client.Resilience{Breaker: guard}
			c, s := alone(t, client.WithResilience(resilience))
			s.on(tt.method, script(tt.answers...))
			_, err := c.Call(t.Context(), tt.method, map[string]any{"name": "echo", "uri": "x:/a"})
			calls := s.of(tt.method)
			require.Len(t, calls, tt.attempts)
			require.Equal(t, tt.attempts == 1, calls[0].req.ID == calls[len(calls)-1].req.ID, "a new id")
			require.Zero(t, guard.Snapshot().ConsecutiveFailures)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			var e *mcperrors.Error
			require.ErrorAs(t, err, &e)
			require.ErrorContains(t, err, tt.err)
			require.Equal(t, mcperrors.CodeIncompatible, e.Code)
			require.Equal(t, mcperrors.KindVersion, e.Kind)
			require.Equal(t, tt.attempts, e.Attempts)
			require.False(t, e.Retryable)
			var mismatch *client.VersionError
			require.Equal(t, tt.name != "no list", errors.As(err, &mismatch))
			if mismatch != nil {
				require.Equal(t, mcp.Version2026_07_28, mismatch.Requested)
				require.NotEmpty(t, mismatch.Listed)
			}
		})
	}
}

// The client never declares more capabilities than it has; the error reports what is
// missing.
func TestStateless_DISC_09_MissingCapability(t *testing.T) {
	t.Parallel()
	c, s := alone(t)
	s.on("tools/call", script(jsonrpc.NewError(-32021, "Missing capability",
		json.RawMessage(`{"requiredCapabilities":{"sampling":{},"elicitation":{"url":{}}}}`))))
	_, err := c.CallTool(t.Context(), "echo", nil)
	var e *mcperrors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, mcperrors.CodeIncompatible, e.Code)
	require.Equal(t, mcperrors.KindUnsupported, e.Kind)
	require.Equal(t, mcperrors.Rejected, e.Delivery)
	require.False(t, e.Retryable)
	require.Equal(t, int64(-32021), *e.OriginalMCPCode)
	var missing *client.MissingCapabilityError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, []string{"sampling", "elicitation.url"}, missing.Names)
	require.NotNil(t, missing.Required.Sampling)
	require.ErrorContains(t, err, "elicitation.url")
	require.Len(t, s.of("tools/call"), 1)
}

func TestStateless_DISC_12_ResultType(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, result string
		opts         []client.Option
		err          string
	}{
		{"complete", doneResult, nil, ""},
		{"DISC-13: absent", `{"content":[]}`, nil, ""},
		{"DISC-13: absent, strict", `{"content":[]}`, []client.Option{client.WithValidation(client.Validation{ResultTypes: true})}, "has no resultType"},
		{"weird", `{"resultType":"weird","content":[]}`, nil, "unexpected result type"},
		{"no text", `{"resultType":7,"content":[]}`, nil, "unexpected result type"},
		{"a task nobody asked for", `{"resultType":"task","content":[]}`, nil, "task"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, s := alone(t, tt.opts...)
			s.result("tools/call", tt.result)
			_, err := c.CallTool(t.Context(), "echo", nil)
			require.Len(t, s.of("tools/call"), 1, "no retry")
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.err)
			require.Equal(t, mcperrors.CodeInvalidRequest, mcperrors.CodeOf(err))
			require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err))
			require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))
		})
	}
}

func TestStateless_DISC_13_LoggedOnce(t *testing.T) {
	t.Parallel()
	var log lines
	c, s := alone(t, client.WithLogger(log.logger()))
	s.result("tools/call", `{"content":[]}`)
	for range 3 {
		_, err := c.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
	}
	require.Equal(t, 1, strings.Count(log.String(), "have no resultType"), log.String())
}

// 404 with a body is about the method, without a session to
// lose.
func TestStateless_DISC_14_UnknownMethod(t *testing.T) {
	t.Parallel()
	c, s := alone(t)
	_, err := c.Call(t.Context(), "com.example/nothing", nil)
	require.Equal(t, mcperrors.KindUnsupported, mcperrors.KindOf(err))
	require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))
	for method, code := range map[string]mcperrors.Code{"tools/call": mcperrors.CodeInvalidRequest, "resources/read": mcperrors.CodeResourceNotFound} {
		// -32602 means what the method makes of it (trap 31).
		s.on(method, script(jsonrpc.NewError(-32602, "no", json.RawMessage(`{"uri":"a:b"}`))))
		_, err = c.Call(t.Context(), method, map[string]any{"name": "echo", "uri": "a:b"})
		require.Equal(t, code, mcperrors.CodeOf(err), method)
	}
	s.on("tools/call", script(replyFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })))
	_, err = c.CallTool(t.Context(), "echo", nil)
	require.NotEqual(t, mcperrors.KindSessionLost, mcperrors.KindOf(err))
}

// Servers ask nothing in this era.
func TestStateless_RPC_14_RequestOfTheServer(t *testing.T) {
	t.Parallel()
	t.Run("pipe", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var log lines
			c, s := statelessPipe(t, client.WithLogger(log.logger()))
			before := len(s.received())
			for _, method := range []string{"roots/list", "sampling/createMessage", "x"} {
				s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q}`, method))
			}
			synctest.Wait()
			require.Len(t, s.received(), before, "nothing is written back; over stdio only ping has an answer")
			require.Equal(t, 3, strings.Count(log.String(), "request"), log.String())
			_, err := c.CallTool(t.Context(), "echo", nil)
			require.NoError(t, err)
			require.NoError(t, ignoreClosed(c.Close()))
		})
	})
	t.Run("HTTP", func(t *testing.T) {
		t.Parallel()
		c, s := alone(t)
		s.on("tools/call", func(req jsonrpc.Request) any {
			return replyFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", req.ID.AppendJSON(nil), doneResult)
			})
		})
		_, err := c.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
		require.NoError(t, c.Close()) // what was sent behind is waited for
		for _, p := range s.received() {
			require.NotEmpty(t, p.req.Method, p.body)
		}
	})
}

// Over a pipe the client cancels a call by a notification, and ignores cancellations of
// the server that are about no subscription.
func TestStateless_UTIL_04_Pipe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := statelessPipe(t)
		s.on("tools/call", func(jsonrpc.Request) any { return nil })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, "echo", nil)
			got <- err
		}()
		synctest.Wait()
		var req struct{ ID string }
		lines := s.received()
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &req))
		s.notify("notifications/cancelled", `{"requestId":"`+req.ID+`"}`)
		s.notify("notifications/cancelled", `{"requestId":"unknown"}`)
		synctest.Wait()
		require.Empty(t, got, "a server does not cancel calls")
		require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(<-got))
		synctest.Wait()
		lines = s.received()
		require.Contains(t, lines[len(lines)-1], `"method":"notifications/cancelled","params":{"requestId":"`+req.ID+`"`)
		require.NoError(t, ignoreClosed(c.Close()))
	})
}

// Over HTTP the end of the exchange is the cancellation.
func TestStateless_HTTP_34_Cancel(t *testing.T) {
	t.Parallel()
	for _, begun := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, s := alone(t)
			gone := make(chan struct{})
			s.on("tools/call", func(jsonrpc.Request) any {
				return replyFunc(func(w http.ResponseWriter, r *http.Request) {
					if begun {
						w.Header().Set("Content-Type", "text/event-stream")
						flush(w, ": hello\n\n")
					}
					<-r.Context().Done()
					close(gone)
				})
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := c.CallTool(ctx, "echo", nil)
			require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(err))
			require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
			<-gone
			synctest.Wait()
			require.Equal(t, "tools/call", s.received()[len(s.received())-1].req.Method, "nothing is posted")
		})
	}
}

// A stream that ends without the answer loses the request,
// whatever ids it had.
func TestStateless_HTTP_35_BrokenStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := alone(t)
		s.on("tools/call", func(jsonrpc.Request) any {
			return replyFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "id: 1\nretry: 10\ndata:\n\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n")
			})
		})
		_, err := c.CallTool(t.Context(), "echo", nil)
		require.Equal(t, mcperrors.KindTransport, mcperrors.KindOf(err))
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
		time.Sleep(time.Minute)
		require.Len(t, s.of("tools/call"), 1)
		for _, p := range s.received() {
			require.Equal(t, http.MethodPost, p.verb)
			require.NotContains(t, p.header, "Last-Event-Id")
		}
	})
}

// Comments count as a sign that the server works.
func TestStateless_HTTP_37_Comments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := alone(t)
		s.on("tools/call", func(req jsonrpc.Request) any {
			return replyFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for range 10 {
					flush(w, ":\n\n")
					time.Sleep(30 * time.Second)
				}
				_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", req.ID.AppendJSON(nil), doneResult)
			})
		})
		_, err := c.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
	})
}
