package breaker_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// Not parallel, because AllocsPerRun counts the allocations of the whole process.
func TestAllocations(t *testing.T) {
	closed := breaker.New(breaker.Settings{})
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() {
		p, _ := closed.Acquire()
		p.Settle(breaker.Success)
	}), 1.0, "acquire and settle") // 0, but the pool may have been emptied
	require.Zero(t, testing.AllocsPerRun(1000, func() { sinkErr = closed.Peek() }), "Peek in CLOSED")
	require.Zero(t, testing.AllocsPerRun(1000, func() { sinkBool = closed.Healthy() }), "Healthy")

	open := breaker.New(breaker.Settings{FailureThreshold: 1})
	settle(t, open, breaker.Failure)
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = open.Acquire() }), "refusal while OPEN")
	require.Zero(t, testing.AllocsPerRun(1000, func() { sinkErr = open.Peek() }), "Peek in OPEN")
	require.Zero(t, testing.AllocsPerRun(1000, func() { sinkState = open.State() }), "State")
	require.Zero(t, testing.AllocsPerRun(1000, func() { sinkSnapshot = open.Snapshot() }), "Snapshot")

	probing := breaker.New(breaker.Settings{FailureThreshold: 1, Cooldown: time.Nanosecond})
	settle(t, probing, breaker.Failure)
	p, err := probing.Acquire()
	require.NoError(t, err)
	defer p.Settle(breaker.Success)
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = probing.Acquire() }), "refusal while HALF_OPEN")

	held := breaker.New(breaker.Settings{})
	held.Throttle(time.Hour, "429")
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = held.Acquire() }), "refusal while held")
	held.Force(breaker.ForcedOpen)
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = held.Acquire() }), "refusal while forced open")

	group := breaker.NewGroup(breaker.GroupSettings{})
	group.Get("known")
	require.Zero(t, testing.AllocsPerRun(1000, func() { sinkBreaker = group.Find("known") }), "Find, known")
	require.Zero(t, testing.AllocsPerRun(1000, func() { sinkBreaker = group.Find("unknown") }), "Find, unknown")
}

var (
	sinkState    breaker.State
	sinkSnapshot breaker.Snapshot
	sinkErr      error
	sinkBool     bool
	sinkBreaker  *breaker.Breaker
)

func BenchmarkAllow(b *testing.B) {
	br := breaker.New(breaker.Settings{})
	b.ReportAllocs()
	for b.Loop() {
		p, _ := br.Acquire()
		p.Settle(breaker.Success)
	}
}

func BenchmarkAllowParallel(b *testing.B) {
	br := breaker.New(breaker.Settings{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, _ := br.Acquire()
			p.Settle(breaker.Success)
		}
	})
}

func openBreaker() *breaker.Breaker {
	br := breaker.New(breaker.Settings{FailureThreshold: 1, Cooldown: time.Hour})
	p, _ := br.Acquire()
	p.Settle(breaker.Failure)
	return br
}

func BenchmarkRefuse(b *testing.B) {
	br := openBreaker()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = br.Acquire()
	}
}

func BenchmarkSnapshot(b *testing.B) {
	br := breaker.New(breaker.Settings{})
	b.ReportAllocs()
	for b.Loop() {
		sinkSnapshot = br.Snapshot()
	}
}

func BenchmarkSnapshotOpen(b *testing.B) {
	br := openBreaker()
	b.ReportAllocs()
	for b.Loop() {
		sinkSnapshot = br.Snapshot()
	}
}

func BenchmarkState(b *testing.B) {
	br := breaker.New(breaker.Settings{})
	b.ReportAllocs()
	for b.Loop() {
		sinkState = br.State()
	}
}

func BenchmarkHealthy(b *testing.B) {
	br := breaker.New(breaker.Settings{})
	b.ReportAllocs()
	for b.Loop() {
		sinkBool = br.Healthy()
	}
}

func BenchmarkPeek(b *testing.B) {
	br := breaker.New(breaker.Settings{})
	b.ReportAllocs()
	for b.Loop() {
		sinkErr = br.Peek()
	}
}

func BenchmarkPeekOpen(b *testing.B) {
	br := openBreaker()
	b.ReportAllocs()
	for b.Loop() {
		sinkErr = br.Peek()
	}
}

func BenchmarkRefuseHeld(b *testing.B) {
	br := breaker.New(breaker.Settings{})
	br.Throttle(time.Hour, "429")
	b.ReportAllocs()
	for b.Loop() {
		_, _ = br.Acquire()
	}
}

// Runs of four failures that a success ends, which are not on the fast path.
func BenchmarkFailure(b *testing.B) {
	br := breaker.New(breaker.Settings{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p, _ := br.Acquire()
		if i%5 == 4 {
			p.Settle(breaker.Success)
		} else {
			p.Settle(breaker.Failure)
		}
	}
}

func BenchmarkGroupFind(b *testing.B) {
	g := breaker.NewGroup(breaker.GroupSettings{})
	b.Run("empty", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkBreaker = g.Find("search_documents")
		}
	})
	for i := range 1000 {
		g.Get(strconv.Itoa(i))
	}
	g.Get("search_documents")
	b.Run("full", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkBreaker = g.Find("search_documents")
		}
	})
}

// A new key in a full group, as when the peer invents names.
func BenchmarkGroupGetNew(b *testing.B) {
	g := breaker.NewGroup(breaker.GroupSettings{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		sinkBreaker = g.Get(strconv.Itoa(i))
	}
}
