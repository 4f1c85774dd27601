package store

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStaleLock: a lock on a file that a logout has deleted has no effect, also if another login
// has created a new file.
func TestStaleLock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows deletes no open file, so that a lock cannot go stale")
	}
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	open := func() *os.File {
		file, err := root.OpenFile("a.lock", os.O_RDWR|os.O_CREATE, 0o600)
		require.NoError(t, err)
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	early := open()
	require.NoError(t, root.Remove("a.lock"))
	locked, err := claim(root, "a.lock", early)
	require.NoError(t, err)
	require.False(t, locked, "deleted")

	late := open()
	locked, err = claim(root, "a.lock", early)
	require.NoError(t, err)
	require.False(t, locked, "made again")
	locked, err = claim(root, "a.lock", late)
	require.NoError(t, err)
	require.True(t, locked)
	locked, err = claim(root, "a.lock", open())
	require.NoError(t, err)
	require.False(t, locked, "another has it")
}
