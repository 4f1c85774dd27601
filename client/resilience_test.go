package client_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
)

func TestWrongResilience(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*client.Resilience){
		"must not be negative":   func(r *client.Resilience) { r.Rate.Burst = -1 },
		"0 disables it":          func(r *client.Resilience) { r.Rate.PerSecond = -1 },
		"needs a limit":          func(r *client.Resilience) { r.Bulkhead.Queue = 3 },
		"needs a limit above 0":  func(r *client.Resilience) { r.Bulkhead = client.Bulkhead{Limit: -1, Queue: 3} },
		"unknown retry policy":   func(r *client.Resilience) { r.Retry.Policy = 9 },
		"attempts and pauses":    func(r *client.Resilience) { r.Retry.Attempts = -1 },
		"exceeds their MaxPause": func(r *client.Resilience) { r.Retry.MinPause, r.Retry.MaxPause = 2, 1 },
		"RetryNever excludes":    func(r *client.Resilience) { r.Retry = client.Retry{Policy: client.RetryNever, Attempts: 3} },
		"Breaker and NoBreaker":  func(r *client.Resilience) { r.NoBreaker, r.Breaker = true, breaker.New(breaker.Settings{}) },
		"NoToolBreakers exclude": func(r *client.Resilience) {
			r.NoToolBreakers, r.Tools = true, breaker.NewGroup(breaker.GroupSettings{})
		},
		"Hedge.Share must be": func(r *client.Resilience) { r.Hedge.After = time.Second },
	} {
		r := client.Resilience{}
		change(&r)
		tr, _ := newFake(t)
		_, err := client.Connect(t.Context(), tr, client.WithResilience(r))
		require.ErrorContains(t, err, want)
	}
	for _, prefix := range []string{"", "com.mcp", "a/b", "-"} {
		tr, _ := newFake(t)
		_, err := client.Connect(t.Context(), tr, client.WithIdempotency(prefix))
		require.ErrorContains(t, err, "WithIdempotency", prefix)
	}
}
