//go:build (!unix && !windows) || aix || solaris || illumos

package store

import (
	"errors"
	"os"
)

// canLock refuses the file store where processes cannot lock each other out: two refreshes at
// once would lose a rotated token.
func canLock() error { return errors.ErrUnsupported }

func lockFile(*os.File) (bool, error) { return false, errors.ErrUnsupported }
