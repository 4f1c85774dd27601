//go:build (!unix && !windows) || aix || solaris || illumos

package store

import (
	"errors"
	"os"
)

// canLock refuses the file store on systems without file locks: two refreshes at the same time
// would lose a rotated token.
func canLock() error { return errors.ErrUnsupported }

func lockFile(*os.File) (bool, error) { return false, errors.ErrUnsupported }
