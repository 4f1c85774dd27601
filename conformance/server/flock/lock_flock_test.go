//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package flock

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A lock is held against every other opening of the file, and is free as soon as it is
// given up, although a program that is being started has a copy of its file.
func TestLock(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		require.NoError(t, err)
		return f
	}
	try := func(f *os.File) bool {
		free, err := TryLock(f)
		require.NoError(t, err)
		return free
	}
	first, second := open(), open()
	defer Unlock(second)
	require.True(t, try(first))
	require.False(t, try(second))
	inherited, err := syscall.Dup(int(first.Fd()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(inherited) })
	Unlock(first)
	require.True(t, try(second))
	_, err = TryLock(first)
	require.Error(t, err, "a closed file cannot be locked")
}
