package resilience_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// unbounded is the Remaining of a call without a deadline.
const unbounded = time.Duration(math.MaxInt64)

func TestRepeatOf(t *testing.T) {
	t.Parallel()
	yes := true
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: &yes}
	idempotent := &mcp.ToolAnnotations{IdempotentHint: &yes}
	for _, tt := range []struct {
		name string
		r    resilience.Request
		want resilience.Repeat
	}{
		{"a list", resilience.Request{Method: mcp.MethodToolsList}, resilience.Repeatable},
		{"discover", resilience.Request{Method: mcp.MethodDiscover}, resilience.Repeatable},
		{"initialize", resilience.Request{Method: mcp.MethodInitialize}, resilience.Repeatable},
		{"a read", resilience.Request{Method: mcp.MethodResourcesRead}, resilience.Repeatable},
		{"a task's state", resilience.Request{Method: mcp.MethodTasksGet}, resilience.Repeatable},
		{"input of a task", resilience.Request{Method: mcp.MethodTasksUpdate}, resilience.Unsafe},
		{"a method nobody knows", resilience.Request{Method: "acme/pay"}, resilience.Unsafe},
		{"a tool", resilience.Request{Method: call}, resilience.Unsafe},
		{"a read-only tool, untrusted", resilience.Request{Method: call, Annotations: readOnly}, resilience.Unsafe},
		{"a read-only tool, believed", resilience.Request{Method: call, Annotations: readOnly, Policy: resilience.Hints}, resilience.Repeatable},
		{"a read-only tool, hints", resilience.Request{Method: call, Annotations: readOnly, Policy: resilience.Hints}, resilience.Repeatable},
		{"an idempotent tool, believed", resilience.Request{Method: call, Annotations: idempotent, Policy: resilience.Hints}, resilience.Repeatable},
		{"no annotations, believed", resilience.Request{Method: call, Policy: resilience.Hints}, resilience.Unsafe},
		{"no hint, believed", resilience.Request{Method: call, Annotations: &mcp.ToolAnnotations{}, Policy: resilience.Hints}, resilience.Unsafe},
		{"a key", resilience.Request{Method: call, Key: true}, resilience.Keyed},
		{"always", resilience.Request{Method: call, Policy: resilience.Always}, resilience.Repeatable},
		{"a requestState", resilience.Request{Method: mcp.MethodResourcesRead, Stateful: true}, resilience.Unsafe},
		{"a requestState, always", resilience.Request{Method: call, Stateful: true, Policy: resilience.Always}, resilience.Unsafe},
	} {
		require.Equal(t, tt.want, resilience.RepeatOf(tt.r), tt.name)
	}
}

// Retry-After: never earlier, at most 20 % later, never after the deadline or more than five
// minutes.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const free = unbounded
	for _, tt := range []struct {
		name      string
		wish      time.Duration
		remaining time.Duration
		again     bool
		least     time.Duration
		most      time.Duration
	}{
		{"a second", time.Second, free, true, time.Second, 1200 * time.Millisecond},
		{"one nanosecond", 1, free, true, 1, 1},
		{"just five minutes", resilience.MaxThrottle, free, true, resilience.MaxThrottle, resilience.MaxThrottle * 6 / 5},
		{"more than five minutes", resilience.MaxThrottle + 1, free, false, 0, 0},
		{"forever", math.MaxInt64, free, false, 0, 0},
		{"past, or none", 0, free, true, 0, time.Second},
		{"negative", -5 * time.Second, free, true, 0, time.Second},
		{"least there is", math.MinInt64, free, true, 0, time.Second},
		{"just in time", 7 * time.Second, 7 * time.Second, true, 7 * time.Second, 7 * time.Second},
		{"too late by a nanosecond", 7 * time.Second, 7*time.Second - 1, false, 0, 0},
		{"some room", 7 * time.Second, 7500 * time.Millisecond, true, 7 * time.Second, 7500 * time.Millisecond},
		{"the deadline is now", 0, 0, false, 0, 0},
		{"the deadline was before", 0, -time.Second, false, 0, 0},
	} {
		for _, random := range []float64{0, 0.3, 0.999999, 1, 2, -1, math.NaN(), math.Inf(1)} {
			a := status(429, 0)
			a.RetryAfter = tt.wish
			d := resilience.Decide(a, resilience.State{Remaining: tt.remaining, Random: random})
			require.Equal(t, tt.again, d.Again, "%s, %v: %s", tt.name, random, d.Why)
			require.GreaterOrEqual(t, d.Wait, tt.least, "%s, %v", tt.name, random)
			require.LessOrEqual(t, d.Wait, tt.most, "%s, %v", tt.name, random)
		}
	}
}

