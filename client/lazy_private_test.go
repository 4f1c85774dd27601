package client

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// However many ask at once, there is one part.
func TestLazyPartIsOne(t *testing.T) {
	t.Parallel()
	var part lazy[pulse]
	require.Nil(t, part.peek())
	got := make([]*pulse, 50)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i] = part.get() })
	}
	wg.Wait()
	for _, p := range got {
		require.Same(t, part.peek(), p)
	}
}

// A handshake does not make the client's own breaker, and goes through it once
// it is there; one that was given is asked from the start.
func TestBreakerOfAHandshake(t *testing.T) {
	t.Parallel()
	made := func(opts ...Option) *Client {
		cfg, err := newConfig(opts)
		require.NoError(t, err)
		return newClient(cfg, &transport.Stream{})
	}
	own := made()
	require.Nil(t, own.breaker(true))
	b := own.breaker(false)
	require.NotNil(t, b)
	require.Same(t, b, own.breaker(true))
	require.Same(t, b, own.Breaker())

	given := breaker.New(breaker.Settings{})
	c := made(WithResilience(Resilience{Breaker: given}))
	require.Same(t, given, c.breaker(true))
	require.Same(t, given, c.Breaker())
	off := made(WithResilience(Resilience{}))
	require.Nil(t, off.breaker(false))
	require.Nil(t, off.Breaker())
}

// Clients without uncommon options share one set of them, which stays what it
// is.
func TestUsualOptionsAreShared(t *testing.T) {
	before := *theUsual
	cfg, err := newConfig([]Option{WithPreload(false)})
	require.NoError(t, err)
	require.Same(t, theUsual, cfg.uncommon)
	cfg, err = newConfig([]Option{WithKeepAlive(1)})
	require.NoError(t, err)
	require.NotSame(t, theUsual, cfg.uncommon)
	t.Setenv("MCP_TOOL_CACHE_TTL", "5")
	cfg, err = newConfig(nil)
	require.NoError(t, err)
	require.NotSame(t, theUsual, cfg.uncommon)
	require.Equal(t, before.ttl, theUsual.ttl)
	require.Equal(t, before.offer.Limits, theUsual.offer.Limits)
}
