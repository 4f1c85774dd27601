package knowledge

import (
	"context"
	"time"
)

// A Team answers questions from what is known, after some time.
type Team struct {
	Index *Index
	// Delay is how long an answer takes.
	Delay time.Duration
}

// Ask waits for the team, by extra longer than usual, and searches. It ends
// with the context.
func (t *Team) Ask(ctx context.Context, q Question, extra time.Duration) (Answer, error) {
	if wait := t.Delay + extra; wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		}
	}
	return t.Index.Search(ctx, q)
}
