package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// structured makes the fake server answer tools/call with one result.
func structured(s *fakeServer, result string) { s.result("tools/call", result) }

func TestCallAs(t *testing.T) {
	t.Parallel()
	type sum struct {
		Total json.Number `json:"total"`
	}
	c, s := connected(t)
	ctx := t.Context()

	structured(s, `{"content":[{"type":"text","text":"ignored"}],"structuredContent":{"total":9007199254740993}}`)
	got, err := client.CallAs[sum](ctx, c, "echo", hello)
	require.NoError(t, err)
	require.Equal(t, json.Number("9007199254740993"), got.Total)

	structured(s, `{"content":[{"type":"image","data":"","mimeType":"image/png"},{"type":"text","text":"{\"total\":7}"}]}`)
	got, err = client.CallAs[sum](ctx, c, "echo", hello)
	require.NoError(t, err)
	require.Equal(t, json.Number("7"), got.Total)

	structured(s, `{"content":[{"type":"text","text":"plain words"}]}`)
	text, err := client.CallAs[string](ctx, c, "echo", hello)
	require.NoError(t, err)
	require.Equal(t, "plain words", text)

	structured(s, `{"content":[{"type":"text","text":"plain words"}]}`)
	_, err = client.CallAs[sum](ctx, c, "echo", hello)
	require.Equal(t, mcperrors.E203, mcperrors.CodeOf(err))
	require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))

	structured(s, `{"content":[{"type":"text","text":"disk full"}],"isError":true}`)
	_, err = client.CallAs[sum](ctx, c, "echo", hello)
	require.Equal(t, mcperrors.KindTool, mcperrors.KindOf(err))
	require.ErrorContains(t, err, "disk full")

	structured(s, `{"content":[]}`)
	_, err = client.CallAs[sum](ctx, c, "echo", hello)
	require.ErrorContains(t, err, "neither structured content nor text")
}

// isError is a result until somebody asks (ERR-02, S2-EMAP-09).
func TestToolError(t *testing.T) {
	t.Parallel()
	c, s := connected(t)
	structured(s, `{"content":[{"type":"text","text":"disk full"}],"isError":true}`)
	res, err := c.CallTool(t.Context(), "echo", hello)
	require.NoError(t, err)
	require.True(t, res.IsError)
	require.ErrorContains(t, c.ToolError("echo", res), "disk full")
	require.NoError(t, c.ToolError("echo", &mcp.CallToolResult{}))
	require.NoError(t, c.ToolError("echo", nil))
}

// list answers a paginated method from a table of cursors.
func list(s *fakeServer, method, member string, pages map[string]string) {
	s.on(method, func(req jsonrpc.Request) any {
		var p struct{ Cursor *string }
		if req.Params != nil {
			if err := json.Unmarshal(req.Params, &p); err != nil {
				return jsonrpc.NewError(jsonrpc.CodeInvalidParams, err.Error(), nil)
			}
		}
		key := "first"
		if p.Cursor != nil {
			key = *p.Cursor
		}
		page, ok := pages[key]
		if !ok {
			return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "bad cursor", nil)
		}
		return json.RawMessage(fmt.Sprintf(`{%q:%s}`, member, page))
	})
}

