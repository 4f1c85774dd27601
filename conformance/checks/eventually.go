package checks

import (
	"context"
	"time"
)

// eventually asks ok until it says yes or the time is over, and returns what it
// said last. It is for what a server writes outside the conversation.
func eventually(ctx context.Context, limit time.Duration, ok func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok() {
			return true
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return ok()
		case <-ctx.Done():
			return false
		}
	}
}
