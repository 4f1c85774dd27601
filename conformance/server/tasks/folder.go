package tasks

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance/server/flock"
)

// A folder holds a file for each task. One store at a time uses it.
type folder struct {
	dir  string
	lock *os.File // nil where there are no locks
	own  bool     // made for this store alone, and removed with it
	once sync.Once
}

const (
	lockName  = ".lock"
	ownPrefix = "process-"
	extension = ".json"
	partial   = ".part"
)

// openFolder locks dir, or makes a folder below it when another process has it.
func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := locked(dir)
	if err != nil {
		return nil, err
	}
	if lock != nil {
		abandoned(dir)
		return &folder{dir: dir, lock: lock}, nil
	}
	dir, err = os.MkdirTemp(dir, ownPrefix)
	if err != nil {
		return nil, err
	}
	if lock, err = locked(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &folder{dir: dir, lock: lock, own: true}, nil
}

// locked locks a folder for this store. It returns nil if another has it.
func locked(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the folder is ours
	if err != nil {
		return nil, err
	}
	// Where the system has no such locks each store has a folder of its own, and no
	// task outlives its server.
	if ours, err := flock.TryLock(lock); err != nil || !ours || !flock.Supported {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// abandoned removes the folders below dir of processes that were killed.
func abandoned(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, ownPrefix+"*")) // the pattern is good
	for _, one := range left {
		if lock, err := locked(one); err == nil && lock != nil {
			(&folder{dir: one, lock: lock, own: true}).close()
		}
	}
}

// close lets go of the folder, once.
func (f *folder) close() {
	f.once.Do(func() {
		if f.own {
			_ = os.RemoveAll(f.dir) // what stays is looked at again by the next store
		}
		if f.lock != nil {
			flock.Unlock(f.lock)
		}
	})
}

func (f *folder) path(id string) string { return filepath.Join(f.dir, id+extension) }

// write puts a record on the disk, whole or not at all.
func (f *folder) write(r *record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	part := f.path(r.ID) + partial
	if err := os.WriteFile(part, raw, 0o600); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, f.path(r.ID))
}

func (f *folder) read(id string) (*record, error) {
	raw, err := os.ReadFile(f.path(id)) //nolint:gosec // the id is one that we made
	if err != nil {
		return nil, err
	}
	r := &record{}
	return r, json.Unmarshal(raw, r)
}

// remove forgets a task. What cannot be removed is looked at again at the next start.
func (f *folder) remove(id string) { _ = os.Remove(f.path(id)) }

// all returns the records of an earlier process, without results. What is none is removed: a record
// that was not written whole is of a task that nobody heard of.
func (f *folder) all() (records []*record, err error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		id, whole := strings.CutSuffix(e.Name(), extension)
		switch {
		case e.Type() != fs.FileMode(0), e.Name() == lockName:
			continue // no file of ours
		case whole:
			if r, err := f.read(id); err == nil && r.ID == id && r.TTLMs > 0 {
				r.Result = nil // it stays on the disk: all of them may be more than memory
				records = append(records, r)
				continue
			}
		}
		if whole || strings.HasSuffix(e.Name(), partial) {
			_ = os.Remove(filepath.Join(f.dir, e.Name())) // as in remove
		}
	}
	return records, nil
}
