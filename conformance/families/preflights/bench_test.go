package preflights

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// measure runs f and reports the times of single runs beside the mean.
func measure(b *testing.B, f func()) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		f()
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
}

// BenchmarkRequireClarification asks the questions of a new session.
func BenchmarkRequireClarification(b *testing.B) {
	r := newRig(b)
	measure(b, func() {
		require.Equal(b, "needs_clarification", r.clarify(b, args{"user_intention": "Add authentication"}).Status)
	})
}

// BenchmarkRequireClarificationCompletes writes an ADR, a task, its archive and
// the projection, in a repository that grows by them.
func BenchmarkRequireClarificationCompletes(b *testing.B) {
	r := newRig(b)
	measure(b, func() {
		require.Equal(b, "completed", r.clarify(b, args{"user_intention": "Add authentication", "answers": authAnswers}).Status)
	})
}

// BenchmarkReadArchitecture reads an architecture of fifty decisions.
func BenchmarkReadArchitecture(b *testing.B) {
	r := newRig(b)
	for range 50 {
		r.clarify(b, args{"user_intention": "Add authentication", "answers": authAnswers})
	}
	measure(b, func() { require.Equal(b, "success", r.read(b).Status) })
}
