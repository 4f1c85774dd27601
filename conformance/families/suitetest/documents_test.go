package suitetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocuments: the documents that the suite has a server convert are those that
// the reference server's own tests convert.
func TestDocuments(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "checks", "docling", "fixtures", "documents")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, e := range entries {
		ours, err := os.ReadFile(filepath.Join(folder, e.Name()))
		require.NoError(t, err)
		its, err := os.ReadFile(filepath.Join("..", "docling", "testdata", "corpus", e.Name()))
		require.NoError(t, err)
		require.Equal(t, its, ours, e.Name())
	}
}