// Retry-After in an error's data, in forms that servers send.
func TestRetryAfterFromData(t *testing.T) {
	t.Parallel()
	limited := mcperrors.ProfileFunc(func(mcperrors.Report) mcperrors.Meaning {
		return mcperrors.Meaning{Code: mcperrors.CodeRateLimited, Rejected: true}
	})
	for _, tt := range []struct {
		data        string
		again       bool
		least, most time.Duration
	}{
		{`2`, true, 2 * time.Second, 2400 * time.Millisecond},
		{`0.5`, true, 500 * time.Millisecond, 600 * time.Millisecond},
		// Without a valid value, the client's own pause applies.
		{`-1`, true, 0, time.Second},
		{`"soon"`, true, 0, time.Second},
		{`"NaN"`, true, 0, time.Second},
		{`null`, true, 0, time.Second},
		{`1000000000`, false, 0, 0},
		{`301`, false, 0, 0},
	} {
		a := answered(call, limited, 7, `{"retry_after_seconds":`+tt.data+`}`)
		require.Equal(t, resilience.ClassThrottled, a.Class, tt.data)
		for _, random := range []float64{0, 0.5, 0.9999} {
			d := resilience.Decide(a, resilience.State{Remaining: unbounded, Random: random})
			require.Equal(t, tt.again, d.Again, "%s: %s", tt.data, d.Why)
			require.GreaterOrEqual(t, d.Wait, tt.least, tt.data)
			require.LessOrEqual(t, d.Wait, tt.most, tt.data)
		}
	}
}

// loop makes a call that always fails the same way, with unlimited budget, and returns the number
// of attempts.
func loop(a resilience.Attempt, st resilience.State) (attempts int, last resilience.Decision) {
	for attempts = 1; attempts < 100; attempts++ {
		if last = resilience.Decide(a, st); !last.Again {
			return attempts, last
		}
		st = st.After(a)
	}
	return attempts, last
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	base := resilience.State{Repeat: resilience.Repeatable, Remaining: unbounded}
	lost := unanswered(resilience.ClassLost, mcperrors.Unknown)
	locked := answered(call, store, 1001, "")

	n, d := loop(lost, base)
	require.Equal(t, resilience.DefaultAttempts, n)
	require.Equal(t, "tried often enough", d.Why)

	unsafe := base
	unsafe.Repeat = resilience.Unsafe
	n, _ = loop(locked, unsafe)
	require.Equal(t, resilience.DefaultAttempts, n, "a profile promised that nothing was done")
	n, _ = loop(lost, unsafe)
	require.Equal(t, 1, n)

	n, d = loop(unanswered(resilience.ClassExited, mcperrors.NotSent), base)
	require.Equal(t, 2, n, "no request is replayed under a second crash")
	require.Equal(t, "the program ended under it twice", d.Why)

	unprocessed := unanswered(resilience.ClassUnprocessed, mcperrors.NotSent)
	never := unsafe
	never.Policy, never.MaxAttempts = resilience.Never, 1
	n, d = loop(unprocessed, never)
	require.Equal(t, 8, n, "as often as the HTTP layer sends it, whatever the policy")
	require.Equal(t, "tried often enough", d.Why)

	custom := base
	custom.MaxAttempts = 1
	n, _ = loop(lost, custom)
	require.Equal(t, 1, n)
}

func TestCharges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		a    resilience.Attempt
		want resilience.Charge
	}{
		{"lost", unanswered(resilience.ClassLost, mcperrors.NotSent), resilience.ChargeRetry},
		{"timeout", unanswered(resilience.ClassTimeout, mcperrors.Unknown, ownTimer), resilience.ChargeTimeout},
		{"the server's own timeout", answered(call, mcperrors.Docling, -32001, ""), resilience.ChargeTimeout},
		{"429", status(429, 0), resilience.ChargeRetry},
		{"not processed", unanswered(resilience.ClassUnprocessed, mcperrors.NotSent), resilience.ChargeNone},
		{"refused for now", answered(call, store, 1001, ""), resilience.ChargeRetry},
	} {
		d := resilience.Decide(tt.a, resilience.State{Repeat: resilience.Repeatable, Remaining: unbounded})
		require.Equal(t, tt.want, d.Charge, tt.name)
	}
}

