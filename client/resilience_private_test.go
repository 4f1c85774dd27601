package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Zero is the default of each part, less than zero switches it off, and Off switches
// off what is left zero.
func TestResilienceIsSettled(t *testing.T) {
	t.Parallel()
	given, tools := breaker.New(breaker.Settings{}), breaker.NewGroup(breaker.GroupSettings{})
	never := Retry{Policy: RetryNever}
	for name, tt := range map[string]struct{ r, want Resilience }{
		"zero": {Resilience{}, theUsualBounds},
		"one":  {Resilience{MaxTime: time.Hour}, Resilience{IdleTimeout: time.Minute, MaxTime: time.Hour, Silence: 10 * time.Second}},
		"less": {Resilience{IdleTimeout: -1, MaxTime: -1, Silence: -1}, Resilience{}},
		"off":  {Resilience{Off: true}, Resilience{Off: true, NoBreaker: true, NoToolBreakers: true, Retry: never, Restart: Restart{Off: true}}},
		"breaker": {
			Resilience{Off: true, Breaker: given, Tools: tools},
			Resilience{Off: true, Breaker: given, Tools: tools, Retry: never, Restart: Restart{Off: true}},
		},
		"parts": {
			Resilience{Off: true, Retry: Retry{Attempts: 2}, Restart: Restart{Crashes: 2}, Silence: time.Second},
			Resilience{Off: true, NoBreaker: true, NoToolBreakers: true, Retry: Retry{Attempts: 2}, Restart: Restart{Crashes: 2}, Silence: time.Second},
		},
	} {
		require.NoError(t, tt.r.check(), name)
		require.Equal(t, tt.want, tt.r.settled(), name)
	}
}

// Options that take a struct change what the struct sets, at any depth, however often
// they are applied.
func TestLaterOptionsAddToEarlierOnes(t *testing.T) {
	t.Parallel()
	opts := []Option{
		WithResilience(Resilience{MaxTime: time.Hour, Retry: Retry{Attempts: 7}}),
		WithResilience(Resilience{Silence: -1, Retry: Retry{Budget: 3}}),
		WithCache(CacheConfig{NoPreload: true, Settings: toolcache.Settings{ExactTTL: true}}),
		WithCache(CacheConfig{Partition: "me", Settings: toolcache.Settings{TTL: time.Minute}}),
		WithValidation(Validation{Arguments: ValidateWarn}),
		WithValidation(Validation{DropNulls: true}),
	}
	require.NoError(t, CheckOptions(opts...)) // applies them a first time
	c, err := newConfig(opts)
	require.NoError(t, err)
	require.Equal(t, Retry{Attempts: 7, Budget: 3}, c.resilience.Retry)
	require.Equal(t, time.Hour, c.resilience.MaxTime)
	require.Zero(t, c.resilience.Silence)
	require.Equal(t, time.Minute, c.resilience.IdleTimeout)
	require.True(t, c.noPreload)
	require.Equal(t, "me", c.caching.Partition)
	require.Equal(t, toolcache.Settings{TTL: time.Minute, ExactTTL: true}, c.caching.Settings)
	require.Equal(t, Validation{Arguments: ValidateWarn, DropNulls: true}, c.validation)
}
