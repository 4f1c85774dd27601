package repo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Folder is the only folder of a repository that is ever written to.
const Folder = "docs"

// maxFile bounds what is read of one document.
const maxFile = 4 << 20

// ErrEscape is the error when docs is a symbolic link: what is written through
// it might land anywhere.
var ErrEscape = errors.New("docs is not a folder of the repository itself")

// A Docs is the docs folder of a repository. Names are relative to it, and no
// symbolic link leads out of it. One that does not exist is empty.
type Docs struct {
	root *os.Root // of the repository
	docs *os.Root // nil while there is no docs folder
}

// Open opens the docs folder of the repository at root, without making it.
func Open(root string) (*Docs, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	d := &Docs{root: r}
	if err := d.enter(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = d.Close() // the first error is the one to report
		return nil, err
	}
	return d, nil
}

// enter opens the docs folder, if it is a real one.
func (d *Docs) enter() error {
	before, err := d.root.Lstat(Folder)
	if err != nil {
		return err
	}
	if !before.IsDir() {
		return ErrEscape
	}
	docs, err := d.root.OpenRoot(Folder)
	if err != nil {
		return err
	}
	// Between the two it may have become a link.
	if after, err := docs.Stat("."); err != nil || !os.SameFile(before, after) {
		_ = docs.Close() // nothing was written
		return ErrEscape
	}
	d.docs = docs
	return nil
}

// Close releases the folder.
func (d *Docs) Close() error {
	err := d.root.Close()
	if d.docs != nil {
		err = errors.Join(err, d.docs.Close())
	}
	return err
}

// Read returns a file of docs; one that is absent is [fs.ErrNotExist].
func (d *Docs) Read(name string) ([]byte, error) {
	return d.Head(name, maxFile)
}

// Head returns the beginning of a file, at most the given number of bytes. A
// longer file is no error, unless it is beyond what any document is.
func (d *Docs) Head(name string, most int64) ([]byte, error) {
	if d.docs == nil {
		return nil, fs.ErrNotExist
	}
	f, err := d.docs.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is not a document", name)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// List returns the names in a folder of docs, in byte order; none when the
// folder is absent.
func (d *Docs) List(folder string) ([]string, error) {
	if d.docs == nil {
		return nil, nil
	}
	entries, err := fs.ReadDir(d.docs.FS(), folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}