// The pauses double, a throttled client starts at a second, and a Retry-After resets them.
func TestWaits(t *testing.T) {
	t.Parallel()
	most := resilience.State{Repeat: resilience.Repeatable, Remaining: unbounded, MaxAttempts: 100, Random: 1}
	lost, limited := unanswered(resilience.ClassLost, mcperrors.Unknown), status(429, 0)
	st := most
	for _, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 12800, 20000, 20000} {
		require.Equal(t, want*time.Millisecond, resilience.Decide(lost, st).Wait)
		st = st.After(lost)
	}
	named := status(503, 3*time.Second)
	st = st.After(named)
	require.Equal(t, 100*time.Millisecond, resilience.Decide(lost, st).Wait)

	st = most
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 20, 20} {
		require.Equal(t, want*time.Second, resilience.Decide(limited, st).Wait)
		st = st.After(limited)
	}
	require.Zero(t, resilience.Decide(unanswered(resilience.ClassLost, mcperrors.Unknown, reused), most).Wait, "a connection that was old: at once")
	require.NotZero(t, resilience.Decide(unanswered(resilience.ClassLost, mcperrors.Unknown, reused, repeated), most).Wait)
}

// The next attempt starts only if its pause ends before the deadline.
func TestDeadline(t *testing.T) {
	t.Parallel()
	lost := unanswered(resilience.ClassLost, mcperrors.Unknown)
	for _, tt := range []struct {
		remaining time.Duration
		again     bool
	}{
		{time.Second, true},
		{100 * time.Millisecond, true},
		{100*time.Millisecond - 1, false},
		{0, false},
		{-time.Hour, false},
		{math.MinInt64, false},
		{unbounded, true},
	} {
		d := resilience.Decide(lost, resilience.State{
			Repeat: resilience.Repeatable, Remaining: tt.remaining, Random: 1, // waits 100 ms
		})
		require.Equal(t, tt.again, d.Again, "%v: %s", tt, d.Why)
	}
}

func TestBackoffBounds(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, b := range []resilience.Backoff{
		{Base: 100 * time.Millisecond, Cap: 20 * time.Second},
		{Base: 1, Cap: math.MaxInt64},
		{Base: time.Hour, Cap: time.Second}, // the cap applies
		{},
	} {
		for n := range 200 {
			bound := b.Bound(n)
			require.LessOrEqual(t, bound, b.Cap)
			require.GreaterOrEqual(t, bound, b.Bound(max(0, n-1)), "it never shrinks")
			for range 10 {
				wait := b.Wait(n, rng.Float64())
				require.GreaterOrEqual(t, wait, time.Duration(0))
				require.LessOrEqual(t, wait, bound)
			}
		}
		require.Equal(t, b.Cap, b.Bound(math.MaxInt-1), fmt.Sprint(b))
	}
	// Full jitter: the whole range, uniformly.
	b := resilience.Backoff{Base: time.Second, Cap: time.Minute}
	low := 0
	for range 10_000 {
		if b.Wait(3, rng.Float64()) < 4*time.Second {
			low++
		}
	}
	require.InDelta(t, 5000, low, 300)
}

