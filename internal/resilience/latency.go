package resilience

import (
	"maps"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// maxTools bounds the tools of one server that anything is kept about: their
// names come from the peer.
const maxTools = 1024

// Latency knows how long the tools of one server usually take. The zero Latency
// is ready; its methods may be called from many goroutines at once. It holds
// half a kilobyte a tool, for at most 1,024 of them: with one more it begins
// anew.
type Latency struct {
	mu    sync.Mutex // who adds a tool
	tools atomic.Pointer[map[string]*histogram]
}

// Observe notes how long a call of the tool took.
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

// add makes a map with one tool more: readers never wait.
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

// Quantile returns what q of the tool's recent calls took at most, q from 0 to
// 1, and of how many calls that is known. It is at most a quarter too long and
// never too short for calls between 1 µs and an hour.
func (l *Latency) Quantile(tool string, q float64) (took time.Duration, calls int) {
	if h := l.find(tool); h != nil {
		return h.quantile(q)
	}
	return 0, 0
}

// Buckets of a histogram: four to each doubling, from 1 µs.
const (
	perDoubling = 4
	buckets     = 32 * perDoubling
	// recent is how many calls a histogram counts before it halves what it
	// holds, so that a tool that has become slow is slow.
	recent = 1024
)

type histogram struct {
	halving sync.Mutex
	total   atomic.Uint32 // the sum of counts
	counts  [buckets]atomic.Uint32
}

// bucketOf returns the bucket of a time: the place of its highest bit, and the
// two bits below it.
func bucketOf(d time.Duration) int {
	us := uint64(max(d, 0) / time.Microsecond)
	if us < perDoubling {
		return int(us)
	}
	high := bits.Len64(us) - 1
	return min((high-1)*perDoubling+int(us>>(high-2)&3), buckets-1)
}

// topOf returns the end of a bucket.
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

// halve forgets half of what was counted. Meanwhile calls are counted as ever.
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
