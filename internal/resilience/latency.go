package resilience

import (
	"maps"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// maxTools limits the tools of one server that are tracked, since the peer chooses their names.
const maxTools = 1024

// Latency records how long the tools of one server usually take. The zero Latency is ready for
// use. Its methods may be called from many goroutines at once. It takes half a kilobyte per tool,
// for at most 1,024 tools; one more tool resets it.
type Latency struct {
	mu    sync.Mutex // held to add a tool
	tools atomic.Pointer[map[string]*histogram]
}

// Observe records the duration of a call of the tool.
func (l *Latency) Observe(tool string, took time.Duration) {
	if h := l.find(tool); h != nil {
		h.observe(took)
		return
	}
	l.add(tool).observe(took)
}

func (l *Latency) find(tool string) *histogram {
	if tools := l.tools.Load(); tools != nil {
		return (*tools)[tool]
	}
	return nil
}

// add copies the map with one more tool, so that readers never wait.
func (l *Latency) add(tool string) *histogram {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.find(tool); h != nil {
		return h
	}
	tools := map[string]*histogram{}
	if before := l.tools.Load(); before != nil && len(*before) < maxTools {
		tools = maps.Clone(*before)
	}
	h := new(histogram)
	tools[tool] = h
	l.tools.Store(&tools)
	return h
}

// Quantile returns the q-quantile of the durations of the tool's recent calls, q from 0 to 1, and
// the number of those calls. For calls between 1 µs and an hour it is at most 25 % too long, and
// never too short.
func (l *Latency) Quantile(tool string, q float64) (took time.Duration, calls int) {
	if h := l.find(tool); h != nil {
		return h.quantile(q)
	}
	return 0, 0
}

// Buckets of a histogram: four per doubling, from 1 µs.
const (
	perDoubling = 4
	buckets     = 32 * perDoubling
	// recent is the number of calls after which a histogram halves its counts, so that it follows
	// changes.
	recent = 1024
)

type histogram struct {
	halving sync.Mutex
	total   atomic.Uint32 // the sum of counts
	counts  [buckets]atomic.Uint32
}

// bucketOf returns the bucket of a duration: the position of its highest bit, and the two bits
// below.
func bucketOf(d time.Duration) int {
	us := uint64(max(d, 0) / time.Microsecond)
	if us < perDoubling {
		return int(us)
	}
	high := bits.Len64(us) - 1
	return min((high-1)*perDoubling+int(us>>(high-2)&3), buckets-1)
}

// topOf returns the upper end of a bucket.
func topOf(bucket int) time.Duration {
	if bucket < perDoubling {
		return time.Duration(bucket+1) * time.Microsecond
	}
	high := bucket/perDoubling + 1
	us := uint64(perDoubling+bucket%perDoubling+1) << (high - 2)
	return time.Duration(us) * time.Microsecond
}

func (h *histogram) observe(took time.Duration) {
	h.counts[bucketOf(took)].Add(1)
	if h.total.Add(1) >= recent && h.halving.TryLock() {
		for h.total.Load() >= recent {
			h.halve()
		}
		h.halving.Unlock()
	}
}

// halve halves the counts. Calls may be counted at the same time.
func (h *histogram) halve() {
	for i := range h.counts {
		n := h.counts[i].Load()
		gone := n - n/2
		h.counts[i].Add(-gone)
		h.total.Add(-gone)
	}
}

func (h *histogram) quantile(q float64) (took time.Duration, calls int) {
	var counts [buckets]uint32
	total := 0
	for i := range h.counts {
		counts[i] = h.counts[i].Load()
		total += int(counts[i])
	}
	rank := max(1, min(q, 1)*float64(total))
	seen := 0
	for i, n := range counts {
		if seen += int(n); n > 0 && float64(seen) >= rank {
			return topOf(i), total
		}
	}
	return 0, total
}
