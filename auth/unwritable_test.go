package auth_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// breakWrites makes writes of all records in a folder fail, also for root, and returns a function
// that repairs it. It puts a folder that is not empty where the new text of a record is written.
func breakWrites(t *testing.T, folder string) (mend func()) {
	t.Helper()
	records, err := filepath.Glob(filepath.Join(folder, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, records)
	var inTheWay []string
	for _, record := range records {
		at := strings.TrimSuffix(record, ".json") + ".new"
		require.NoError(t, os.MkdirAll(filepath.Join(at, "full"), 0o700))
		inTheWay = append(inTheWay, at)
	}
	return func() {
		for _, at := range inTheWay {
			require.NoError(t, os.RemoveAll(at))
		}
	}
}

// A program whose store cannot be written goes on with the tokens in memory, and writes them as
// soon as it can.
func TestUnwritableStore(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	folder := filepath.Join(t.TempDir(), "tokens")
	store, err := auth.OpenFiles(folder)
	require.NoError(t, err)
	c, err := dial(t, w, auth.Login(browser(t), auth.WithStore(store)))
	require.NoError(t, err)
	mend := breakWrites(t, folder)
	for range 3 { // each refresh token is spent, and the store has the first
		w.Revoke()
		require.NoError(t, once(t.Context(), c))
	}
	require.Equal(t, 3, w.Asked("refresh_token"))
	require.Zero(t, w.Lost())

	mend()
	w.Revoke()
	require.NoError(t, once(t.Context(), c))
	_, err = dial(t, w, auth.Login(auth.WithStore(store), auth.WithoutLogin()))
	require.NoError(t, err, "another process uses what was written")
	require.Equal(t, 4, w.Asked("refresh_token"))
	require.Zero(t, w.Lost())
	require.Equal(t, 1, w.Asked("authorize"))
}

// A record that another process wrote meanwhile has precedence over one that could not be written.
func TestUnwritableStoreOfTwo(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	folder := filepath.Join(t.TempDir(), "tokens")
	store, err := auth.OpenFiles(folder)
	require.NoError(t, err)
	c, err := dial(t, w, auth.Login(browser(t), auth.WithStore(store)))
	require.NoError(t, err)
	mend := breakWrites(t, folder)
	w.Revoke()
	require.NoError(t, once(t.Context(), c))
	mend()
	other, err := dial(t, w, auth.Login(browser(t), auth.WithStore(store), auth.WithNewLogin()))
	require.NoError(t, err)
	w.Revoke()
	require.NoError(t, once(t.Context(), other))
	refreshes := w.Asked("refresh_token")
	require.NoError(t, once(t.Context(), c), "with the token of the other")
	require.Equal(t, refreshes, w.Asked("refresh_token"))
	require.Zero(t, w.Lost())
}

// A program that logs in for other programs must learn that the token is not written.
func TestUnwritableLogin(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	folder := filepath.Join(t.TempDir(), "tokens")
	store, err := auth.OpenFiles(folder)
	require.NoError(t, err)
	_, err = dial(t, w, auth.Login(browser(t), auth.WithStore(store)))
	require.NoError(t, err)
	defer breakWrites(t, folder)()
	_, err = dial(t, w, auth.Login(browser(t), auth.WithStore(store), auth.WithNewLogin()))
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, auth.ReasonStore, e.Reason)
	require.Contains(t, err.Error(), "was not written")
	require.NotContains(t, err.Error(), "planted-secret")
}

// The same when the token of the login itself could not be written: nothing is in the store, or
// the token of an earlier login.
func TestUnwritableFromTheStart(t *testing.T) {
	t.Parallel()
	for name, empty := range map[string]bool{"nothing is stored": true, "an earlier login is stored": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			folder := filepath.Join(t.TempDir(), "tokens")
			store, err := auth.OpenFiles(folder)
			require.NoError(t, err)
			known := auth.WithClient("known", "", w.AS.URL)
			_, err = dial(t, w, auth.Login(browser(t), auth.WithStore(store), known))
			require.NoError(t, err)
			keys, err := store.List(t.Context())
			require.NoError(t, err)
			require.NoError(t, store.Update(t.Context(), keys[0], func(r auth.Record) (auth.Record, error) {
				r.Token.Access.Set("of-old-planted-secret")
				r.Token.Refresh.Set("of-old-planted-secret")
				return r, nil
			}))
			defer breakWrites(t, folder)()
			if empty {
				records, err := filepath.Glob(filepath.Join(folder, "*.json"))
				require.NoError(t, err)
				require.NoError(t, os.Remove(records[0]))
			}
			c, err := dial(t, w, auth.Login(browser(t), auth.WithStore(store), known))
			require.NoError(t, err)
			logins, lost := w.Asked("authorize"), w.Lost()
			for range 3 {
				w.Revoke()
				require.NoError(t, once(t.Context(), c))
			}
			require.Equal(t, logins, w.Asked("authorize"))
			require.Equal(t, lost, w.Lost())
		})
	}
}

// After another process has logged out, a token that is refused leads to a login.
func TestLoggedOutElsewhere(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	store := auth.NewMemory()
	c, err := dial(t, w, auth.Login(browser(t), auth.WithStore(store)))
	require.NoError(t, err)
	quiet, err := dial(t, w, auth.Login(auth.WithStore(store), auth.WithoutLogin()))
	require.NoError(t, err)
	found, err := auth.Login(auth.WithStore(store)).Logout(t.Context(), w.MCP.URL+"/mcp")
	require.NoError(t, err)
	require.True(t, found)
	require.ErrorIs(t, once(t.Context(), quiet), auth.ErrNotLoggedIn)
	require.NoError(t, once(t.Context(), c))
	require.Equal(t, 2, w.Asked("authorize"))
	require.Zero(t, w.Lost())
}

// A logout also revokes the tokens in memory, because the store has older ones.
func TestLogoutOfWhatIsNotWritten(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	folder := filepath.Join(t.TempDir(), "tokens")
	store, err := auth.OpenFiles(folder)
	require.NoError(t, err)
	a := auth.Login(browser(t), auth.WithStore(store))
	c, err := dial(t, w, a)
	require.NoError(t, err)
	mend := breakWrites(t, folder)
	w.Revoke()
	require.NoError(t, once(t.Context(), c))
	token, err := a.Token(t.Context(), w.MCP.URL+"/mcp")
	require.NoError(t, err)
	require.True(t, w.Accepts(token))
	mend()
	found, err := a.Logout(t.Context(), w.MCP.URL+"/mcp")
	require.NoError(t, err)
	require.True(t, found)
	require.False(t, w.Accepts(token), "the token can still be used")
}
