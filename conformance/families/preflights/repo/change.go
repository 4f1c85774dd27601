package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// The modes of documents: those that never change say so.
const (
	immutable = fs.FileMode(0o444)
	mutable   = fs.FileMode(0o644)
	folders   = fs.FileMode(0o755)
)

// A Change is a set of writes to docs that can be undone. It belongs to the
// holder of the repository's lock.
type Change struct {
	docs *Docs
	undo []func() error
}

// Begin begins a change.
func (d *Docs) Begin() *Change { return &Change{docs: d} }

// Undo takes everything back that the change did, the last first.
func (c *Change) Undo() error {
	var errs []error
	for i := len(c.undo) - 1; i >= 0; i-- {
		errs = append(errs, c.undo[i]())
	}
	c.undo = nil
	return errors.Join(errs...)
}

// Create writes a file that never changes again. It fails with [fs.ErrExist]
// rather than touch a file that is there. Readers take no lock, so the file
// must not be seen before it is complete: it is written beside its place and
// linked into it, which is as exclusive as O_EXCL. Where the file system knows
// no links, O_EXCL it is.
func (c *Change) Create(name string, data []byte) error {
	if err := c.folder(path.Dir(name)); err != nil {
		return err
	}
	root := c.docs.docs
	temp, err := c.beside(name, data, immutable)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	err = root.Link(temp, name)
	if rerr := root.Remove(temp); err == nil && rerr != nil {
		return errors.Join(rerr, root.Remove(name))
	}
	switch {
	case err == nil:
		c.undo = append(c.undo, func() error { return root.Remove(name) })
		return nil
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return c.createInPlace(name, data)
}

func (c *Change) createInPlace(name string, data []byte) error {
	root := c.docs.docs
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, immutable)
	if err != nil {
		return err
	}
	c.undo = append(c.undo, func() error { return root.Remove(name) })
	if err := fill(f, data); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Replace writes a file that may be there: a reader sees the old content or
// the new, never a part.
func (c *Change) Replace(name string, data []byte) error {
	if err := c.folder(path.Dir(name)); err != nil {
		return err
	}
	root := c.docs.docs
	mode := mutable
	old, err := c.docs.Read(name)
	switch {
	case err == nil:
		info, err := root.Stat(name)
		if err != nil {
			return err
		}
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	existed := err == nil
	if err := c.swap(name, data, mode); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c.undo = append(c.undo, func() error {
		if existed {
			return c.swap(name, old, mode)
		}
		return root.Remove(name)
	})
	return nil
}

// swap writes data beside name and renames it into its place.
func (c *Change) swap(name string, data []byte, mode fs.FileMode) error {
	temp, err := c.beside(name, data, mode)
	if err != nil {
		return err
	}
	root := c.docs.docs
	if err := root.Rename(temp, name); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// beside writes data to a file in the folder of name, and returns that file's
// name.
func (c *Change) beside(name string, data []byte, mode fs.FileMode) (temp string, err error) {
	root := c.docs.docs
	temp = path.Join(path.Dir(name), tempPrefix+path.Base(name)+tempSuffix)
	// Left from a crash; the lock says that nobody is at it.
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	if err := fill(f, data); err != nil {
		return "", errors.Join(err, root.Remove(temp))
	}
	return temp, nil
}

// fill writes data to the disk: a rename must not overtake them, or a power
// cut leaves an empty document.
func fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// folder makes a folder of docs, and docs itself, if they are not there.
func (c *Change) folder(name string) error {
	if c.docs.docs == nil {
		if err := c.docs.root.Mkdir(Folder, folders); err != nil {
			return err
		}
		c.undo = append(c.undo, func() error { return c.docs.root.Remove(Folder) })
		if err := c.docs.enter(); err != nil {
			return err
		}
	}
	if name == "." {
		return nil
	}
	if err := c.folder(path.Dir(name)); err != nil {
		return err
	}
	err := c.docs.docs.Mkdir(name, folders)
	if err == nil {
		c.undo = append(c.undo, func() error { return c.docs.docs.Remove(name) })
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, serr := c.docs.docs.Lstat(name)
	if serr != nil || !info.IsDir() {
		return err // a file or a link where the folder should be
	}
	return nil
}
