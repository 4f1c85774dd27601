package auth_test

import (
	"context"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// files returns one store in a folder for each of n programs.
func files(t *testing.T, n int) []auth.Store {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "tokens")
	stores := make([]auth.Store, n)
	for i := range stores {
		var err error
		stores[i], err = auth.OpenFiles(folder)
		require.NoError(t, err)
	}
	return stores
}

// Twenty programs that need a login at the same time open one page.
func TestSharedLogin(t *testing.T) {
	t.Parallel()
	const programs = 20
	for _, row := range []struct {
		name   string
		refuse bool
	}{{"the person logs in", false}, {"the person refuses", true}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			if row.refuse {
				w.Callback = func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") }
			}
			var pages atomic.Int64
			prompt := auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
				pages.Add(1)
				return visit(ctx, p.URL)
			})
			stores := files(t, programs+1)
			faults := make([]error, programs)
			var work sync.WaitGroup
			for i := range programs {
				work.Go(func() {
					a := auth.Login(auth.WithSharedLogins(), auth.WithStore(stores[i]), prompt)
					_, faults[i] = dial(t, w, a)
				})
			}
			work.Wait()
			require.EqualValues(t, 1, pages.Load())
			for _, err := range faults {
				if !row.refuse {
					require.NoError(t, err)
					continue
				}
				require.ErrorContains(t, err, "no access to "+w.MCP.URL)
				require.NotContains(t, err.Error(), "planted-secret")
			}
			if !row.refuse {
				require.Equal(t, 1, w.Asked("register"))
				return
			}
			_, err := dial(t, w, auth.Login(auth.WithSharedLogins(), auth.WithStore(stores[programs]), prompt))
			require.ErrorContains(t, err, "a person was asked to log in at ")
			require.EqualValues(t, 1, pages.Load(), "a later program asks nobody, either")

			w.Callback = nil
			_, err = dial(t, w, auth.Login(auth.WithSharedLogins(), auth.WithNewLogin(), auth.WithStore(stores[programs]), prompt))
			require.NoError(t, err, "a login that the person begins")
			w.Forget()
			_, err = dial(t, w, auth.Login(auth.WithSharedLogins(), auth.WithStore(stores[0]), prompt))
			require.NoError(t, err, "the refusal is forgotten")
			require.EqualValues(t, 3, pages.Load())
		})
	}
}

// While a page is open, the person logs in with another program.
func TestSharedLoginElsewhere(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	stores := files(t, 2)
	one := auth.Login(auth.WithSharedLogins(), auth.WithStore(stores[0]), auth.WithPrompt(func(ctx context.Context, _ auth.Prompt) error {
		_, err := dial(t, w, auth.Login(auth.WithSharedLogins(), auth.WithNewLogin(), auth.WithStore(stores[1]), browser(t)))
		return err
	}))
	_, err := dial(t, w, one)
	require.NoError(t, err)
	require.Equal(t, 1, w.Asked("authorize"))
}

// A page stays valid when its call is canceled, unless the prompt ends with the call.
func TestSharedLoginCanceled(t *testing.T) {
	t.Parallel()
	t.Run("the page stays", func(t *testing.T) {
		t.Parallel()
		w := authtest.New(t)
		ctx, cancel := context.WithCancel(t.Context())
		page := make(chan string, 1)
		a := auth.Login(auth.WithSharedLogins(), auth.WithPrompt(func(_ context.Context, p auth.Prompt) error {
			page <- p.URL
			cancel()
			return nil
		}))
		_, err := dialWith(ctx, t, w, a)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, visit(t.Context(), <-page))
		_, err = dial(t, w, a)
		require.NoError(t, err)
		require.Equal(t, 1, w.Asked("authorize"))
	})
	t.Run("a prompt that was withdrawn is no refusal", func(t *testing.T) {
		t.Parallel()
		w := authtest.New(t)
		var asked atomic.Int64
		a := auth.Login(auth.WithSharedLogins(), auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
			if asked.Add(1) == 1 {
				return context.Canceled
			}
			return visit(ctx, p.URL)
		}))
		_, err := dial(t, w, a)
		require.Error(t, err)
		_, err = dial(t, w, a)
		require.NoError(t, err)
	})
}

type attended struct{}

// Only calls that a person waits for lead to a login, and others do not wait for it.
func TestLoginFor(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	asked := make(chan struct{})
	checked := make(chan struct{})
	a := auth.Login(auth.WithSharedLogins(),
		auth.WithLoginFor(func(ctx context.Context) bool { return ctx.Value(attended{}) != nil }),
		auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
			close(asked)
			<-checked
			return visit(ctx, p.URL)
		}))
	_, err := dial(t, w, a)
	require.ErrorIs(t, err, auth.ErrNotLoggedIn)
	done := make(chan error, 1)
	go func() {
		c, err := client.Dial(context.WithValue(t.Context(), attended{}, true), w.MCP.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
		if err == nil {
			err = c.Close()
		}
		done <- err
	}()
	<-asked
	_, err = dial(t, w, a)
	close(checked)
	require.ErrorIs(t, err, auth.ErrNotLoggedIn)
	require.ErrorContains(t, err, "a person is logging in")
	require.NoError(t, <-done)

	bad := auth.Login(auth.WithLoginFor(nil))
	var own *auth.Error
	_, err = dial(t, w, bad)
	require.ErrorAs(t, err, &own)
	require.Equal(t, auth.ReasonOption, own.Reason)
}