func TestListsFollowCursors(t *testing.T) {
	t.Parallel()
	item := func(name string) string { return fmt.Sprintf(`{"name":%q,"uri":"x:/%s"}`, name, name) }
	tests := []struct {
		name  string
		pages map[string]string
		want  []string
		err   string
	}{
		{"one page", map[string]string{"first": `[` + item("a") + `]`}, []string{"a"}, ""},
		{"nothing", map[string]string{"first": `[]`}, nil, ""},
		{"an empty string is a cursor", map[string]string{
			"first": `[` + item("a") + `],"nextCursor":""`, "": `[` + item("b") + `]`,
		}, []string{"a", "b"}, ""},
		{"a cursor that does not advance ends the walk", map[string]string{
			"first": `[` + item("a") + `],"nextCursor":"x"`, "x": `[` + item("b") + `],"nextCursor":"x"`,
		}, []string{"a", "b"}, ""},
		{"a circle ends the walk", map[string]string{
			"first": `[` + item("a") + `],"nextCursor":"x"`, "x": `[` + item("b") + `],"nextCursor":"y"`,
			"y": `[` + item("c") + `],"nextCursor":"x"`,
		}, []string{"a", "b", "c"}, ""},
		{"a null cursor is the end", map[string]string{"first": `[` + item("a") + `],"nextCursor":null`}, []string{"a"}, ""},
		{"an error is the last value", map[string]string{"first": `[` + item("a") + `],"nextCursor":"gone"`}, []string{"a"}, "bad cursor"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tr, s := newFake(t)
			s.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"resources":{}},"serverInfo":{"name":"s","version":"1"}}`)
			list(s, "resources/list", "resources", tt.pages)
			c, err := client.Connect(t.Context(), tr, client.WithRequiredCapabilities())
			require.NoError(t, err)
			var got []string
			var last error
			for r, err := range c.Resources(t.Context()) {
				if last = err; err == nil {
					got = append(got, r.Name)
				}
			}
			require.Equal(t, tt.want, got)
			if tt.err == "" {
				require.NoError(t, last)
			} else {
				require.ErrorContains(t, last, tt.err)
			}
			require.NoError(t, c.Close())
		})
	}
}

// A server whose list never ends is left after a bounded number of pages.
func TestEndlessListIsBounded(t *testing.T) {
	t.Parallel()
	c, s := connected(t, client.WithPreload(false))
	n := 0
	s.on("tools/list", func(jsonrpc.Request) any {
		n++
		return json.RawMessage(fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, n))
	})
	var last error
	for _, err := range c.Tools(t.Context()) {
		last = err
	}
	require.ErrorContains(t, last, "does not end")
	require.Equal(t, 1000, s.count("tools/list"))
}

func TestListsNeedTheirCapability(t *testing.T) {
	t.Parallel()
	c, s := connected(t)
	ctx := t.Context()
	_, e1 := c.ListResources(ctx, nil)
	_, e2 := c.ListResourceTemplates(ctx, nil)
	_, e3 := c.ListPrompts(ctx, nil)
	for _, err := range []error{e1, e2, e3} {
		require.Equal(t, mcperrors.KindUnsupported, mcperrors.KindOf(err))
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
	}
	require.Equal(t, []string{"initialize", "notifications/initialized", "tools/list"}, s.methods())
}

// Progress reaches the call that asked, in order, all of it before the call
// returns, and keeps the call alive.
func TestProgress(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/call", func(req jsonrpc.Request) any {
			var p struct {
				Meta struct {
					ProgressToken json.RawMessage `json:"progressToken"`
				} `json:"_meta"`
			}
			require.NoError(t, json.Unmarshal(req.Params, &p))
			for i := range 5 {
				time.Sleep(50 * time.Second) // the idle timeout is 60 s
				s.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":5}`, p.Meta.ProgressToken, i+1))
			}
			s.notify("notifications/progress", `{"progressToken":"nobody's","progress":1}`)
			return json.RawMessage(`{"content":[]}`)
		})
		var got []float64
		_, err := c.CallTool(t.Context(), "echo", hello, client.WithProgress(func(p mcp.ProgressParams) {
			got = append(got, p.Progress)
		}))
		require.NoError(t, err)
		require.Equal(t, []float64{1, 2, 3, 4, 5}, got)
	})
}

// Ten minutes are the end, whatever comes.
func TestMaxTimeHoldsInSpiteOfProgress(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		stop := make(chan struct{})
		s.on("tools/call", func(jsonrpc.Request) any {
			for {
				select {
				case <-stop:
					return nil
				case <-time.After(30 * time.Second):
					s.notify("notifications/progress", `{"progressToken":1,"progress":1}`)
				}
			}
		})
		began := time.Now()
		_, err := c.CallTool(t.Context(), "echo", hello, client.WithProgress(func(mcp.ProgressParams) {}))
		require.Equal(t, mcperrors.E202, mcperrors.CodeOf(err))
		require.Equal(t, 10*time.Minute, time.Since(began))
		close(stop)
	})
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, what)
	}
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.notify("notifications/message", `{"level":"warning","logger":"db","data":{"n":1}}`)
		s.notify("notifications/tools/list_changed", `{}`)
		s.notify("notifications/custom", `{"x":1}`)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, []string{
			"log warning db {\"n\":1}", "any notifications/message",
			"changed notifications/tools/list_changed", "any notifications/tools/list_changed",
			"any notifications/custom",
		}, seen)
	},
		client.OnLog(func(_ context.Context, m mcp.LoggingMessageParams) {
			note(fmt.Sprintf("log %s %s %s", m.Level, m.Logger, m.Data))
		}),
		client.OnListChanged(func(_ context.Context, method string) { note("changed " + method) }),
		client.OnNotification(func(_ context.Context, n jsonrpc.Notification) { note("any " + n.Method) }))
}

