package limit

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

var start = time.Date(2026, 1, 17, 9, 0, 0, 0, time.UTC)

// paced takes calls of one agent a tenth of a second apart, which is no burst.
func paced(l *Limiter, agent string, calls int, from time.Time) (last family.Quota, end time.Time) {
	for i := range calls {
		end = from.Add(time.Duration(i) * 101 * time.Millisecond)
		last = l.Take(agent, end)
	}
	return last, end
}

func TestAgent_S1_RATE_01_05(t *testing.T) {
	t.Parallel()
	l := New(Defaults())
	q, end := paced(l, "a", 100, start)
	require.Equal(t, family.Quota{Scope: "agent", Limit: 100, Reset: start.Add(time.Minute)}, q)
	require.Equal(t, family.Quota{
		Refused: true, Scope: "agent", Limit: 100, Reset: start.Add(time.Minute), RetryAfter: start.Add(time.Minute).Sub(end),
	}, l.Take("a", end))
	require.True(t, l.Take("a", start.Add(time.Minute-1)).Refused, "not a nanosecond too early")
	require.False(t, l.Take("a", start.Add(time.Minute)).Refused, "S1-RATE-05: exactly 60 s after the first call")
	require.True(t, l.Take("a", start.Add(time.Minute)).Refused, "and one call only")
	require.False(t, l.Take("a", start.Add(time.Minute+101*time.Millisecond)).Refused, "then the second")
}

func TestGlobal_S1_RATE_02_07(t *testing.T) {
	t.Parallel()
	l := New(Defaults())
	var end time.Time
	for i := range 100 { // five agents at once, each within its limits
		end = start.Add(time.Duration(i) * 101 * time.Millisecond)
		for a := range 5 {
			require.False(t, l.Take(fmt.Sprint("agent", a), end).Refused, "S1-RATE-07")
		}
	}
	q := l.Take("agent5", end)
	require.True(t, q.Refused)
	require.Equal(t, "global", q.Scope)
	require.Equal(t, 100, q.Limit, "headers show the agent's limit, whichever refuses")
	require.Zero(t, q.Remaining)
	require.False(t, l.Take("agent5", start.Add(time.Minute)).Refused)
}

func TestBurst_S1_RATE_03(t *testing.T) {
	t.Parallel()
	l := New(Defaults())
	for range 10 {
		require.False(t, l.Take("a", start).Refused)
	}
	q := l.Take("a", start)
	require.Equal(t, family.Quota{Refused: true, Scope: "burst", Limit: 100, Reset: start.Add(time.Second), RetryAfter: time.Second}, q)
	require.False(t, l.Take("b", start).Refused)
	require.False(t, l.Take("a", start.Add(time.Second)).Refused)
}

func TestRemaining_S1_RATE_04(t *testing.T) {
	t.Parallel()
	l := New(Defaults())
	for i := range 9 {
		q := l.Take("a", start)
		require.Equal(t, "agent", q.Scope)
		require.Equal(t, 100, q.Limit)
		require.Equal(t, 99-i, q.Remaining)
		require.True(t, q.Reset.After(start))
	}
	narrow := New(Rates{Agent: Limit{100, time.Minute}, Global: Limit{3, time.Minute}})
	require.Equal(t, family.Quota{Scope: "global", Limit: 100, Remaining: 2, Reset: start.Add(time.Minute)}, narrow.Take("a", start),
		"what remains is of the limit that is nearer")
}

// Of several full windows the one that stays full longest says when to come
// back, whichever it is.
func TestRefused_LongestWait(t *testing.T) {
	t.Parallel()
	for scope, rates := range map[string]Rates{
		"agent":  {Agent: Limit{1, time.Minute}, Global: Limit{1, time.Second}, Burst: Limit{1, time.Millisecond}},
		"global": {Agent: Limit{1, time.Second}, Global: Limit{1, time.Minute}, Burst: Limit{1, time.Millisecond}},
		"burst":  {Agent: Limit{1, time.Millisecond}, Global: Limit{1, time.Second}, Burst: Limit{1, time.Minute}},
	} {
		l := New(rates)
		require.False(t, l.Take("a", start).Refused)
		require.Equal(t, family.Quota{Refused: true, Scope: scope, Limit: 1, Reset: start.Add(time.Minute), RetryAfter: time.Minute}, l.Take("a", start))
		require.Equal(t, Limit{1, time.Minute}, rates.Of(scope))
	}
	require.Zero(t, Defaults().Of("nothing"))
}

// Without a limit for agents the first that there is stands in the headers.
func TestOneLimitAlone(t *testing.T) {
	t.Parallel()
	l := New(Rates{Burst: Limit{1, time.Second}})
	require.Equal(t, family.Quota{Scope: "burst", Limit: 1, Reset: start.Add(time.Second)}, l.Take("a", start))
	require.Equal(t, 1, l.Take("a", start).Limit)
}

func TestRefused_S1_RATE_06(t *testing.T) {
	t.Parallel()
	l := New(Rates{Agent: Limit{2, time.Minute}, Global: Limit{3, time.Minute}})
	l.Take("a", start)
	l.Take("a", start)
	for range 50 {
		require.True(t, l.Take("a", start.Add(time.Second)).Refused)
	}
	require.False(t, l.Take("b", start.Add(time.Second)).Refused, "what was refused took nothing from the others")
	require.False(t, l.Take("a", start.Add(time.Minute)).Refused, "nor from the agent's next minute")
}

func TestOff(t *testing.T) {
	t.Parallel()
	l := New(Rates{})
	for range 10_000 {
		require.Equal(t, family.Quota{}, l.Take("a", start))
	}
	require.Empty(t, l.agents)
	require.Empty(t, l.global.calls)
}

// Invented names are forgotten.
func TestManyAgents(t *testing.T) {
	t.Parallel()
	l := New(Rates{Agent: Limit{100, time.Minute}, Burst: Limit{10, time.Second}})
	for i := range 10_000 {
		l.Take(fmt.Sprint(i), start)
	}
	l.Take("last", start.Add(2*time.Minute))
	require.Len(t, l.agents, 1)
}

func TestParallel(t *testing.T) {
	t.Parallel()
	l := New(Rates{Agent: Limit{50, time.Minute}, Global: Limit{120, time.Minute}})
	var mu sync.Mutex
	passed := map[string]int{}
	var wg sync.WaitGroup
	for i := range 400 {
		wg.Go(func() {
			agent := fmt.Sprint("agent", i%4)
			if !l.Take(agent, start).Refused {
				mu.Lock()
				defer mu.Unlock()
				passed[agent]++
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range passed {
		require.LessOrEqual(t, n, 50)
		total += n
	}
	require.Equal(t, 120, total)
}
