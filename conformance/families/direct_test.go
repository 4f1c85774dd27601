package families

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// limitedFamily is a direct family that admits two calls, one after the other,
// and shows each call its origin.
func limitedFamily() *family.Family {
	asked := make(chan int, 1)
	asked <- 0
	schema := json.RawMessage(`{"type":"object"}`)
	handle := func(f func(*family.Call) (any, error)) func(context.Context, *family.Call) (any, error) {
		return func(_ context.Context, c *family.Call) (any, error) { return f(c) }
	}
	return &family.Family{
		Name: "limited", Profile: "limited", Direct: true,
		Admit: func(context.Context, *family.Call) family.Quota {
			n := <-asked + 1
			asked <- n
			q := family.Quota{Scope: "agent", Limit: 2, Remaining: max(0, 2-n), Reset: time.Unix(1_800_000_000, 0)}
			if n > 2 {
				q.Refused, q.RetryAfter = true, 3*time.Second
			}
			return q
		},
		Refuse: func(_ context.Context, _ *family.Call, q family.Quota) (any, error) {
			return &family.Result{Payload: map[string]any{"success": false, "scope": q.Scope}, IsError: true}, nil
		},
		Methods: map[string]func(context.Context, *family.Call) (any, error){
			"_test/echo": handle(func(c *family.Call) (any, error) { return c.Arguments, nil }),
		},
		Tools: []family.Tool{
			{Name: "origin", InputSchema: schema, Handle: handle(func(c *family.Call) (any, error) { return c.Origin, nil })},
			{Name: "nothing", InputSchema: schema, Handle: handle(func(*family.Call) (any, error) { return nil, nil })},
			{Name: "text", InputSchema: schema, Handle: handle(func(*family.Call) (any, error) { return &family.Result{Text: "plain <text>"}, nil })},
			{Name: "empty", InputSchema: schema, Handle: handle(func(*family.Call) (any, error) {
				return &family.Result{Payload: map[string]int{"size": 0}, Verbatim: true}, nil
			})},
			{Name: "denied", InputSchema: schema, Handle: handle(func(*family.Call) (any, error) {
				return nil, &family.Error{Code: 404, Message: "Not Found"}
			})},
			{Name: "broken", InputSchema: schema, Handle: handle(func(*family.Call) (any, error) { panic("a bug") })},
		},
	}
}

// free lets every call in.
func free() *family.Family {
	f := limitedFamily()
	f.Admit = nil
	return f
}

func TestS1_DirectCallsAndWrappedOnes(t *testing.T) {
	t.Parallel()
	w := dial(t, func(o *Options) { o.Extra = []*family.Family{free()} })
	direct := func(method, params string) answer {
		return w.ask(`{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":` + params + `}`)
	}
	var origin family.Origin
	require.NoError(t, json.Unmarshal(direct("origin", `{"_meta":{"agentName":"ann"}}`).Result, &origin))
	require.Equal(t, family.Origin{Agent: "ann", Transport: "stdio", Direct: true, Meta: json.RawMessage(`{"agentName":"ann"}`)}, origin)
	require.Equal(t, "null", string(direct("nothing", `{}`).Result))
	require.JSONEq(t, `"plain <text>"`, string(direct("text", `{}`).Result))
	require.JSONEq(t, `{"a":[1]}`, string(direct("_test/echo", `{"a":[1],"_meta":{}}`).Result))
	a := direct("denied", `{}`)
	require.Equal(t, int64(404), a.Error.Code)
	require.Equal(t, "limited", a.Error.Data["profile"])
	require.Equal(t, int64(-32603), direct("broken", `{}`).Error.Code)
	require.Equal(t, int64(-32601), direct("store_artifact", `{}`).Error.Code, "artifact has no direct methods")

	w.handshake("2025-11-25")
	var res struct {
		Content           []struct{ Text string }
		StructuredContent *family.Origin
	}
	require.NoError(t, json.Unmarshal(w.call("origin", map[string]any{}).Result, &res))
	require.Equal(t, &family.Origin{Agent: "stdio", Transport: "stdio", Version: "2025-11-25", Meta: json.RawMessage("null")}, res.StructuredContent)
	res.StructuredContent = nil
	require.NoError(t, json.Unmarshal(w.call("nothing", map[string]any{}).Result, &res))
	require.Equal(t, "null", res.Content[0].Text)
	require.Nil(t, res.StructuredContent, "it is an object or not there")
	require.JSONEq(t, `{"content":[{"type":"text","text":""}],"structuredContent":{"size":0}}`, string(w.call("empty", map[string]any{}).Result))
	require.Equal(t, int64(-32602), w.call("_test/echo", map[string]any{}).Error.Code, "a method is no tool")
}

