package resilience_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// goodPath runs the parts of this package for a successful call.
func goodPath(b *resilience.Bulkhead, budget *resilience.Budget, l *resilience.Latency) {
	slot := b.TryEnter(false)
	a := resilience.Attempt{Method: call, Class: resilience.ClassComplete, Delivery: mcperrors.Answered, Elapsed: time.Millisecond}
	sinkJudgement = a.Judge(true)
	budget.Success()
	l.Observe("search", a.Elapsed)
	b.Release(slot)
}

var sinkJudgement resilience.Judgement

// Not parallel: AllocsPerRun counts the whole process.
func TestGoodPathAllocatesNothing(t *testing.T) {
	b, budget, l := resilience.NewBulkhead(resilience.BulkheadSettings{Limit: 16}), new(resilience.Budget), new(resilience.Latency)
	s := resilience.NewSilence(resilience.SilenceSettings{})
	goodPath(b, budget, l) // the tool is new
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		s.Sent(1)
		goodPath(b, budget, l)
		s.Heard(2)
		s.Ended()
	}))
	lost := unanswered(resilience.ClassLost, mcperrors.Unknown)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		resilience.Decide(lost, resilience.State{Repeat: resilience.Repeatable, Remaining: unbounded})
	}))
}

// The limit is 150 ns and no allocation.
func BenchmarkGoodPath(b *testing.B) {
	bulkhead, budget, l := resilience.NewBulkhead(resilience.BulkheadSettings{Limit: 16}), new(resilience.Budget), new(resilience.Latency)
	b.ReportAllocs()
	for b.Loop() {
		goodPath(bulkhead, budget, l)
	}
}

func BenchmarkGoodPathParallel(b *testing.B) {
	bulkhead, budget, l := resilience.NewBulkhead(resilience.BulkheadSettings{Limit: 1024}), new(resilience.Budget), new(resilience.Latency)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			goodPath(bulkhead, budget, l)
		}
	})
}

func BenchmarkSilence(b *testing.B) {
	s := resilience.NewSilence(resilience.SilenceSettings{})
	b.ReportAllocs()
	now := time.Duration(0)
	for b.Loop() {
		now++
		s.Sent(now)
		s.Heard(now)
		s.Ended()
	}
}

func BenchmarkDecide(b *testing.B) {
	lost := unanswered(resilience.ClassLost, mcperrors.Unknown)
	st := resilience.State{Repeat: resilience.Repeatable, Remaining: unbounded, Random: 0.5}
	b.ReportAllocs()
	for b.Loop() {
		sinkDecision = resilience.Decide(lost, st)
	}
}

var sinkDecision resilience.Decision
