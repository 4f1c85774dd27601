//go:build unix

package artifact

import (
	"syscall"
	"testing"
	"time"
)

// BenchmarkLargeDocuments is what validating 5 MB takes; the target is 0.5 s
// of CPU.
func BenchmarkLargeDocuments(b *testing.B) {
	for name, text := range largeDocuments(b, largeSize) {
		for _, id := range []string{"PRD-006", "HLS-006"} {
			b.Run(id+" "+name, func(b *testing.B) {
				t, err := parseID("artifact_id", id)
				if err != nil {
					b.Fatal(err)
				}
				list, err := newChecklists(resources("")).get(b.Context(), time.Now(), t)
				if err != nil {
					b.Fatal(err)
				}
				begin := cpuTime()
				for b.Loop() {
					if _, err := judge(b.Context(), newDocument(text, id), list); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64((cpuTime()-begin).Milliseconds())/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// cpuTime is what the process has used.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
