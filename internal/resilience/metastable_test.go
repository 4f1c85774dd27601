package resilience_test

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A simulated server that handles requests one at a time and does not notice abandoned ones, with
// a load of two thirds, that stalls for a while.
const (
	capacity = 300 // requests per second
	offered  = 200
	patience = time.Second // timeout of the client for one attempt
	stalls   = 10 * time.Second
	horizon  = 120 * time.Second // end of the calls
)

// world is one simulated run, in virtual time since its start.
type world struct {
	rng    *rand.Rand
	budget *resilience.Budget // nil if retries are free
	retry  resilience.Policy
	heals  time.Duration // end of the stall

	free   time.Duration // when the server has finished its queue
	events events
	calls  []simulated // by the second in which they began
	sent   int         // attempts that reached the server during the stall
	began  int         // calls that began during it
}

// simulated has the outcomes of the calls of one second.
type simulated struct{ made, good int }

// event is the start or the end of a request.
type event struct {
	at    time.Duration
	call  int // the second in which the call began
	state resilience.State
	end   bool
	ok    bool
}

type events []*event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(*event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	*e = old[:len(old)-1]
	return last
}

// run simulates a stall of the given length.
func (w *world) run(stall time.Duration) {
	w.heals = stalls + stall
	w.calls = make([]simulated, int(horizon/time.Second)+1)
	for at := time.Duration(0); at < horizon; at += time.Duration(w.rng.ExpFloat64() * float64(time.Second) / offered) {
		w.until(at)
		second := int(at / time.Second)
		w.calls[second].made++
		if at >= stalls && at < w.heals {
			w.began++
		}
		w.send(event{at: at, call: second, state: resilience.State{Policy: w.retry, Repeat: resilience.Repeatable}})
	}
	w.until(2 * horizon)
}

// until processes the events up to a time.
func (w *world) until(then time.Duration) {
	for w.events.Len() > 0 && w.events[0].at <= then {
		if e := heap.Pop(&w.events).(*event); e.end {
			w.ended(*e)
		} else {
			w.send(*e)
		}
	}
}

// send queues a request at the server. A request that is running when the stall begins finishes
// after it.
func (w *world) send(e event) {
	if e.at >= stalls && e.at < w.heals {
		w.sent++
	}
	begins := max(e.at, w.free)
	if begins >= stalls && begins < w.heals {
		begins = w.heals
	}
	w.free = begins + time.Second/capacity
	if begins < stalls && w.free > stalls {
		w.free += w.heals - stalls
	}
	e.end, e.ok = true, w.free-e.at <= patience
	if e.at += patience; e.ok {
		e.at = w.free
	}
	heap.Push(&w.events, &e)
}

// ended is the client's side: the outcome of the attempt, and whether there is a retry.
func (w *world) ended(e event) {
	if e.ok {
		w.calls[e.call].good++
		if w.budget != nil && e.state.Failed == 0 {
			w.budget.Success()
		}
		return
	}
	a := resilience.Attempt{
		Method: mcp.MethodToolsCall, Class: resilience.ClassTimeout, Delivery: mcperrors.Unknown, OwnTimer: true, Elapsed: patience,
	}
	e.state.Remaining, e.state.Random = unbounded, w.rng.Float64()
	d := resilience.Decide(a, e.state)
	if !d.Again || (w.budget != nil && !w.budget.Take(d.Charge, epoch.Add(e.at))) {
		return
	}
	e.at, e.end, e.state = e.at+d.Wait, false, e.state.After(a)
	heap.Push(&w.events, &e)
}

// recovered returns how long after the stall nearly all calls succeed, and false if they never
// do.
func (w *world) recovered() (time.Duration, bool) {
	last := len(w.calls) - 2 // the last complete second
	for ; last >= 0 && w.share(last) >= 0.95; last-- {
	}
	after := time.Duration(last+1)*time.Second - w.heals
	return max(after, 0), last < len(w.calls)-2
}

func (w *world) share(second int) float64 {
	return float64(w.calls[second].good) / float64(max(w.calls[second].made, 1))
}

func newWorld(seed uint64, retry resilience.Policy, budget *resilience.Budget) *world {
	return &world{rng: rand.New(rand.NewPCG(seed, 9)), retry: retry, budget: budget}
}

// After a stall of 5 s at two thirds of capacity, the server recovers within 10 s; with free
// retries it does not.
func TestStallIsOverWithBudget(t *testing.T) {
	t.Parallel()
	const stall = 5 * time.Second
	for seed := range uint64(3) {
		none := newWorld(seed, resilience.Never, nil)
		none.run(stall)
		bare, ok := none.recovered()
		require.True(t, ok, "seed %d: without retries the queue drains", seed)
		require.LessOrEqual(t, bare, 10*time.Second, "seed %d", seed)

		paid := newWorld(seed, resilience.Proof, resilience.NewBudget(resilience.Prices{}))
		paid.run(stall)
		after, ok := paid.recovered()
		require.True(t, ok, "seed %d: with a budget", seed)
		require.LessOrEqual(t, after, 10*time.Second, "seed %d", seed)
		require.LessOrEqual(t, float64(paid.sent)/float64(paid.began), 1.1, "seed %d: attempts a call while it stalls", seed)

		unpaid := newWorld(seed, resilience.Proof, nil)
		unpaid.run(stall)
		_, ok = unpaid.recovered()
		require.False(t, ok, "seed %d: retries that nobody pays for keep the server down", seed)
		for second := int(unpaid.heals/time.Second) + 10; second < int(horizon/time.Second); second++ {
			require.Less(t, unpaid.share(second), 0.5, "seed %d: %d s after the start", seed, second)
		}
		t.Logf("seed %d: over %v after the heal without retries, %v with budget, never without (%d s)",
			seed, bare, after, int((horizon-unpaid.heals)/time.Second))
	}
}

// A stall of 30 s leaves a queue of 20 s of work; the budget adds little to it.
func TestLongStallWithBudget(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		none := newWorld(seed, resilience.Never, nil)
		none.run(30 * time.Second)
		bare, ok := none.recovered()
		require.True(t, ok)
		paid := newWorld(seed, resilience.Proof, resilience.NewBudget(resilience.Prices{}))
		paid.run(30 * time.Second)
		after, ok := paid.recovered()
		require.True(t, ok)
		require.LessOrEqual(t, after, bare+5*time.Second, "seed %d", seed)
		require.LessOrEqual(t, float64(paid.sent)/float64(paid.began), 1.1, "seed %d", seed)
	}
}

// A healthy server gets no retries, and the same seed gives the same run.
func TestWorldWithoutStall(t *testing.T) {
	t.Parallel()
	w := newWorld(1, resilience.Proof, nil)
	w.run(0)
	again := newWorld(1, resilience.Proof, nil)
	again.run(0)
	require.Equal(t, w.calls, again.calls)
	after, ok := w.recovered()
	require.True(t, ok)
	require.Zero(t, after)
}
