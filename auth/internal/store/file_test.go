package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/store"
)

// saved returns a file store with one record, its folder and the file of the record.
func saved(t *testing.T) (s store.Store, dir, file string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "state", "tokens")
	s, err := store.NewFile(dir)
	require.NoError(t, err)
	require.NoError(t, s.Update(t.Context(), someone, put(full())))
	found, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return s, dir, found[0]
}

func TestFilesAreOfTheUserAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("access lists, not bits: the rights of files are not tested on Windows")
	}
	_, dir, _ := saved(t)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "a record and its lock")
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode(), entry.Name())
		for _, part := range []string{"ann", "example", "c1"} {
			require.NotContains(t, entry.Name(), part)
		}
	}
}

// TestDamagedFiles: a damaged file is neither used nor replaced. Its error names the file and what to
// do, and shows none of its content. Only Delete removes it.
func TestDamagedFiles(t *testing.T) {
	rewrite := func(change func(string) string) func(t *testing.T, file string) {
		return func(t *testing.T, file string) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, []byte(change(string(text))), 0o600))
		}
	}
	for _, test := range []struct {
		name   string
		reason string
		unix   bool
		damage func(t *testing.T, file string)
	}{
		{"empty", "not the JSON text", false, rewrite(func(string) string { return "" })},
		{"torn", "not the JSON text", false, rewrite(func(s string) string { return s[:len(s)/2] })},
		{"zeros", "not the JSON text", false, rewrite(func(s string) string { return strings.Repeat("\x00", len(s)) })},
		{"other type", "not the JSON text", false, rewrite(func(s string) string { return strings.Replace(s, `"`+secret+`-refresh"`, "17", 1) })},
		{"other version", "version 2", false, rewrite(func(s string) string { return strings.Replace(s, `"version": 1`, `"version": 2`, 1) })},
		{"other key", "another login", false, rewrite(func(s string) string { return strings.Replace(s, "mcp.example", "evil.example", 1) })},
		{"too large", "too large", false, rewrite(func(s string) string { return s + strings.Repeat(" ", 5<<20) })},
		{"folder", "not a regular file", false, func(t *testing.T, file string) {
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.Mkdir(file, 0o700))
		}},
		{"link out of the folder", "not a regular file", true, func(t *testing.T, file string) {
			outside := filepath.Join(filepath.Dir(filepath.Dir(file)), "stolen.json")
			require.NoError(t, os.Rename(file, outside))
			require.NoError(t, os.Symlink(outside, file))
		}},
		{"link in the folder", "not a regular file", true, func(t *testing.T, file string) {
			require.NoError(t, os.Rename(file, file+".moved"))
			require.NoError(t, os.Symlink(filepath.Base(file)+".moved", file))
		}},
		{"readable by the group", "other users", true, func(t *testing.T, file string) { require.NoError(t, os.Chmod(file, 0o640)) }},
		{"writable by others", "other users", true, func(t *testing.T, file string) { require.NoError(t, os.Chmod(file, 0o602)) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.unix && runtime.GOOS == "windows" {
				t.Skip("needs the rights and links of Unix")
			}
			s, _, file := saved(t)
			test.damage(t, file)
			before, err := os.Lstat(file)
			require.NoError(t, err)

			_, err = s.Load(t.Context(), someone)
			requireDamaged(t, err, file, test.reason)
			err = s.Update(t.Context(), someone, func(store.Record) (store.Record, error) {
				t.Error("a damaged record is not refreshed")
				return store.Record{}, nil
			})
			requireDamaged(t, err, file, test.reason)
			other := someone
			other.Principal = "bob"
			require.NoError(t, s.Update(t.Context(), other, put(full())))
			keys, err := s.List(t.Context())
			if test.name == "other key" { // List cannot know what the file should have
				require.NoError(t, err)
			} else {
				requireDamaged(t, err, file, test.reason)
				require.Equal(t, []store.Key{other}, keys)
			}

			after, err := os.Lstat(file)
			require.NoError(t, err)
			require.True(t, os.SameFile(before, after))
			require.Equal(t, before.ModTime(), after.ModTime())
			require.NoError(t, s.Delete(t.Context(), someone))
			_, err = s.Load(t.Context(), someone)
			require.ErrorIs(t, err, store.ErrNotFound)
			require.NoError(t, s.Update(t.Context(), someone, put(full())))
		})
	}
}

func requireDamaged(t *testing.T, err error, file, reason string) {
	t.Helper()
	var damaged *store.DamagedError
	require.ErrorAs(t, err, &damaged)
	require.Equal(t, file, damaged.Path)
	require.Contains(t, damaged.Reason, reason)
	require.Contains(t, err.Error(), "log in again")
	require.NotContains(t, err.Error(), secret)
	require.NotContains(t, err.Error(), "evil")
}

func TestExposedFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("access lists, not bits: the rights of folders are not tested on Windows")
	}
	for _, mode := range []os.FileMode{0o710, 0o702, 0o755, 0o777} {
		s, dir, _ := saved(t)
		require.NoError(t, os.Chmod(dir, mode))
		_, err := store.NewFile(dir)
		var damaged *store.DamagedError
		require.ErrorAs(t, err, &damaged)
		require.Equal(t, dir, damaged.Path)
		require.Contains(t, err.Error(), "chmod 700")
		_, err = s.Load(t.Context(), someone)
		require.ErrorAs(t, err, &damaged, "the folder is looked at each time")
		require.ErrorAs(t, s.Update(t.Context(), someone, put(full())), &damaged)
		_, err = s.List(t.Context())
		require.ErrorAs(t, err, &damaged)
	}
}

func TestNewFileFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	s, err := store.NewFile(file)
	require.Error(t, err)
	require.Nil(t, s)
	_, err = store.NewFile(filepath.Join(file, "below"))
	require.Error(t, err)
}

// TestLeftovers: files of a crash between two steps of a write neither break the next write nor
// count as records.
func TestLeftovers(t *testing.T) {
	for _, test := range []struct {
		name  string
		plant func(t *testing.T, file string)
	}{
		{"half of the new text", func(t *testing.T, file string) {
			require.NoError(t, os.WriteFile(file, []byte(`{"version": 1, "key`), 0o600))
		}},
		{"new text that others may read", func(t *testing.T, file string) {
			require.NoError(t, os.WriteFile(file, []byte(`{}`), 0o666))
		}},
		{"link", func(t *testing.T, file string) {
			target := filepath.Join(filepath.Dir(filepath.Dir(file)), "target")
			require.NoError(t, os.WriteFile(target, nil, 0o600))
			if err := os.Symlink(target, file); err != nil {
				t.Skip("no symbolic links here: ", err)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, dir, file := saved(t)
			left := strings.TrimSuffix(file, ".json") + ".new"
			test.plant(t, left)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.json"), []byte("mine"), 0o600))
			r, err := s.Load(t.Context(), someone)
			require.NoError(t, err)
			require.Equal(t, full().Token, r.Token)
			keys, err := s.List(t.Context())
			require.NoError(t, err)
			require.Equal(t, []store.Key{someone}, keys)

			require.NoError(t, s.Update(t.Context(), someone, func(r store.Record) (store.Record, error) {
				r.Token.Refresh.Set("rotated")
				return r, nil
			}))
			require.NoFileExists(t, left)
			info, err := os.Lstat(file)
			require.NoError(t, err)
			require.True(t, info.Mode().IsRegular())
			if text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "target")); err == nil {
				require.Empty(t, text, "nothing is written through a link")
			}
			require.NoError(t, s.Delete(t.Context(), someone))
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, 1, "only what is not ours is left")
		})
	}
}

// TestFailedWrite: the caller learns that the new token is not stored, and can keep it in memory.
func TestFailedWrite(t *testing.T) {
	s, dir, file := saved(t)
	left := strings.TrimSuffix(file, ".json") + ".new"
	err := s.Update(t.Context(), someone, func(r store.Record) (store.Record, error) {
		// A folder with a file in it can be neither removed nor written over.
		require.NoError(t, os.MkdirAll(filepath.Join(left, "x"), 0o700))
		r.Token.Refresh.Set("rotated")
		return r, nil
	})
	var write *store.WriteError
	require.ErrorAs(t, err, &write)
	require.Equal(t, file, write.Path)
	require.Error(t, errors.Unwrap(err))
	require.NotContains(t, err.Error(), "rotated")
	require.NoError(t, os.RemoveAll(left))
	r, err := s.Load(t.Context(), someone)
	require.NoError(t, err)
	require.Equal(t, full().Token.Refresh, r.Token.Refresh)
	require.DirExists(t, dir)
}

// TestFolderIsMissing: reading does not create the folder, writing does.
func TestFolderIsMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "tokens")
	s, err := store.NewFile(dir)
	require.NoError(t, err)
	_, err = s.Load(t.Context(), someone)
	require.ErrorIs(t, err, store.ErrNotFound)
	keys, err := s.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, keys)
	require.NoError(t, s.Delete(t.Context(), someone))
	require.NoDirExists(t, filepath.Dir(dir))
	require.NoError(t, s.Update(t.Context(), someone, put(full())))
	require.DirExists(t, dir)

	require.NoError(t, os.RemoveAll(dir))
	_, err = s.Load(t.Context(), someone)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.NoError(t, s.Update(t.Context(), someone, put(full())), "the next write makes it again")
}
