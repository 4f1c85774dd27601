// Package presence tells processes that share a folder which of them are alive.
// Each holds a lock on a file of its own, which the kernel lets go of however the
// process ends.
package presence

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance/server/flock"
)

// suffix ends the names of the files.
const suffix = ".alive"

// Self is the presence of this process, or of one of several servers in it.
type Self struct {
	// ID names it among all that use the folder.
	ID   string
	dir  string
	file *os.File // nil without a folder
	once sync.Once
}

// Enter takes part in a folder, which must exist. An empty one is nobody else's.
func Enter(dir string) (*Self, error) {
	s := &Self{ID: rand.Text(), dir: dir}
	if dir == "" {
		return s, nil
	}
	// The file gets its name when it is locked: nobody finds it without its lock.
	f, err := os.CreateTemp(dir, "entering-*.tmp")
	if err != nil {
		return nil, err
	}
	_, err = flock.TryLock(f)
	if err == nil {
		err = os.Rename(f.Name(), s.path(s.ID))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	s.file = f
	s.sweep()
	return s, nil
}

// sweep removes what processes have left that were killed. What cannot be removed
// now is of no harm.
func (s *Self) sweep() {
	files, _ := os.ReadDir(s.dir)
	for _, f := range files {
		if id, ok := strings.CutSuffix(f.Name(), suffix); ok {
			s.Alive(id)
		}
	}
}

func (s *Self) path(id string) string { return filepath.Join(s.dir, id+suffix) }

// Alive says whether the process with an id still runs. Where the system has no
// such locks only one process may use a folder at a time, and all others are gone.
func (s *Self) Alive(id string) bool {
	if id == s.ID {
		return true
	}
	if s.dir == "" || id == "" || strings.ContainsAny(id, `/\`) {
		return false
	}
	f, err := os.OpenFile(s.path(id), os.O_RDWR, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) // in doubt it is alive: its tasks are not given to others
	}
	defer func() { _ = f.Close() }()
	free, err := flock.TryLock(f)
	if err != nil || !free {
		return true
	}
	_ = os.Remove(f.Name()) // it is of no use any more
	return false
}

// Leave ends the presence. Only the first call does something.
func (s *Self) Leave() (err error) {
	s.once.Do(func() {
		if s.file == nil {
			return
		}
		if err = os.Remove(s.path(s.ID)); errors.Is(err, fs.ErrNotExist) { // the folder has been removed
			err = nil
		}
		err = errors.Join(err, s.file.Close())
	})
	return err
}
