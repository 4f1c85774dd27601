package engine

import (
	"sync/atomic"
	"time"
)

// numbers makes the ids that a run invents unique: a server keeps the data of earlier runs
// and of the other revisions.
type numbers struct {
	run  int64
	next atomic.Int64
}

// numbersEpoch keeps the numbers short: an id has at most 20 characters, of which a prefix
// may take six.
var numbersEpoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// newNumbers returns the numbers of a run that starts now: its tenth of a second
// and four digits for what it invents.
func newNumbers(now time.Time) *numbers {
	return &numbers{run: now.Sub(numbersEpoch).Milliseconds() / 100 * 10_000}
}

// Take returns a number that no other scenario of the run has.
func (n *numbers) Take() int64 { return n.run + n.next.Add(1) }
