package repo

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/keyed"
)

// Locks lets one writer at a time into a repository: among the callers of this
// process, and, by a lock of the operating system that dies with its holder,
// among processes. The zero value is ready.
type Locks struct{ here keyed.Locks }

// otherProcess is how often a lock that another process holds is tried.
const otherProcess = 10 * time.Millisecond

// Lock waits for the repository at root and returns what releases it.
func (l *Locks) Lock(ctx context.Context, root string) (unlock func(), err error) {
	free, err := l.here.Lock(ctx, root)
	if err != nil {
		return nil, context.Cause(ctx)
	}
	release, err := lockBetweenProcesses(ctx, root)
	if err != nil {
		free()
		return nil, err
	}
	return func() {
		release()
		free()
	}, nil
}

func lockBetweenProcesses(ctx context.Context, root string) (release func(), err error) {
	retry := time.NewTicker(otherProcess)
	defer retry.Stop()
	for {
		release, busy, err := tryLock(root)
		if !busy {
			return release, err
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
