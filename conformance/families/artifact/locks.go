package artifact

import (
	"context"
	"os"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/server/flock"
)

// stateDir holds, below the base, what the workflow needs and no reader of
// artifacts does: lock files and the intents of approvals.
const stateDir = ".state"

// hold takes the lock of an artifact in this process and among all that share
// the base. The lock file stays: to remove it would let two processes lock two
// files of one name.
func (s *store) hold(ctx context.Context, root folder, id string) (release func(), err error) {
	free, err := s.locks.Lock(ctx, id)
	if err != nil {
		return nil, err
	}
	f, err := lockFile(root, id)
	if err != nil {
		free()
		return nil, err
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		var locked bool
		// Where the system has no such locks only one process may use a base at a
		// time. Within it [keyed.Locks] still serializes.
		if locked, err = flock.TryLock(f); err == nil && !locked {
			// Another process has it, and nothing tells when it lets go.
			err = pause(ctx, wait)
		}
		switch {
		case err != nil:
			_ = f.Close() // only a handle
			free()
			return nil, err
		case locked:
			return func() { flock.Unlock(f); free() }, nil
		}
	}
}

// lockFile opens the lock file of an artifact, making it first.
func lockFile(root folder, id string) (*os.File, error) {
	if err := root.MkdirAll(stateDir, 0o755); err != nil {
		return nil, err
	}
	return root.OpenFile(stateDir+"/"+id+".lock", os.O_RDWR|os.O_CREATE, 0o644)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
