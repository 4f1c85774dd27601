//go:build unix

package toolcache_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Files that another user could have written are not read, and no file can block a fetch.
func TestFileStoreIsForOneUser(t *testing.T) {
	t.Parallel()
	k := strings.Repeat("a", 64)
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, dir, file string)
		dir   bool // the folder is spoiled: it is not written to either
	}{
		"a pipe": {spoil: func(t *testing.T, _, file string) {
			require.NoError(t, os.Remove(file))
			require.NoError(t, syscall.Mkfifo(file, 0o600))
		}},
		"a link": {spoil: func(t *testing.T, dir, file string) {
			require.NoError(t, os.Rename(file, filepath.Join(dir, "other")))
			require.NoError(t, os.Symlink("other", file))
		}},
		"the file of another": {spoil: func(t *testing.T, _, file string) { give(t, file) }},
		"open to others":      {dir: true, spoil: func(t *testing.T, dir, _ string) { require.NoError(t, os.Chmod(dir, 0o777)) }},
		"the folder of another": {dir: true, spoil: func(t *testing.T, dir, _ string) {
			give(t, dir)
		}},
		"the folder is a link": {dir: true, spoil: func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Rename(dir, dir+"2"))
			require.NoError(t, os.Symlink(dir+"2", dir))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTestStore(t)
			f.Files = -1 // as none given
			list := `{"tools":[]}`
			entry := toolcache.Entry{List: []byte(list), Hash: hashOf(list)}
			require.NoError(t, f.Save(t.Context(), k, entry))
			tt.spoil(t, f.Dir, filepath.Join(f.Dir, k+".tools"))
			e, err := f.Load(t.Context(), k)
			require.Error(t, err)
			require.Nil(t, e.List)
			err = f.Save(t.Context(), k, entry)
			require.Equal(t, tt.dir, err != nil, "%v", err)
			if !tt.dir {
				e, err = f.Load(t.Context(), k)
				require.NoError(t, err)
				require.Equal(t, entry.List, e.List, "it was replaced")
			}
		})
	}
}

// give makes a file another user's, which only root can.
func give(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	require.NoError(t, os.Chown(path, 65534, 65534))
}