func TestS1_RATE_HeadersAndRefusals(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.Extra = []*family.Family{limitedFamily()} })
	s.handshake()
	rate := func(body string) (string, []string) {
		res := s.do(http.MethodPost, body)
		require.Equal(t, http.StatusOK, res.StatusCode)
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return string(raw), []string{
			res.Header.Get("X-RateLimit-Limit"), res.Header.Get("X-RateLimit-Remaining"),
			res.Header.Get("X-RateLimit-Reset"), res.Header.Get("Retry-After"),
		}
	}
	body, headers := rate(callLine(t, "origin", map[string]any{}))
	require.Contains(t, body, `\"Agent\":\"`+s.session)
	require.Contains(t, body, `\"Transport\":\"http\"`)
	require.Equal(t, []string{"2", "1", "1800000000", ""}, headers)
	_, headers = rate(ping)
	require.Equal(t, []string{"", "", "", ""}, headers, "never limited")
	_, headers = rate(callLine(t, "validate_artifact", map[string]any{}))
	require.Equal(t, []string{"", "", "", ""}, headers, "another family")
	_, headers = rate(`{"jsonrpc":"2.0","id":1,"method":"origin"}`)
	require.Equal(t, []string{"2", "0", "1800000000", ""}, headers)
	body, headers = rate(callLine(t, "origin", map[string]any{}))
	require.Contains(t, body, `{\"scope\":\"agent\",\"success\":false}`)
	require.Contains(t, body, `"isError":true`)
	require.Equal(t, []string{"2", "0", "1800000000", "3"}, headers)
	s.session = ""
	_, a := s.postAlone(aloneCall(t, "origin", map[string]any{}), "X-Agent-Name", "ann")
	require.Contains(t, string(a.Result), `"isError":true`, "and in the other era")
	body, _ = rate(`{"jsonrpc":"2.0","id":1,"method":"origin"}`)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"scope":"agent","success":false}}`, body)
}

// Calls are admitted in the order in which they were sent, however they run.
func TestS1_RATE_OrderOfArrival(t *testing.T) {
	t.Parallel()
	w := dial(t, func(o *Options) { o.Extra = []*family.Family{limitedFamily()} })
	w.handshake("2025-11-25")
	line := callLine(t, "origin", map[string]any{}) + "\n"
	go func() {
		for _, id := range []string{"1", "2", "3", "4"} {
			_, _ = io.WriteString(w.in, strings.Replace(line, `"call"`, id, 1))
		}
	}()
	refused := map[string]bool{}
	for range 4 {
		a := w.recv()
		refused[string(a.ID)] = strings.Contains(string(a.Result), `"isError":true`)
	}
	require.Equal(t, map[string]bool{"1": false, "2": false, "3": true, "4": true}, refused)
}

func TestOriginOfStatelessCalls(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.Extra = []*family.Family{free()} })
	_, a := s.postAlone(aloneCall(t, "origin", map[string]any{}), "X-Agent-Name", "ann")
	var res struct{ StructuredContent family.Origin }
	require.NoError(t, json.Unmarshal(a.Result, &res))
	require.Equal(t, "ann", res.StructuredContent.Agent)
	require.Equal(t, "http", res.StructuredContent.Transport)
	require.Equal(t, "2026-07-28", res.StructuredContent.Version)
	require.JSONEq(t, "{"+statelessMeta+"}", `{"_meta":`+string(res.StructuredContent.Meta)+"}")
}

func TestBatchOverHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.Extra = []*family.Family{free()} })
	_, a := s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Nil(t, a.Error)
	s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	named := func(id, agent string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"origin","_meta":{"agentName":"` + agent + `"}}}`
	}
	res := s.do(http.MethodPost, `[`+named("1", "ann")+`,`+named("2", "bob")+`,{"jsonrpc":"2.0","id":3,"method":"origin"},{"jsonrpc":"2.0","id":4,"method":"nope"}]`)
	require.Equal(t, http.StatusOK, res.StatusCode)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	for _, part := range []string{`\"Agent\":\"ann\"`, `\"Agent\":\"bob\"`, `"id":3,"result":{"Agent"`, `"id":4,"error":{"code":-32601`} {
		require.Contains(t, string(body), part)
	}
	s.session = ""
	s.handshake()
	status, a := s.post(`[` + ping + `]`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, int64(-32600), a.Error.Code)
}

