package link_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// conn is a connection with a name for tests.
type conn struct {
	transport.Conn
	name   string
	call   func() (transport.Answer, error)
	closed int
}

func (c *conn) Traits() transport.Traits { return transport.Traits{Exchanges: true} }

func (c *conn) Call(context.Context, transport.Request) (transport.Answer, error) { return c.call() }

func (c *conn) Close() error {
	c.closed++
	return errors.New("ignored")
}

// An agreement with one program does not hold for the next.
func TestAmendNeedsTheSameLink(t *testing.T) {
	t.Parallel()
	var h link.Holder
	require.Nil(t, h.Load())
	require.Same(t, link.Nothing, h.Agreed())
	h.Use(&conn{name: "1"})
	before := h.Load()
	h.Use(&conn{name: "2"})
	after := h.Load()
	require.NotEqual(t, before.Number, after.Number)
	require.False(t, h.Amend(before, &link.Agreement{Version: "old"}))
	require.Same(t, after, h.Load())
	require.True(t, h.Amend(after, &link.Agreement{Version: "new"}))
	require.Same(t, after.Conn, h.Load().Conn)
	require.Equal(t, after.Number, h.Load().Number)
	require.EqualValues(t, "new", h.Agreed().Version)
	require.Empty(t, after.Agreed.Version, "a link is immutable")
}

// The handshake uses the next link; calls use it once it is promoted.
func TestNextLink(t *testing.T) {
	t.Parallel()
	var h link.Holder
	h.Use(&conn{name: "1"})
	live := h.Load()
	require.Same(t, live, h.Newest())
	lost := &conn{name: "2"}
	h.Begin(lost)
	require.Same(t, live, h.Load())
	h.Discard()
	h.Discard()
	require.Equal(t, 1, lost.closed)
	require.Same(t, live, h.Newest())

	h.Begin(&conn{name: "3"})
	h.Agree(&link.Agreement{Version: mcp.Latest})
	require.Same(t, live, h.Load())
	require.Same(t, link.Nothing, h.Agreed())
	h.Promote()
	require.Equal(t, "3", h.Load().Conn.(*conn).name)
	require.Equal(t, mcp.Latest, h.Agreed().Version)
	require.Same(t, h.Load(), h.Newest())
	h.Agree(&link.Agreement{Version: mcp.LatestSession})
	require.Equal(t, mcp.LatestSession, h.Agreed().Version)
}

func TestAwaitOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h link.Holder
		gaveUp, cancel := context.WithCancel(t.Context())
		waits := make(chan bool, 3)
		go func() { waits <- h.AwaitOpen(gaveUp) }()
		synctest.Wait()
		cancel()
		require.False(t, <-waits)
		for range 2 {
			go func() { waits <- h.AwaitOpen(t.Context()) }()
		}
		synctest.Wait()
		require.Empty(t, waits)
		h.Use(&conn{})
		require.True(t, <-waits)
		require.True(t, <-waits)
		require.True(t, h.AwaitOpen(gaveUp), "open is open")
	})
}

func TestServerIsReadFromTheAnswer(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]link.Agreement{
		"session":    {Era: mcp.EraSession, Raw: []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"files","version":"1"}}`)},
		"stateless":  {Era: mcp.EraStateless, Declared: true, Raw: []byte(`{"supportedVersions":[],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"files","version":"1"}}}`)},
		"undeclared": {Era: mcp.EraStateless},
		"nothing":    *link.Nothing,
	} {
		want := mcp.Implementation{Name: "files", Version: "1"}
		if !a.Declared && a.Era != mcp.EraSession {
			want = mcp.Implementation{}
		}
		require.Equal(t, want, a.Server(), name)
	}
}
