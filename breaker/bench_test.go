package breaker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// resilience.md §4.4. Not parallel: AllocsPerRun counts the whole process.
func TestAllocations(t *testing.T) {
	closed := breaker.New(breaker.Settings{})
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() {
		p, _ := closed.Acquire()
		p.Settle(breaker.Success)
	}), 2.0, "acquire and settle")

	open := breaker.New(breaker.Settings{FailureThreshold: 1})
	settle(t, open, breaker.Failure)
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = open.Acquire() }), "refusal while OPEN")
	require.Zero(t, testing.AllocsPerRun(1000, func() { sinkState = open.State() }), "State")
	require.Zero(t, testing.AllocsPerRun(1000, func() { sinkSnapshot = open.Snapshot() }), "Snapshot")

	probing := breaker.New(breaker.Settings{FailureThreshold: 1, Cooldown: time.Nanosecond})
	settle(t, probing, breaker.Failure)
	p, err := probing.Acquire()
	require.NoError(t, err)
	defer p.Settle(breaker.Success)
	require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = probing.Acquire() }), "refusal while HALF_OPEN")
}

var (
	sinkState    breaker.State
	sinkSnapshot breaker.Snapshot
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
