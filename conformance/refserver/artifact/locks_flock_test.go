//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package artifact

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A lock is free as soon as it is given up, although a program that is being started
// has a copy of its file.
func TestUnlock(t *testing.T) {
	t.Parallel()
	root, err := openTree(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	first, err := lockFile(root, "PRD-001")
	require.NoError(t, err)
	locked, err := tryLock(first)
	require.NoError(t, err)
	require.True(t, locked)
	inherited, err := syscall.Dup(int(first.Fd()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(inherited) })
	unlock(first)
	second, err := lockFile(root, "PRD-001")
	require.NoError(t, err)
	defer unlock(second)
	locked, err = tryLock(second)
	require.NoError(t, err)
	require.True(t, locked)
}