// A handler may call the server: it is not on the goroutine that reads.
func TestHandlersMayCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		done := make(chan error, 1)
		var c *client.Client
		c, err := client.Connect(t.Context(), tr, client.OnListChanged(func(ctx context.Context, _ string) {
			done <- c.Ping(ctx)
		}))
		require.NoError(t, err)
		s.notify("notifications/tools/list_changed", `{}`)
		require.NoError(t, <-done)
		require.NoError(t, c.Close())
	})
}

func TestRawCallAndNotify(t *testing.T) {
	t.Parallel()
	c, s := connected(t)
	s.on("custom/echo", func(req jsonrpc.Request) any { return req.Params })
	raw, err := c.Call(t.Context(), "custom/echo", json.RawMessage(`{"b":1.0,"a":1e400}`))
	require.NoError(t, err)
	require.Equal(t, `{"b":1.0,"a":1e400}`, string(raw), "order and digits stay")
	_, err = c.Call(t.Context(), "custom/none", nil)
	require.Equal(t, mcperrors.E204, mcperrors.CodeOf(err))
	require.Equal(t, mcperrors.Rejected, mcperrors.DeliveryOf(err))
	_, err = c.Call(t.Context(), "custom/echo", []int{1})
	require.ErrorContains(t, err, "must be a JSON object")
	require.NoError(t, c.Notify(t.Context(), "notifications/custom", map[string]any{"x": 1}))
	require.NoError(t, c.Ping(t.Context()))
	require.Equal(t, 1, s.count("notifications/custom"))
}

// Close ends what is in flight, is quick, may be repeated, and nothing works
// after it.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		s.on("tools/call", func(jsonrpc.Request) any { return nil })
		c, err := client.Connect(t.Context(), tr, client.WithResilience(client.Resilience{}))
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "echo", hello)
			ended <- err
		}()
		synctest.Wait()
		began := time.Now()
		require.NoError(t, c.Close())
		require.Less(t, time.Since(began), time.Second)
		err = <-ended
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(err))
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
		require.NoError(t, c.Close())
		for _, err := range []error{
			c.Ping(t.Context()), c.Notify(t.Context(), "x", nil), second(c.GetToolSchema(t.Context(), "echo")),
			second(c.CallTool(t.Context(), "echo", hello)),
		} {
			require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(err))
			require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		}
	})
}

func second[T any](_ T, err error) error { return err }

// Wrong options fail in Connect, with a word on what to do.
func TestWrongOptions(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]client.Option{
		"not known":              client.WithProtocolVersion("1999-01-01"),
		"not spoken yet":         client.WithProtocolVersion("2026-07-28"),
		"name and a version":     client.WithClientInfo(mcp.Implementation{Name: "x"}),
		"unknown error profile":  client.WithErrorProfile("nonsense"),
		"unknown validation":     client.WithValidation(9),
		"must not be negative":   client.WithResilience(client.Resilience{IdleTimeout: -1}),
		"tool cache: TTL -1ns: ": client.WithToolCacheTTL(-1),
	} {
		tr, s := newFake(t)
		_, err := client.Connect(t.Context(), tr, opt)
		require.ErrorContains(t, err, name)
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, mcperrors.NotSent, e.Delivery)
		require.Empty(t, s.received())
	}
}

// Every method of a result type that must be decoded fails on its own, not
// with the connection.
func TestUndecodableResults(t *testing.T) {
	t.Parallel()
	c, s := connected(t)
	s.result("tools/call", `{"content":{}}`)
	_, err := c.CallTool(t.Context(), "echo", hello)
	require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err))
	require.ErrorContains(t, err, "content")
	require.NoError(t, c.Ping(t.Context()))
}

// eager is a transport whose server asks before Connect has returned.
type eager struct{ *transport.Stream }

