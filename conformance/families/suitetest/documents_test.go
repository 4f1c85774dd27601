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
	names, err := filepath.Glob("../checks/docling/fixtures/documents/*")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		ours, err := os.ReadFile(name)
		require.NoError(t, err)
		its, err := os.ReadFile(filepath.Join("..", "docling", "testdata", "corpus", filepath.Base(name)))
		require.NoError(t, err)
		require.Equal(t, its, ours, name)
	}
}
