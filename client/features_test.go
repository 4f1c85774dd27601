package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	require.Equal(t, mcperrors.CodeInvalidRequest, mcperrors.CodeOf(err))
	require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))

	structured(s, `{"content":[{"type":"image","data":"","mimeType":"image/png"}]}`)
	whole, err := client.CallAs[*mcp.CallToolResult](ctx, c, "echo", hello)
	require.NoError(t, err)
	require.Equal(t, "image/png", whole.Content[0].(*mcp.ImageContent).MIMEType)

	structured(s, `{"content":[{"type":"text","text":"disk full"}],"isError":true}`)
	_, err = client.CallAs[sum](ctx, c, "echo", hello)
	require.Equal(t, mcperrors.KindTool, mcperrors.KindOf(err))
	require.ErrorContains(t, err, "disk full")
	whole, err = client.CallAs[*mcp.CallToolResult](ctx, c, "echo", hello)
	require.Equal(t, mcperrors.KindTool, mcperrors.KindOf(err))
	require.Nil(t, whole)

	structured(s, `{"content":[]}`)
	_, err = client.CallAs[sum](ctx, c, "echo", hello)
	require.ErrorContains(t, err, "neither structured content nor text")
}

// Code written for [client.Caller] decodes what a fake returns.
func TestCallAsTakesFakes(t *testing.T) {
	t.Parallel()
	text, err := client.CallAs[string](t.Context(), canned{"Hello!"}, "greet", nil)
	require.NoError(t, err)
	require.Equal(t, "Hello!", text)
	_, err = client.CallAs[int](t.Context(), canned{"Hello!"}, "greet", nil)
	require.Equal(t, mcperrors.CodeInvalidRequest, mcperrors.CodeOf(err))
	_, err = client.CallAs[int](t.Context(), refusing{}, "greet", nil)
	var e *mcperrors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, []any{mcperrors.KindTool, "greet"}, []any{e.Kind, e.Tool})
	require.ErrorContains(t, err, "no")
}

type refusing struct{ canned }

func (refusing) CallTool(context.Context, string, any, ...client.CallOption) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "no"}}, IsError: true}, nil
}

// isError is a result until somebody asks.
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
		c, err := client.Connect(t.Context(), tr, sessionEra, client.OnListChanged(func(ctx context.Context, _ string) {
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
	require.Equal(t, mcperrors.CodeToolNotFound, mcperrors.CodeOf(err))
	require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))
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
		c, err := client.Connect(t.Context(), tr, sessionEra, client.WithResilience(client.Resilience{Off: true}))
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
		"not known":             client.WithProtocolVersion("1999-01-01"),
		"name and a version":    client.WithClientInfo(mcp.Implementation{Name: "x"}),
		"unknown validation":    client.WithValidation(client.Validation{Arguments: 9}),
		"must not be negative":  client.WithResilience(client.Resilience{Retry: client.Retry{Attempts: -1}}),
		"tool cache: size -1: ": client.WithCache(client.CacheConfig{Settings: toolcache.Settings{Size: -1}}),
	} {
		tr, s := newFake(t)
		_, err := client.Connect(t.Context(), tr, sessionEra, opt)
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
	h.OnRequest(ctx, jsonrpc.Request{ID: jsonrpc.IntID(7), Method: "ping"}, nil)
	h.OnRequest(ctx, jsonrpc.Request{ID: jsonrpc.IntID(8), Method: "roots/list"}, nil)
	return conn, err
}

// Ping is answered in any phase, what is not offered is refused, and a flood
// of requests is bounded.
func TestRequestsOfTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		s.wire.waive(t, "the requests reach the client past the server")
		c, err := client.Connect(t.Context(), eager{tr}, sessionEra)
		require.NoError(t, err)
		synctest.Wait()
		require.Contains(t, s.received(), `{"jsonrpc":"2.0","id":7,"result":{}}`)
		require.Contains(t, s.received(), `{"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"Method not found: roots/list"}}`)
		require.NoError(t, c.Close())
	})
}

// The server learns that a call was canceled even if the client is closed right after:
// Close waits for messages that are being sent.
func TestCancellationIsToldBeforeClose(t *testing.T) {
	t.Parallel()
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			tr, s := newFake(t)
			s.on("tools/call", func(jsonrpc.Request) any { return nil })
			c, err := client.Connect(t.Context(), tr, sessionEra)
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

// A generator of ids that panics is replaced by the client's own for that request.
func TestPanickingIDs(t *testing.T) {
	t.Parallel()
	var bad atomic.Bool
	var count atomic.Int64
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		trip(t, c, s)
		time.Sleep(31 * time.Second)
		bad.Store(true)
		s.result("tools/call", `{"content":[]}`)
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		bad.Store(false)
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
	}, client.WithIDs(func() jsonrpc.ID {
		if bad.Load() {
			panic("a generator's bug")
		}
		return jsonrpc.IntID(count.Add(1))
	}))
}

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
