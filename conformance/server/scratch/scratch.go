// Package scratch makes folders for temporary data, and removes those of
// processes that were killed before they could do it themselves.
package scratch

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// lockName is a file in each folder. Its process holds a lock on it, which
	// ends with the process however that ends. The text says that it is ours.
	lockName = ".mainstay-lock"
	lockText = "temporary data of mainstay, removed when its process ends\n"
	// most bounds how many folders one start removes.
	most = 64
)

// A Folder is a folder for temporary data.
type Folder struct {
	path string
	lock *os.File // nil where the system has no such locks
}

// Make makes a folder in parent, or in the system's folder for temporary files
// if that is empty, with a name that begins with prefix.
func Make(parent, prefix string) (*Folder, error) {
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	lock, err := hold(path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &Folder{path: path, lock: lock}, nil
}

// hold makes the lock of a folder. It gets its name only when it is held: a
// process that starts at this moment finds either no lock or a held one.
func hold(path string) (*os.File, error) {
	if !canLock {
		return nil, nil //nolint:nilnil // there is none, which is no failure
	}
	name := filepath.Join(path, lockName)
	lock, err := os.OpenFile(name+".new", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = lock.WriteString(lockText)
	if err == nil {
		err = tryLock(lock)
	}
	if err == nil {
		err = os.Rename(lock.Name(), name)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// Path returns the path of the folder.
func (f *Folder) Path() string { return f.path }

// Close removes the folder.
func (f *Folder) Close() error {
	err := remove(f.path)
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
	}
	return err
}

// remove removes the lock last: a process that is killed meanwhile leaves a
// folder that can still be told to be ours.
func remove(path string) error {
	entries, err := os.ReadDir(path)
	errs := []error{err}
	for _, e := range entries {
		if e.Name() != lockName {
			errs = append(errs, os.RemoveAll(filepath.Join(path, e.Name())))
		}
	}
	if err := errors.Join(errs...); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(path)
}

// Sweep removes the folders in parent that [Make] made for processes that do
// not live any more, and returns how many. Folders without a lock of ours, of
// other users, and of living processes stay. Where the system has no locks that
// end with a process, all stay.
func Sweep(parent, prefix string) (removed int) {
	if !canLock {
		return 0
	}
	if parent == "" {
		parent = os.TempDir()
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), prefix)
		if ok && number != "" && strings.Trim(number, "0123456789") == "" && removed < most && abandoned(filepath.Join(parent, e.Name())) {
			removed++
		}
	}
	return removed
}

// abandoned removes a folder if nobody holds its lock.
func abandoned(path string) bool {
	if info, err := os.Lstat(path); err != nil || !info.IsDir() || !ours(info) {
		return false
	}
	name := filepath.Join(path, lockName)
	lock, err := openLock(name)
	if err != nil {
		return false
	}
	defer func() { _ = lock.Close() }() // it frees the lock
	text, err := io.ReadAll(io.LimitReader(lock, int64(len(lockText)+1)))
	if err != nil || !bytes.Equal(text, []byte(lockText)) || tryLock(lock) != nil {
		return false
	}
	// Another process may have removed the folder since, and a third one made one
	// of that name.
	held, err := lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(name)
	return err == nil && os.SameFile(held, there) && remove(path) == nil
}