func (e eager) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	conn, err := e.Stream.Connect(ctx, h)
	h.OnRequest(jsonrpc.Request{ID: jsonrpc.IntID(7), Method: "ping"})
	h.OnRequest(jsonrpc.Request{ID: jsonrpc.IntID(8), Method: "roots/list"})
	return conn, err
}

// Ping is answered in any phase, what is not offered is refused, and a flood
// of requests is bounded (UTIL-01, RPC-13).
func TestRequestsOfTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		c, err := client.Connect(t.Context(), eager{tr})
		require.NoError(t, err)
		synctest.Wait()
		require.Contains(t, s.received(), `{"jsonrpc":"2.0","id":7,"result":{}}`)
		require.Contains(t, s.received(), `{"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"Method not found: roots/list"}}`)
		require.NoError(t, c.Close())
	})
}

// The server is told of a call that was given up even when the client is
// closed right after: Close lets what is on its way leave.
func TestCancellationIsToldBeforeClose(t *testing.T) {
	t.Parallel()
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			tr, s := newFake(t)
			s.on("tools/call", func(jsonrpc.Request) any { return nil })
			c, err := client.Connect(t.Context(), tr)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			_, err = c.CallTool(ctx, "echo", hello)
			cancel()
			var e *mcperrors.Error
			require.ErrorAs(t, err, &e)
			require.NoError(t, c.Close())
			synctest.Wait()
			got := s.received()
			require.Contains(t, got[len(got)-1], `"method":"notifications/cancelled","params":{"requestId":"`+e.RequestID+`"`)
			require.Equal(t, 1, s.count("notifications/cancelled"))
		})
	}
}

