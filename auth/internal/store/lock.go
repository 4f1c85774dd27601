package store

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"time"
)

// Pauses between attempts to take a lock that another process has. A refresh takes about 100 ms.
const (
	firstPause = time.Millisecond
	longPause  = 20 * time.Millisecond
)

// lock takes the lock file of a name for this process. The system releases the lock when the
// process exits. Delete removes the lock file of a record while it holds the lock. So a lock on a
// file that was removed is useless, and lock takes the new file instead.
func lock(ctx context.Context, root *os.Root, name string) (unlock func(), err error) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		file, err := tryLock(root, name)
		if err != nil {
			return nil, err
		}
		if file != nil {
			return func() { _ = file.Close() }, nil // closing unlocks
		}
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}

// tryLock returns nil if another process has the lock.
func tryLock(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if locked, err := claim(root, name, file); !locked {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// claim locks an open file. It returns false if another process has the lock, or if the name has
// another file now.
func claim(root *os.Root, name string, file *os.File) (bool, error) {
	if locked, err := lockFile(file); !locked {
		return false, err
	}
	mine, err := file.Stat()
	if err != nil {
		return false, err
	}
	current, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, current), err
}
