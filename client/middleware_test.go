package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Middleware runs in the given order and sees the target of the call. Its Meta is sent,
// except members that the caller sets.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	var order []string
	link := func(name string) client.Middleware {
		return func(next client.Next) client.Next {
			return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
				order = append(order, name)
				if inv.Meta == nil {
					inv.Meta = map[string]any{}
				}
				inv.Meta["example.com/"+name] = name
				raw, err := next(ctx, inv)
				order = append(order, "after "+name)
				return raw, err
			}
		}
	}
	var seen client.Invocation
	var params string
	watch := func(next client.Next) client.Next {
		return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
			params = string(inv.Params())
			raw, err := next(ctx, inv)
			seen = client.Invocation{Method: inv.Method, Name: inv.Name, Server: inv.Server, Version: inv.Version, Transport: inv.Transport, Attempts: inv.Attempts}
			return raw, err
		}
	}
	c, s := connected(t, client.WithMiddleware(link("a"), link("b")), client.WithMiddleware(watch))
	order = nil // what connecting did
	_, err := c.CallTool(t.Context(), "echo", hello, client.WithMeta("example.com/b", "mine"))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "after b", "after a"}, order)
	require.Equal(t, client.Invocation{Method: "tools/call", Name: "echo", Server: "in-memory", Version: "2025-11-25", Transport: "stream", Attempts: 1}, seen)
	require.JSONEq(t, `{"name":"echo","arguments":{"message":"hi"}}`, params)
	var sent struct {
		ID     string
		Params struct {
			Meta map[string]string `json:"_meta"`
		}
	}
	got := s.received()
	require.NoError(t, json.Unmarshal([]byte(got[len(got)-1]), &sent))
	require.Equal(t, map[string]string{"example.com/a": "a", "example.com/b": "mine", "progressToken": sent.ID}, sent.Params.Meta)
}

// A link may refuse, answer itself, and call next again; what it returns that is
// no error of ours becomes one.
func TestMiddlewareDecides(t *testing.T) {
	t.Parallel()
	var what func(context.Context, *client.Invocation, client.Next) (json.RawMessage, error)
	c, s := connected(t, client.WithCache(client.CacheConfig{NoPreload: true}), client.WithMiddleware(func(next client.Next) client.Next {
		return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
			return what(ctx, inv, next)
		}
	}))
	what = func(context.Context, *client.Invocation, client.Next) (json.RawMessage, error) {
		return nil, errors.New("not on my watch")
	}
	_, err := c.CallTool(t.Context(), "echo", hello)
	var e *mcperrors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, mcperrors.NotSent, e.Delivery)
	require.Equal(t, "echo", e.Tool)
	require.ErrorContains(t, e.Cause, "not on my watch")
	require.Zero(t, s.count("tools/call"))

	what = func(context.Context, *client.Invocation, client.Next) (json.RawMessage, error) {
		return json.RawMessage(`{"content":[{"type":"text","text":"from here"}]}`), nil
	}
	res, err := c.CallTool(t.Context(), "echo", hello)
	require.NoError(t, err)
	require.Equal(t, "from here", res.Text())
	require.Zero(t, s.count("tools/call"))

	what = func(ctx context.Context, inv *client.Invocation, next client.Next) (json.RawMessage, error) {
		inv.Meta = map[string]any{"example.com/n": 1}
		if _, err := next(ctx, inv); err != nil {
			return nil, err
		}
		return next(ctx, inv)
	}
	_, err = c.CallTool(t.Context(), "echo", hello)
	require.NoError(t, err)
	require.Equal(t, 2, s.count("tools/call"))

	what = func(ctx context.Context, inv *client.Invocation, next client.Next) (json.RawMessage, error) {
		inv.Meta = map[string]any{"io.modelcontextprotocol/x": 1}
		return next(ctx, inv)
	}
	_, err = c.CallTool(t.Context(), "echo", hello)
	require.ErrorContains(t, err, "reserved")

	what = func(ctx context.Context, _ *client.Invocation, next client.Next) (json.RawMessage, error) {
		return next(ctx, &client.Invocation{})
	}
	_, err = c.CallTool(t.Context(), "echo", hello)
	require.ErrorContains(t, err, "Invocation of its own")

	what = func(ctx context.Context, inv *client.Invocation, next client.Next) (json.RawMessage, error) {
		defer func() { _ = recover() }()
		defer panic("in a link")
		return next(ctx, inv)
	}
	_, _ = c.CallTool(t.Context(), "echo", hello) // the middleware decides about the result
	what = func(ctx context.Context, inv *client.Invocation, next client.Next) (json.RawMessage, error) {
		return next(ctx, inv)
	}
	_, err = c.CallTool(t.Context(), "echo", hello)
	require.NoError(t, err, "a panic in a link leaves nothing held")
}

