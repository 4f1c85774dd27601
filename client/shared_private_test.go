package client

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// Clients without uncommon options share one set of them, which stays what it
// is.
func TestUsualOptionsAreShared(t *testing.T) {
	before := *theUsual
	cfg, err := newConfig([]Option{WithCache(CacheConfig{NoPreload: true})})
	require.NoError(t, err)
	require.Same(t, theUsual, cfg.uncommon)
	cfg, err = newConfig([]Option{WithErrorProfile(mcperrors.Docling)})
	require.NoError(t, err)
	require.NotSame(t, theUsual, cfg.uncommon)
	t.Setenv("MCP_TOOL_CACHE_TTL", "5")
	cfg, err = newConfig(nil)
	require.NoError(t, err)
	require.NotSame(t, theUsual, cfg.uncommon)
	require.Equal(t, before.caching.Settings.TTL, theUsual.caching.Settings.TTL)
	require.Equal(t, before.offer.Limits, theUsual.offer.Limits)
}

// Clients connect at the same time: the race detector sees a write to what they share.
func TestUsualOptionsAreOnlyRead(t *testing.T) {
	t.Parallel()
	var at sync.WaitGroup
	for range 8 {
		at.Go(func() {
			_, err := newConfig(nil)
			require.NoError(t, err)
		})
	}
	at.Wait()
}
