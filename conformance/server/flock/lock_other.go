//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package flock

import "os"

// Supported reports whether the system has such locks.
const Supported = false

// TryLock reports that every file is free, because nothing can be locked here.
func TryLock(*os.File) (bool, error) { return true, nil }

// Unlock closes f.
func Unlock(f *os.File) { _ = f.Close() } // only a handle
