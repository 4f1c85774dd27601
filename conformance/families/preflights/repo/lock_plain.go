//go:build (!unix && !windows) || solaris || aix

package repo

import (
	"errors"
	"io/fs"
	"os"
)

// openAlone makes the file; it stays behind when the process dies, and is then
// to be removed by hand.
func openAlone(name string) (release func(), busy bool, err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, errors.Is(err, fs.ErrExist), err
	}
	_ = f.Close() // its existence is the lock
	return func() { _ = os.Remove(name) }, false, nil
}
