//go:build !unix || solaris || aix

package scratch

import (
	"errors"
	"io/fs"
	"os"
)

// canLock is false where no lock of a file ends with its process.
const canLock = false

func tryLock(*os.File) error { return errors.ErrUnsupported }

func openLock(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func ours(fs.FileInfo) bool { return false }
