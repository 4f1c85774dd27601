package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two names that a file system takes for one do not become one file.
func TestWriteNewReplacesNothing(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	require.NoError(t, writeNew(root, "a/b.md", []byte("first")))
	require.ErrorIs(t, writeNew(root, "a/b.md", []byte("second")), os.ErrExist)
	content, err := root.ReadFile("a/b.md")
	require.NoError(t, err)
	require.Equal(t, "first", string(content))
	require.Error(t, writeNew(root, "../b.md", nil))
	require.Error(t, writeNew(root, "a/b.md/c", nil))
}
