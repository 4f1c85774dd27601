package link

import (
	"slices"
	"strings"
	"sync/atomic"
)

// Drops are the requests of a server that the client dropped. The server may wait for the
// answers, and answer no call meanwhile. Its methods may be called from many goroutines at
// once. The zero value is ready.
type Drops struct{ now atomic.Pointer[drops] }

// drops never change.
type drops struct {
	count    int // of all requests
	answered int // how many there were when the server last answered a call
	last     []string
}

// mostDrops is how many methods an error names.
const mostDrops = 3

// Note notes that a request with this method was dropped.
func (d *Drops) Note(method string) {
	for {
		old, next := d.now.Load(), drops{count: 1, last: []string{method}}
		if old != nil {
			last := old.last[max(0, len(old.last)-mostDrops+1):]
			next = drops{old.count + 1, old.answered, append(slices.Clone(last), method)}
		}
		if d.now.CompareAndSwap(old, &next) {
			return
		}
	}
}

// Answered notes that the server has answered a call: it does not wait for the answers to
// what it asked before.
func (d *Drops) Answered() {
	for {
		old := d.now.Load()
		if old == nil || old.answered == old.count {
			return // as nearly always
		}
		if d.now.CompareAndSwap(old, &drops{old.count, old.count, old.last}) {
			return
		}
	}
}

// Mark returns a mark of this moment for Since.
func (d *Drops) Mark() int {
	if now := d.now.Load(); now != nil {
		return now.answered
	}
	return 0
}

// Since names the requests that the server may still wait for: those that came after the
// last answer before the mark. It names the last few, and is "" for none.
func (d *Drops) Since(mark int) string {
	now := d.now.Load()
	if now == nil || now.count <= mark {
		return ""
	}
	named := now.last[max(0, len(now.last)-(now.count-mark)):]
	return strings.Join(slices.Compact(slices.Clone(named)), ", ")
}
