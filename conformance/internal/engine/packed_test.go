package engine

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnpack: each packed text is the text that lies beside it.
func TestUnpack(t *testing.T) {
	t.Parallel()
	found := 0
	require.NoError(t, filepath.WalkDir(filepath.Join("..", ".."), func(path string, _ fs.DirEntry, err error) error {
		source, isPacked := strings.CutSuffix(path, ".txt.gz")
		if err != nil || !isPacked {
			return err
		}
		found++
		packed, err := os.ReadFile(path)
		require.NoError(t, err)
		text, err := os.ReadFile(source + ".txt")
		require.NoError(t, err)
		got, err := Unpack(string(packed))
		require.NoError(t, err, path)
		require.True(t, string(text) == got, "%s is not %s.txt: go generate ./conformance/...", path, source) //nolint:testifylint // no diff of 100 kB
		return nil
	}))
	require.Positive(t, found)
	_, err := Unpack("plain text")
	require.Error(t, err)
}
