package link

import (
	"slices"
	"strings"
	"sync/atomic"
)

// Drops are the server's requests that the client dropped. The server may wait for their answers
// before it answers calls. Its methods may be called from many goroutines at once. The zero value
// is ready for use.
type Drops struct{ now atomic.Pointer[drops] }

// drops is immutable.
type drops struct {
	count    int // of all requests
	answered int // count at the time of the last answer to a call
	last     []string
}

// mostDrops limits the number of methods in an error.
const mostDrops = 3

// Note records that a request with this method was dropped.
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

// Answered records that the server has answered a call, so it does not wait for answers to its
// earlier requests.
func (d *Drops) Answered() {
	for {
		old := d.now.Load()
		if old == nil || old.answered == old.count {
			return // the usual case
		}
		if d.now.CompareAndSwap(old, &drops{old.count, old.count, old.last}) {
			return
		}
	}
}

// Mark returns the position to pass to Since later.
func (d *Drops) Mark() int {
	if now := d.now.Load(); now != nil {
		return now.answered
	}
	return 0
}

// Since returns the methods of the requests that the server may still wait for: those that
// arrived after mark. It returns the last few, "" for none.
func (d *Drops) Since(mark int) string {
	now := d.now.Load()
	if now == nil || now.count <= mark {
		return ""
	}
	named := now.last[max(0, len(now.last)-(now.count-mark)):]
	return strings.Join(slices.Compact(slices.Clone(named)), ", ")
}
