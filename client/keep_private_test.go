package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// conn is a connection by its identity only.
type namedConn struct {
	transport.Conn
	name string
}

func (namedConn) Traits() transport.Traits { return transport.Traits{Process: true} }

// The breaker hears once of the end of a program, however many calls it took.
func TestOneEndIsCountedOnce(t *testing.T) {
	t.Parallel()
	c := &Client{}
	f := &transport.Failure{Reason: transport.ReasonLost, Process: &mcperrors.ProcessEvidence{Exited: true}}
	first, second := link.New(&namedConn{name: "1"}), link.New(&namedConn{name: "2"})
	require.False(t, c.countedEnd(first, f), "nobody is started again")
	c.keeper.part.Store(restartsNothing())
	require.False(t, c.countedEnd(first, f))
	require.True(t, c.countedEnd(first, f))
	require.True(t, c.countedEnd(first.With(&link.Agreement{}), f))
	require.False(t, c.countedEnd(second, f))
	require.False(t, c.countedEnd(second, &transport.Failure{Reason: transport.ReasonTimeout, Process: f.Process}))
	require.False(t, c.countedEnd(nil, f))
}

// RestartNow lets the tests of the package's users do what the silence detector
// does.
func (c *Client) RestartNow(cause error) { c.restart(cause) }

// restartsNothing is a keeper that restarts links, and has none to make.
func restartsNothing() *keeper.Keeper {
	return keeper.New(keeper.Config{Restarts: &keeper.Restarts{}})
}
