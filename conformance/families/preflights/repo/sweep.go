package repo

import (
	"errors"
	"path"
	"strings"
)

// What is written beside its place is called after it, with these around.
const (
	tempPrefix = "."
	tempSuffix = ".tmp"
)

// Sweep removes from folders what a process that was killed left beside the
// places of documents. It belongs to the holder of the repository's lock, which
// says that nobody is writing there.
func (d *Docs) Sweep(folders ...string) error {
	var errs []error
	for _, folder := range folders {
		names, err := d.List(folder)
		errs = append(errs, err)
		for _, name := range names {
			if !strings.HasPrefix(name, tempPrefix) || !strings.HasSuffix(name, ".md"+tempSuffix) {
				continue
			}
			name = path.Join(folder, name)
			if info, err := d.docs.Lstat(name); err == nil && info.Mode().IsRegular() {
				errs = append(errs, d.docs.Remove(name))
			}
		}
	}
	return errors.Join(errs...)
}