func TestMiddlewareThatIsNone(t *testing.T) {
	t.Parallel()
	tr, _ := newFake(t)
	_, err := client.Connect(t.Context(), tr, client.WithMiddleware(nil))
	require.ErrorContains(t, err, "a middleware is nil")
	_, err = client.Connect(t.Context(), tr, client.WithMiddleware(func(client.Next) client.Next { return nil }))
	require.ErrorContains(t, err, "a middleware returned nil")
}

// recordingMeter keeps its records.
type recordingMeter struct {
	client.NoMeter
	mu       sync.Mutex
	attempts []client.AttemptRecord
	calls    []client.CallRecord
	happened []client.Signal
}

func (m *recordingMeter) AttemptEnded(a client.AttemptRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attempts = append(m.attempts, a)
}

func (m *recordingMeter) CallEnded(c client.CallRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, c)
}

func (m *recordingMeter) Observe(h client.Signal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.happened = append(m.happened, h)
}

// count returns how often something happened.
func (m *recordingMeter) count(what client.SignalKind) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, h := range m.happened {
		if h.Kind == what {
			n += h.Count
		}
	}
	return n
}

// denied returns what denied retries.
func (m *recordingMeter) denied() (by []client.RetryDenial) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.happened {
		if h.Kind == client.RetryDenied {
			by = append(by, h.Denied)
		}
	}
	return by
}

func TestMeterOfCalls(t *testing.T) {
	t.Parallel()
	m := &recordingMeter{}
	c, s := connected(t, client.WithMeter(m), client.WithCache(client.CacheConfig{NoPreload: true}))
	_, err := c.CallTool(t.Context(), "echo", hello)
	require.NoError(t, err)
	s.on("tools/call", func(jsonrpc.Request) any { return jsonrpc.NewError(-32602, "no", nil) })
	_, err = c.CallTool(t.Context(), "echo", hello)
	require.Error(t, err)
	require.Len(t, m.calls, 2)
	require.Nil(t, m.calls[0].Err)
	require.Equal(t, 1, m.calls[0].Attempts)
	require.Equal(t, "echo", m.calls[0].Name)
	require.Positive(t, m.calls[0].Elapsed)
	require.Equal(t, mcperrors.CodeInvalidRequest, m.calls[1].Err.Code)
}

func TestSignalNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for o := client.RefusedOpen; o <= client.LoginSignal; o++ {
		require.NotEmpty(t, o.String())
		require.False(t, seen[o.String()], o)
		seen[o.String()] = true
	}
	require.Equal(t, "unknown", client.SignalKind(0).String())
	require.Equal(t, "unknown", (client.LoginSignal + 1).String())

	require.Equal(t, "budget", client.DeniedByBudget.String())
	require.Equal(t, "time", client.DeniedByTime.String())
	require.Equal(t, "attempts", client.DeniedByAttempts.String())
	require.Equal(t, "unknown", client.RetryDenial(0).String())
	require.Equal(t, "unknown", (client.DeniedByAttempts + 1).String())
}
