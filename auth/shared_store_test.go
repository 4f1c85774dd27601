package auth_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// Two URLs of one resource share the key of the store, so that a login for one deletes
// that for the other.
func TestTwoURLsOfOneResource(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (w *authtest.World, s auth.Store, a *auth.Authorizer, first, second string, c *client.Client) {
		w = authtest.New(t)
		s = auth.NewMemory()
		a = auth.Login(browser(t), auth.WithStore(s))
		first, second = w.MCP.URL+"/mcp?tenant=a", w.MCP.URL+"/mcp?tenant=b"
		c, err := dialAt(t, first, a)
		require.NoError(t, err)
		_, err = dialAt(t, second, a)
		require.NoError(t, err)
		require.Equal(t, 2, w.Asked("authorize"))
		return w, s, a, first, second, c
	}
	t.Run("the next run is logged in at both", func(t *testing.T) {
		t.Parallel()
		_, s, _, first, second, _ := begin(t)
		_, err := dialAt(t, second, auth.Login(nobody(), auth.WithStore(s)))
		require.NoError(t, err)
		_, err = dialAt(t, first, auth.Login(nobody(), auth.WithStore(s)))
		require.NoError(t, err)
	})
	t.Run("a renewal does not take the token of the other", func(t *testing.T) {
		t.Parallel()
		w, _, a, first, second, c := begin(t)
		delete(w.Access, tokenAt(t, a, first))
		_, err := c.CallTool(t.Context(), "echo", map[string]any{})
		require.NoError(t, err)
		require.NotEqual(t, tokenAt(t, a, first), tokenAt(t, a, second))
	})
	t.Run("a logout at the first is one", func(t *testing.T) {
		t.Parallel()
		w, s, _, first, _, _ := begin(t)
		found, err := auth.Login(auth.WithStore(s)).Logout(t.Context(), first)
		require.NoError(t, err)
		require.True(t, found)
		require.NotZero(t, w.Asked("revoke"))
	})
}

// A program that runs already, and must not ask, uses the login of another program.
func TestLoginOfAnotherProgram(t *testing.T) {
	t.Parallel()
	t.Run("WithoutLogin", func(t *testing.T) {
		t.Parallel()
		w := authtest.New(t)
		s := auth.NewMemory()
		waits := auth.Login(auth.WithoutLogin(), auth.WithStore(s))
		_, err := dial(t, w, waits)
		require.ErrorIs(t, err, auth.ErrNotLoggedIn)
		_, err = dial(t, w, auth.Login(browser(t), auth.WithStore(s)))
		require.NoError(t, err)
		_, err = dial(t, w, waits)
		require.NoError(t, err, "it never looks into the store again")
	})
	t.Run("HandOff", func(t *testing.T) {
		t.Parallel()
		w := authtest.New(t)
		s := auth.NewMemory()
		waits := auth.HandOff(auth.WithStore(s))
		_, err := dial(t, w, waits)
		var out *auth.LoginPendingError
		require.ErrorAs(t, err, &out)
		require.NoError(t, auth.HandOff(auth.WithStore(s)).Finish(t.Context(), w.MCP.URL+"/mcp", elsewhere(t, out.URL)))
		_, err = dial(t, w, waits)
		require.NoError(t, err)
	})
}

// A process that has the record and is stopped (Ctrl-Z) does not block the others.
func TestRenewalWaitsForAnotherProcessWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := auth.NewMemory()
		key := auth.Key{Server: "https://mcp.example/mcp", Issuer: "https://as.example", Resource: "https://mcp.example/mcp", ClientID: "c"}
		require.NoError(t, s.Update(t.Context(), key, func(r auth.Record) (auth.Record, error) {
			r.Token = grant.Token{Access: grant.Hide("a"), Refresh: grant.Hide("r"), Expiry: time.Now().Add(-time.Hour)}
			r.Client.ClientID, r.Server.TokenURL = "c", "https://as.example/token"
			return r, nil
		}))
		held, release := make(chan struct{}), make(chan struct{})
		go func() {
			_ = s.Update(t.Context(), key, func(r auth.Record) (auth.Record, error) {
				close(held)
				<-release
				return r, nil
			})
		}()
		<-held
		a := auth.Login(auth.WithStore(s), auth.WithoutLogin())
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		began := time.Now()
		_, err := a.Token(ctx, "https://mcp.example/mcp")
		took := time.Since(began)
		_ = a.Close() // does not end it either
		close(release)
		synctest.Wait()
		require.Error(t, err)
		require.Less(t, took, time.Hour, "only the end of the caller's context ended it: %v", err)
	})
}

// brokenStore is a store whose writes fail, as a locked keychain or a full disk.
type brokenStore struct {
	auth.Store
	broken atomic.Bool
	err    error
}

func (b *brokenStore) Update(ctx context.Context, key auth.Key, change func(auth.Record) (auth.Record, error)) error {
	if !b.broken.Load() {
		return b.Store.Update(ctx, key, change)
	}
	before, err := b.Load(ctx, key)
	if err != nil && !errors.Is(err, auth.ErrNotFound) {
		return err
	}
	was, err := before.Encode(key)
	if err != nil {
		return err
	}
	after, err := change(before)
	if err != nil {
		return err
	}
	if is, err := after.Encode(key); err != nil || string(is) == string(was) {
		return err // nothing to write
	}
	return b.err
}

// Stores of applications have their own errors. For any error, the program continues with the
// token in memory, as with the stores of this package.
func TestStoreOfTheApplicationCannotWrite(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"from the start": true, "later": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			s := &brokenStore{Store: auth.NewMemory(), err: errors.New("the keychain is locked")}
			s.broken.Store(early)
			c, err := dial(t, w, auth.Login(browser(t), auth.WithStore(s)))
			require.NoError(t, err)
			s.broken.Store(true)
			for range 2 {
				w.Revoke()
				_, err = c.CallTool(t.Context(), "echo", map[string]any{})
				require.NoError(t, err)
			}
			require.Equal(t, 1, w.Asked("authorize"), "the person logged in again although there was a refresh token")
			require.Equal(t, 2, w.Asked("refresh_token"))
		})
	}
}

// One damaged file does not prevent logins at all servers.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	folder := t.TempDir() + "/tokens"
	require.NoError(t, os.MkdirAll(folder, 0o700))
	s, err := auth.OpenFiles(folder)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(folder+"/"+strings.Repeat("ab", 32)+".json", []byte("{"), 0o600)) // of any server
	_, err = dial(t, w, auth.Login(browser(t), auth.WithStore(s)))
	require.NoError(t, err)
}
