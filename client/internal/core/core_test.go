package core_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// conn is a connection whose calls are a function.
type conn struct {
	transport.Conn
	call func() (transport.Answer, error)
}

func (*conn) Traits() transport.Traits { return transport.Traits{} }

func (c *conn) Call(context.Context, transport.Request) (transport.Answer, error) { return c.call() }

// A transport of the application that panics fails only one request.
func TestExchangeGuardsTransports(t *testing.T) {
	t.Parallel()
	var failed *callback.Error
	h := core.Core{Failed: func(e *callback.Error) { failed = e }}
	l := link.New(&conn{call: func() (transport.Answer, error) { panic("a bug") }})
	_, err := h.Exchange(t.Context(), l, transport.Request{})
	var f *transport.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, transport.ReasonCallback, f.Reason)
	require.Equal(t, "a bug", failed.Value)

	l = link.New(&conn{call: func() (transport.Answer, error) {
		return transport.Answer{Response: jsonrpc.Response{Result: json.RawMessage(`1`)}}, nil
	}})
	answer, err := h.Exchange(t.Context(), l, transport.Request{})
	require.NoError(t, err)
	require.JSONEq(t, `1`, string(answer.Result))
}
