package assistant

import (
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkSaveArtifact saves into a real database and reports the times of
// single calls beside the mean.
func BenchmarkSaveArtifact(b *testing.B) {
	fam, err := New(Options{DataDir: b.TempDir(), SessionToken: token})
	require.NoError(b, err)
	defer func() { require.NoError(b, fam.Close(b.Context())) }()
	raw, err := json.Marshal(map[string]any{"session_token": token, "title": "Report", "content_markdown": "# Report\n\nText.\n"})
	require.NoError(b, err)
	log := slog.New(slog.DiscardHandler)
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		res, fail := handle(b.Context(), fam.Tools[0], raw, log)
		took = append(took, time.Since(begin))
		require.Nil(b, fail)
		require.False(b, res.IsError)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
}
