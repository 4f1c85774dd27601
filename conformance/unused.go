package conformance

import (
	"fmt"
	"sync/atomic"
	"time"
)

// numbers makes the ids a run invents its own: a server that lives on keeps
// what earlier runs, and the other legs of this one, have stored, approved and
// queued under theirs.
type numbers struct {
	run  int64
	next atomic.Int64
}

// numbersEpoch keeps the numbers short: an id has at most 20 characters
// (tools.md §2.9), six of which a prefix may take.
var numbersEpoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// newNumbers returns the numbers of a run that starts now: its tenth of a second
// and four digits for what it invents.
func newNumbers(now time.Time) *numbers {
	return &numbers{run: now.Sub(numbersEpoch).Milliseconds() / 100 * 10_000}
}

func (n *numbers) take() int64 { return n.run + n.next.Add(1) }

// unusedID returns an artifact id that nobody has used, such as
// "PRD-21700000010001".
func unusedID(t *trial, prefix string) string {
	return fmt.Sprintf("%s-%d", prefix, t.leg.numbers.take())
}

// newProject returns the name of a project that nobody has used.
func newProject(t *trial) string { return fmt.Sprintf("conform-%d", t.leg.numbers.take()) }

// newWorkflow returns a task_id that nobody has used, to find log lines by.
func newWorkflow(t *trial) string { return fmt.Sprintf("conform-task-%d", t.leg.numbers.take()) }
