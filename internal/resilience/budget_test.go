package resilience_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestBudget(t *testing.T) {
	t.Parallel()
	b := resilience.NewBudget(resilience.Prices{Floor: -1})
	for range 10 {
		require.True(t, b.Take(resilience.ChargeRetry, epoch))
	}
	require.Zero(t, b.Tokens())
	require.False(t, b.Take(resilience.ChargeRetry, epoch))
	require.True(t, b.Take(resilience.ChargeNone, epoch), "free is free")
	for range 19 {
		b.Success()
	}
	require.False(t, b.Take(resilience.ChargeTimeout, epoch))
	b.Success()
	require.True(t, b.Take(resilience.ChargeTimeout, epoch))
	require.Zero(t, b.Tokens())
	for range 1000 {
		b.Success()
	}
	require.Equal(t, 100, b.Tokens(), "it does not hold more than its size")
}

// The zero budget has the defaults: an empty one allows three retries in any ten seconds.
func TestBudgetFloor(t *testing.T) {
	t.Parallel()
	var b resilience.Budget
	require.Equal(t, 100, b.Tokens())
	for range 10 {
		require.True(t, b.Take(resilience.ChargeRetry, epoch))
	}
	later := epoch.Add(10*time.Second - 1)
	require.False(t, b.Take(resilience.ChargeRetry, later), "the last three are not old enough")
	later = later.Add(1)
	for range 3 {
		require.True(t, b.Take(resilience.ChargeTimeout, later), "the floor does not ask for the price")
	}
	require.False(t, b.Take(resilience.ChargeTimeout, later))
	require.Zero(t, b.Tokens(), "nor makes debts")
}

// purse is a simple model of the budget.
type purse struct {
	size, retry, timeout, floor, tokens int
	window                              time.Duration
	granted                             []time.Time
}

func (p *purse) take(c resilience.Charge, now time.Time) bool {
	price := p.retry
	if c == resilience.ChargeTimeout {
		price = p.timeout
	}
	recent := 0
	for _, at := range p.granted {
		if now.Sub(at) < p.window {
			recent++
		}
	}
	switch {
	case p.tokens >= price:
		p.tokens -= price
	case recent >= p.floor:
		return false
	}
	p.granted = append(p.granted, now)
	p.granted = p.granted[max(0, len(p.granted)-20):] // more than any floor
	return true
}

// A random walk: budget and model agree after every step.
func TestBudgetModel(t *testing.T) {
	t.Parallel()
	for seed, prices := range []resilience.Prices{
		{}, {Floor: -1}, {Size: 7, Retry: 3, Timeout: 9, Floor: 1, Window: time.Second}, {Retry: 5}, {Size: 50, Floor: 16},
	} {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		b := resilience.NewBudget(prices)
		m := purse{size: 100, retry: 10, timeout: 20, floor: 3, window: 10 * time.Second}
		set := func(to *int, v int) {
			if v != 0 {
				*to = max(v, 0)
			}
		}
		set(&m.size, prices.Size)
		set(&m.retry, prices.Retry)
		set(&m.timeout, prices.Timeout)
		set(&m.floor, prices.Floor)
		if prices.Window > 0 {
			m.window = prices.Window
		}
		m.tokens = m.size
		now, granted, refused := epoch, 0, 0
		for step := range testmain.Fewer(200_000, 2) {
			switch r := rng.IntN(20); {
			case r < 14:
				b.Success()
				m.tokens = min(m.tokens+1, m.size)
			case r < 15:
				now = now.Add([]time.Duration{1, time.Second, m.window - 1, m.window, m.window / 3}[rng.IntN(5)])
			default:
				c := []resilience.Charge{resilience.ChargeRetry, resilience.ChargeTimeout}[rng.IntN(2)]
				want := m.take(c, now)
				if got := b.Take(c, now); got != want {
					t.Fatalf("seed %d, step %d: %v, the model says %v", seed, step, got, want)
				}
				if want {
					granted++
				} else {
					refused++
				}
			}
			if b.Tokens() != m.tokens {
				t.Fatalf("seed %d, step %d: %d tokens, the model says %d", seed, step, b.Tokens(), m.tokens)
			}
		}
		require.Greater(t, granted, 1000)
		require.Greater(t, refused, 1000)
	}
}

// Concurrently: no more retries than were paid for.
func TestBudgetConcurrently(t *testing.T) {
	t.Parallel()
	b := resilience.NewBudget(resilience.Prices{Floor: -1})
	const workers, each = 16, 5000
	var mu sync.Mutex
	granted := 0
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			own := 0
			for range each {
				b.Success()
				if b.Take(resilience.ChargeRetry, epoch) {
					own++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			granted += own
		})
	}
	group.Wait()
	require.LessOrEqual(t, 10*granted, 100+workers*each)
	require.GreaterOrEqual(t, b.Tokens(), 0)
	require.LessOrEqual(t, b.Tokens(), 100)
}