// Invariants for any attempt and call.
func FuzzDecide(f *testing.F) {
	f.Add(uint8(resilience.ClassUnavailable), uint8(1), int64(0), uint8(0), uint8(0), uint8(0), int64(time.Minute), 0.5, uint8(0))
	f.Add(uint8(resilience.ClassThrottled), uint8(2), int64(2e9), uint8(1), uint8(2), uint8(1), int64(1e9), 1.0, uint8(255))
	f.Fuzz(func(t *testing.T, class, delivery uint8, after int64, repeat, failed, waits uint8, remaining int64, random float64, flags uint8) {
		a := resilience.Attempt{
			Method: call, Class: resilience.Class(class), Delivery: mcperrors.Delivery(delivery % 4), RetryAfter: time.Duration(after),
			Alive: flags&1 != 0, OwnTimer: flags&2 != 0, Reused: flags&4 != 0, Repeated: flags&8 != 0, Final: flags&16 != 0,
		}
		st := resilience.State{
			Repeat: resilience.Repeat(repeat % 3), Failed: int(failed), Waits: int(waits),
			Remaining: time.Duration(remaining), Random: random,
		}
		d := resilience.Decide(a, st)
		j := a.Judge(flags&32 != 0)
		require.GreaterOrEqual(t, j.Throttle, time.Duration(0))
		require.LessOrEqual(t, j.Throttle, resilience.MaxThrottle)
		if !d.Again {
			require.Zero(t, d.Wait)
			return
		}
		require.Equal(t, a.Class == resilience.ClassUnprocessed, d.Charge == resilience.ChargeNone, "what was not processed is free, and nothing else")
		require.GreaterOrEqual(t, d.Wait, max(a.RetryAfter, 0), "never earlier than told")
		require.LessOrEqual(t, d.Wait, st.Remaining)
		require.LessOrEqual(t, d.Wait, resilience.MaxThrottle*6/5)
		require.True(t, a.Class.Retryable() && !a.Final && !a.Class.Corrected())
		if st.Repeat == resilience.Unsafe {
			require.Contains(t, []mcperrors.Delivery{mcperrors.NotSent, mcperrors.Rejected}, a.Delivery, "an unsafe call needs a proof")
		}
		switch a.Class {
		case resilience.ClassUnprocessed:
			require.Less(t, st.Failed, 7)
		default:
			require.Less(t, st.Failed, 2)
		}
	})
}

// Budget, time and attempts deny retries that could help; nothing else is a denial. The caller
// that pays checks the budget.
func TestDenials(t *testing.T) {
	t.Parallel()
	base := resilience.State{Repeat: resilience.Repeatable, Remaining: time.Minute}
	lost := unanswered(resilience.ClassLost, mcperrors.Unknown)
	after := func(d time.Duration) resilience.Attempt {
		a := unanswered(resilience.ClassBusy, mcperrors.Rejected)
		a.RetryAfter = d
		return a
	}
	final := lost
	final.Final = true
	for _, tt := range []struct {
		name string
		last resilience.Attempt
		set  func(*resilience.State)
		want resilience.Denial
	}{
		{"it is made", lost, func(*resilience.State) {}, 0},
		{"tried often enough", lost, func(s *resilience.State) { s.Failed = 2 }, resilience.DeniedAttempts},
		{"unprocessed often enough", unanswered(resilience.ClassUnprocessed, mcperrors.NotSent), func(s *resilience.State) { s.Failed = 7 }, resilience.DeniedAttempts},
		{"crashed twice", unanswered(resilience.ClassExited, mcperrors.NotSent), func(s *resilience.State) { s.Exits = 1 }, resilience.DeniedAttempts},
		{"no time", lost, func(s *resilience.State) { s.Remaining = 0 }, resilience.DeniedTime},
		{"no time for the pause", lost, func(s *resilience.State) { s.Remaining, s.Random = time.Millisecond, 0.9 }, resilience.DeniedTime},
		{"a time of the server after the deadline", after(2 * time.Minute), func(*resilience.State) {}, resilience.DeniedTime},
		{"a time of the server too far away", after(24 * time.Hour), func(s *resilience.State) { s.Remaining = unbounded }, resilience.DeniedTime},
		{"it may have been done", lost, func(s *resilience.State) { s.Repeat = resilience.Unsafe }, 0},
		{"it would end the same way", final, func(*resilience.State) {}, 0},
		{"not a failure that passes", unanswered(resilience.ClassCertificate, mcperrors.NotSent), func(*resilience.State) {}, 0},
		{"it needs a correction", unanswered(resilience.ClassSessionLost, mcperrors.Rejected), func(*resilience.State) {}, 0},
		{"retries are off", lost, func(s *resilience.State) { s.Policy = resilience.Never }, 0},
	} {
		s := base
		tt.set(&s)
		d := resilience.Decide(tt.last, s)
		require.Equal(t, tt.want, d.Denied, "%s: %s", tt.name, d.Why)
		require.Equal(t, tt.name == "it is made", d.Again, tt.name)
	}
}
