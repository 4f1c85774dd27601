//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package testmain

import (
	"errors"
	"os"
)

// redirect fails: here a process cannot replace its standard streams.
func redirect(*os.File) (func(), error) { return nil, errors.ErrUnsupported }
