package toolcache_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func TestFileStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	f := &toolcache.FileStore{Dir: dir, Files: 3, MaxBytes: 2000}
	ctx := t.Context()
	k := func(i int) string { return fmt.Sprintf("%064x", i) }
	entry := func(n int) toolcache.Entry {
		list := `{"tools":[]}` + strings.Repeat(" ", n)
		return toolcache.Entry{List: []byte(list), Hash: hashOf(list), At: time.Unix(1_700_000_000, 5), Public: true}
	}
	e, err := f.Load(ctx, k(1))
	require.NoError(t, err)
	require.Nil(t, e.List, "nothing is there, the folder is not either")
	require.NoError(t, f.Forget(ctx, k(1)))
	ttl := 1500 * time.Millisecond
	want := entry(0)
	want.TTL = &ttl
	require.NoError(t, f.Save(ctx, k(1), want))
	e, err = f.Load(ctx, k(1))
	require.NoError(t, err)
	require.True(t, want.At.Equal(e.At))
	e.At = want.At
	require.Equal(t, want, e)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Join(dir, files(t, f)[0]))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		info, err = os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}
	require.ErrorContains(t, f.Save(ctx, k(1), entry(2000)), "2000 bytes")
	for _, bad := range []string{"", "../x", strings.Repeat("g", 64), strings.Repeat("A", 64), k(1)[1:]} {
		_, err := f.Load(ctx, bad)
		require.ErrorContains(t, err, "is not a key")
		require.Error(t, f.Save(ctx, bad, entry(0)))
		require.Error(t, f.Forget(ctx, bad))
	}
	_, err = (&toolcache.FileStore{}).Load(ctx, k(1))
	require.ErrorContains(t, err, "no folder")

	// The oldest files are removed first, and files of others stay. Old temporary files of
	// programs that exited while they saved are removed later.
	foreign := filepath.Join(dir, "notes.txt")
	left := filepath.Join(dir, k(9)+".tools.123")
	for _, path := range []string{foreign, left} {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Chtimes(path, time.Unix(0, 0), time.Unix(0, 0)))
	}
	for i := 1; i <= 5; i++ {
		require.NoError(t, f.Save(ctx, k(i), entry(0)))
		at := time.Unix(1_700_000_000+int64(i), 0)
		require.NoError(t, os.Chtimes(filepath.Join(dir, k(i)+".tools"), at, at))
	}
	require.Equal(t, []string{k(3) + ".tools", k(4) + ".tools", k(5) + ".tools", "notes.txt"}, files(t, f))
	require.NoError(t, f.Forget(ctx, k(4)))
	require.Len(t, files(t, f), 3)

	gone, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, f.Save(gone, k(1), entry(0)), context.Canceled)
}

// Programs that share a folder see whole files only.
func TestFileStoreShared(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tools")
	k := strings.Repeat("a", 64)
	var wg sync.WaitGroup
	for g := range 4 {
		f := &toolcache.FileStore{Dir: dir}
		list := `{"tools":[]}` + strings.Repeat(" ", g*10_000)
		wg.Go(func() {
			for range 50 {
				if err := f.Save(t.Context(), k, toolcache.Entry{List: []byte(list), Hash: hashOf(list)}); err != nil {
					t.Error(err)
				}
				if _, err := f.Load(t.Context(), k); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func files(t *testing.T, f *toolcache.FileStore) (names []string) {
	t.Helper()
	found, err := os.ReadDir(f.Dir)
	require.NoError(t, err)
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}

// newTestStore is a store in a folder that it makes itself.
func newTestStore(t *testing.T) *toolcache.FileStore {
	t.Helper()
	return &toolcache.FileStore{Dir: filepath.Join(t.TempDir(), "tools")}
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
