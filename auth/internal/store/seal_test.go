package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/store"
)

// TestSealed: a sealed file reveals nothing of its record. A file that was changed, moved or sealed
// with another key is refused.
func TestSealed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tokens")
	s, err := store.NewSealed(dir, key('k'))
	require.NoError(t, err)
	other := someone
	other.Principal = "bob"
	require.NoError(t, s.Update(t.Context(), someone, put(full())))
	require.NoError(t, s.Update(t.Context(), other, put(full())))
	files, err := filepath.Glob(filepath.Join(dir, "*.sealed"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	texts := map[string][]byte{}
	for _, file := range files {
		texts[file], err = os.ReadFile(file)
		require.NoError(t, err)
		for _, part := range []string{secret, "as.example", "ann", "bob"} {
			require.NotContains(t, string(texts[file]), part)
		}
	}

	refused := func(t *testing.T, s store.Store, reason string) {
		t.Helper()
		_, err := s.Load(t.Context(), someone)
		var damaged *store.DamagedError
		require.ErrorAs(t, err, &damaged)
		require.Contains(t, damaged.Error(), reason)
		require.NotContains(t, damaged.Error(), secret)
		require.ErrorAs(t, s.Update(t.Context(), someone, put(store.Record{})), &damaged, "it is not replaced")
	}
	t.Run("another key", func(t *testing.T) {
		s, err := store.NewSealed(dir, key('l'))
		require.NoError(t, err)
		refused(t, s, "sealed with another key")
		keys, err := s.List(t.Context())
		require.Error(t, err)
		require.Empty(t, keys)
	})
	for _, test := range []struct {
		name, reason string
		change       func(own, others []byte) []byte
	}{
		{"empty", "not a sealed record", func(_, _ []byte) []byte { return nil }},
		{"plain text", "not a sealed record", func(_, _ []byte) []byte { return []byte(`{"version": 1}`) }},
		{"torn", "it was changed", func(own, _ []byte) []byte { return own[:len(own)/2] }},
		{"head alone", "it was changed", func(own, _ []byte) []byte { return own[:25] }},
		{"one bit", "it was changed", func(own, _ []byte) []byte {
			changed := slices.Clone(own)
			changed[len(own)/2] ^= 1
			return changed
		}},
		{"that of another key", "it was changed", func(_, others []byte) []byte { return others }},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(files[0], test.change(texts[files[0]], texts[files[1]]), 0o600))
			require.NoError(t, os.WriteFile(files[1], test.change(texts[files[1]], texts[files[0]]), 0o600))
			refused(t, s, test.reason)
		})
	}
	_, err = store.NewSealed(dir, []byte("short"))
	require.ErrorContains(t, err, "5 bytes in place of 32")
}

// TestSealedBesidePlain: both kinds may share a folder. Neither sees the records of the other, and
// they share the locks.
func TestSealedBesidePlain(t *testing.T) {
	plain, dir, _ := saved(t)
	sealed, err := store.NewSealed(dir, key('k'))
	require.NoError(t, err)
	keys, err := sealed.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, keys)
	require.NoError(t, sealed.Update(t.Context(), someone, put(store.Record{Login: "sealed"})))
	require.NoError(t, plain.Delete(t.Context(), someone))
	r, err := sealed.Load(t.Context(), someone)
	require.NoError(t, err)
	require.Equal(t, "sealed", r.Login)
}