func TestTokenAndRoutes(t *testing.T) {
	t.Parallel()
	var seen string
	f := &family.Family{Name: "routes", Profile: "routes", Routes: map[string]http.Handler{
		"GET /api/bug": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a bug") }),
		"POST /api/things/{id}": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			seen = r.PathValue("id") + string(b)
			if err != nil {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
			}
		}),
	}}
	s := serve(t, func(o *Options) {
		o.Extra, o.Token, o.MaxMessageBytes = []*family.Family{f}, "s3cret", 1000
	})
	root := strings.TrimSuffix(s.url, server.Path)
	for _, url := range []string{root + server.Path, root + server.Path + "/artifact", root + "/api/things/1", root + "/nowhere"} {
		s.url = url
		res := s.do(http.MethodPost, "{}")
		require.Equal(t, http.StatusUnauthorized, res.StatusCode)
		require.Contains(t, res.Header.Get("WWW-Authenticate"), "Bearer")
		require.Equal(t, http.StatusForbidden, s.do(http.MethodPost, "{}", "Authorization", "Bearer s3cret", "Origin", "http://evil.example").StatusCode)
	}
	require.Empty(t, seen)
	s.url = root + "/api/things/7"
	require.Equal(t, http.StatusOK, s.do(http.MethodPost, "body", "Authorization", "Bearer s3cret").StatusCode)
	require.Equal(t, "7body", seen)
	require.Equal(t, http.StatusRequestEntityTooLarge, s.do(http.MethodPost, strings.Repeat("x", 1001), "Authorization", "Bearer s3cret").StatusCode)
	require.Equal(t, http.StatusMethodNotAllowed, s.do(http.MethodGet, "", "Authorization", "Bearer s3cret").StatusCode)
	s.url = root + "/api/bug"
	require.Equal(t, http.StatusInternalServerError, s.do(http.MethodGet, "", "Authorization", "Bearer s3cret").StatusCode)
	s.url = root + server.Path
	status, a := s.postAlone(alone("tools/list", ""), "Authorization", "Bearer s3cret")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(a.Result), `"cacheScope":"private"`)
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.MaxSessions = 2 })
	for range 2 {
		s.session = ""
		s.handshake()
		s.listen()
	}
	last := s.session
	s.session = ""
	open := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	status, a := s.post(open)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "overloaded", a.Error.Data["reason"])
	s.session = last
	require.Equal(t, http.StatusNoContent, s.do(http.MethodDelete, "").StatusCode)
	s.session = ""
	require.Eventually(t, func() bool {
		status, _ := s.post(open)
		return status == http.StatusOK
	}, 5*time.Second, 5*time.Millisecond)
}
