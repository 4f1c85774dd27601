//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package presence

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func enter(t *testing.T, dir string) *Self {
	t.Helper()
	s, err := Enter(dir)
	require.NoError(t, err)
	return s
}

func TestAlive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := enter(t, dir), enter(t, dir)
	for range 2 { // to ask does not end it
		require.True(t, a.Alive(b.ID))
		require.True(t, b.Alive(a.ID))
		require.True(t, a.Alive(a.ID))
	}
	require.NoError(t, b.Leave())
	require.False(t, a.Alive(b.ID))
	for _, id := range []string{"", "nobody", "../" + a.ID} {
		require.False(t, a.Alive(id), id)
	}

	// A kill leaves the file without its lock.
	c := enter(t, dir)
	require.NoError(t, c.file.Close())
	require.FileExists(t, c.path(c.ID))
	require.False(t, a.Alive(c.ID))
	require.NoFileExists(t, c.path(c.ID), "nothing is left of it")
	d := enter(t, dir)
	require.NoError(t, d.file.Close())
	e := enter(t, dir)
	require.NoFileExists(t, d.path(d.ID), "who enters clears up")
	require.True(t, e.Alive(a.ID))
	require.NoError(t, e.Leave())
	require.NoError(t, a.Leave())
	require.NoError(t, a.Leave(), "twice is once")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestEnter_Alone(t *testing.T) {
	t.Parallel()
	a, b := enter(t, ""), enter(t, "")
	require.NotEqual(t, a.ID, b.ID)
	require.True(t, a.Alive(a.ID))
	require.False(t, a.Alive(b.ID))
	require.NoError(t, a.Leave())
	_, err := Enter(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