// A schema is a program of the server's: none brings the client down, and one
// that cannot judge keeps no call from being made.
func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"endless":           `{"type":"object","$ref":"#"}`,
		"elsewhere":         `{"type":"object","properties":{"a":{"$ref":"http://192.0.2.1/x"}}}`,
		"a dialect unknown": `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, s := newFake(t)
			s.result("tools/list", `{"tools":[{"name":"x","inputSchema":`+schema+`}]}`)
			c, err := client.Connect(t.Context(), tr)
			require.NoError(t, err)
			_, err = c.CallTool(t.Context(), "x", map[string]any{"a": 1})
			require.NoError(t, err)
			require.NoError(t, c.Close())
		})
	}
}

// What the caller put into params stays as it is and where it is; the token
// joins the members of _meta.
func TestProgressTokenJoinsParams(t *testing.T) {
	t.Parallel()
	c, s := connected(t)
	s.on("custom", func(req jsonrpc.Request) any { return req.Params })
	progress := client.WithProgress(func(mcp.ProgressParams) {})
	for params, want := range map[string]string{
		``:                                   `{"_meta":{"progressToken":N}}`,
		`{}`:                                 `{"_meta":{"progressToken":N}}`,
		`{"b":1.0,"a":2}`:                    `{"b":1.0,"a":2,"_meta":{"progressToken":N}}`,
		`{"_meta":{},"b":1}`:                 `{"_meta":{"progressToken":N},"b":1}`,
		`{"b":1,"_meta":{"x/y":[1] },"c":2}`: `{"b":1,"_meta":{"x/y":[1],"progressToken":N},"c":2}`,
	} {
		got, err := c.Call(t.Context(), "custom", json.RawMessage(params), progress)
		if params == "" {
			got, err = c.Call(t.Context(), "custom", nil, progress)
		}
		require.NoError(t, err)
		require.Equal(t, want, tokens.ReplaceAllString(string(got), `"progressToken":N`))
	}
}

var tokens = regexp.MustCompile(`"progressToken":\d+`)

// What the arguments hold is the caller's: an error names the place and the
// rule, not the value.
func TestValidationErrorsHoldNoValues(t *testing.T) {
	t.Parallel()
	tr, s := newFake(t)
	s.result("tools/list", `{"tools":[{"name":"x","inputSchema":{"type":"object","properties":{"pin":{"type":"integer"},"mode":{"enum":["a"]},"in":{"type":"object","properties":{"n":{"maximum":5}}},"re":{"pattern":"^z"}},"additionalProperties":false}}]}`)
	c, err := client.Connect(t.Context(), tr)
	require.NoError(t, err)
	for args, want := range map[string]string{
		`{"pin":"hunter2"}`:       `/properties/pin: type: has type "string", want "integer"`,
		`{"mode":"hunter2"}`:      `/properties/mode: does not satisfy enum`,
		`{"in":{"n":2222.2222}}`:  `/properties/in/properties/n: does not satisfy maximum`,
		`{"re":"hunter2"}`:        `/properties/re: does not satisfy pattern`,
		`{"unknown":"hunter2"}`:   `additional properties`,
		`{"pin":"` + long + `x"}`: `has type "string"`,
	} {
		_, err := c.CallTool(t.Context(), "x", json.RawMessage(args))
		require.Error(t, err, args)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), "2222")
		require.Less(t, len(err.Error()), 1000)
	}
	require.NoError(t, c.Close())
}

var long = strings.Repeat("long", 5_000)

// A hook that panics takes no permit with it: the probe it was can be tried
// again at once.
func TestPanickingHookLeaksNoPermit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		trip(t, c, s)
		time.Sleep(31 * time.Second)
		bad.Store(true)
		require.Panics(t, func() { _, _ = c.CallTool(t.Context(), "echo", hello) })
		bad.Store(false)
		s.result("tools/call", `{"content":[]}`)
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
	}, client.WithIDs(func() jsonrpc.ID {
		if bad.Load() {
			panic("a generator's bug")
		}
		return jsonrpc.IntID(count.Add(1))
	}))
}

var (
	bad   atomic.Bool
	count atomic.Int64
)

// A cause that the caller gave its context is found, and the context's own
// error too.
func TestContextCauses(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/call", func(jsonrpc.Request) any { return nil })
		budget := errors.New("budget spent")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, budget)
		defer cancel()
		_, err := c.CallTool(ctx, "echo", hello)
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, budget)

		ctx2, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(budget) })
		_, err = c.CallTool(ctx2, "echo", hello)
		require.Equal(t, mcperrors.KindCanceled, mcperrors.KindOf(err))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, budget)

		s.on("tools/list", func(jsonrpc.Request) any { return nil })
		c.InvalidateTools()
		ctx3, stop3 := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop3(budget) })
		_, err = c.GetToolSchema(ctx3, "echo")
		require.Equal(t, mcperrors.KindCanceled, mcperrors.KindOf(err))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, budget)
	})
}

// A cache that two clients share keeps their servers apart, whatever they are
// called.
func TestSharedCacheKeepsServersApart(t *testing.T) {
	t.Parallel()
	cache, err := toolcache.New(toolcache.Settings{})
	require.NoError(t, err)
	a, _ := connected(t, client.WithToolCache(cache))
	tr, s := newFake(t)
	s.on("tools/list", func(jsonrpc.Request) any { return toolList("other") })
	b, err := client.Connect(t.Context(), tr, client.WithToolCache(cache))
	require.NoError(t, err)
	getSchema(t, a, "echo")
	getSchema(t, b, "other")
	_, err = b.GetToolSchema(t.Context(), "echo")
	require.Equal(t, mcperrors.E204, mcperrors.CodeOf(err))
	require.NoError(t, b.Close())
}

// A client that is closed while others wait for its fetch takes nobody with it.
func TestClosingSharesNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache, err := toolcache.New(toolcache.Settings{})
		require.NoError(t, err)
		slow := func(s *fakeServer) {
			s.on("tools/list", func(req jsonrpc.Request) any {
				go func() {
					time.Sleep(time.Second)
					s.reply(req, json.RawMessage(oneTool))
				}()
				return nil
			})
		}
		tra, sa := newFake(t)
		trb, sb := newFake(t)
		opts := []client.Option{client.WithToolCache(cache), client.WithPreload(false)}
		a, err := client.Connect(t.Context(), named{tra}, opts...)
		require.NoError(t, err)
		b, err := client.Connect(t.Context(), named{trb}, opts...)
		require.NoError(t, err)
		slow(sa)
		slow(sb)
		ended := make(chan error, 1)
		go func() {
			_, err := a.GetToolSchema(t.Context(), "echo")
			ended <- err
		}()
		synctest.Wait()
		go func() {
			time.Sleep(time.Millisecond)
			if err := a.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}()
		getSchema(t, b, "echo")
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(<-ended))
		require.NoError(t, b.Close())
	})
}

// named is a transport that shares its identity with others of its kind.
type named struct{ s *transport.Stream }

func (n named) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	return n.s.Connect(ctx, h)
}
func (n named) String() string { return "named" }
