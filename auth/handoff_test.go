package auth_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// handedOff begins a login, and returns what the person needs.
func handedOff(t *testing.T, w *authtest.World, opts ...auth.Option) *auth.LoginPendingError {
	t.Helper()
	_, err := dial(t, w, auth.HandOff(opts...))
	var out *auth.LoginPendingError
	require.ErrorAs(t, err, &out)
	require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(err))
	require.Equal(t, w.AS.URL, out.Issuer)
	require.WithinRange(t, out.Expires, time.Now().Add(time.Minute), time.Now().Add(11*time.Minute))
	return out
}

// elsewhere opens the page in a browser on another machine, and returns the address
// where it ends.
func elsewhere(t *testing.T, page string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page, nil)
	require.NoError(t, err)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.Header.Get("Location")
}

func TestHandOff(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	server := w.MCP.URL + "/mcp"
	folder := t.TempDir() + "/tokens"
	store := func() auth.Option { // of another process each time
		s, err := auth.OpenFiles(folder)
		require.NoError(t, err)
		return auth.WithStore(s)
	}
	out := handedOff(t, w, store())
	require.Equal(t, server, out.Server)
	require.Zero(t, w.Asked("authorize"))
	_, err := dial(t, w, auth.Login(store(), auth.WithoutLogin()))
	require.ErrorIs(t, err, auth.ErrNotLoggedIn, "a login that was begun is no login")

	address := elsewhere(t, out.URL)
	require.True(t, strings.HasPrefix(address, out.Redirect+"?"), address)
	require.NoError(t, auth.HandOff(store()).Finish(t.Context(), server, address))
	_, err = dial(t, w, auth.Login(store(), auth.WithoutLogin()))
	require.NoError(t, err)

	require.ErrorIs(t, auth.HandOff(store()).Finish(t.Context(), server, address), auth.ErrNoLogin, "a replay")

	t.Run("the tokens of an earlier login stay until the next one is finished", func(t *testing.T) {
		out := handedOff(t, w, store(), auth.WithNewLogin())
		require.Equal(t, 1, w.Asked("register"), "the registration is used again")
		_, err := dial(t, w, auth.Login(store(), auth.WithoutLogin()))
		require.NoError(t, err)
		a := auth.Login(store(), auth.WithoutLogin())
		before, err := a.Token(t.Context(), server)
		require.NoError(t, err)
		require.NoError(t, a.Finish(t.Context(), server, elsewhere(t, out.URL)))
		after, err := a.Token(t.Context(), server)
		require.NoError(t, err)
		require.NotEqual(t, before, after)
	})
}

// A server that wants a new scope after each login gets four pages in ten minutes, though
// the person finishes each login.
func TestHandOffsInVain(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	var wanted atomic.Int32
	w.ScopeForEach([]string{"tool"}, func(string, []string) string { return "s" + strconv.Itoa(int(wanted.Add(1))) })
	a := auth.HandOff()
	pages := 0
	finish := func(err error) bool {
		t.Helper()
		var out *auth.LoginPendingError
		if !errors.As(err, &out) {
			return false
		}
		pages++
		require.NoError(t, a.Finish(t.Context(), w.MCP.URL+"/mcp", elsewhere(t, out.URL)))
		return true
	}
	_, err := dial(t, w, a)
	require.True(t, finish(err))
	c, err := dial(t, w, a)
	require.NoError(t, err)
	for range 20 {
		if _, err = c.CallTool(t.Context(), "tool", map[string]any{}); !finish(err) {
			break
		}
	}
	require.Equal(t, 4, pages)
	require.ErrorContains(t, err, "did not help")
	require.Positive(t, mcperrors.RetryAfter(err))
}

// A person may be busy with the page of a login that was begun: the next run names the
// same page, unless it was asked for another one.
func TestHandOffOnce(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	store := auth.WithStore(auth.NewMemory())
	first := handedOff(t, w, store)
	again := handedOff(t, w, store)
	require.Equal(t, first.URL, again.URL)
	require.True(t, first.Expires.Equal(again.Expires))
	require.NotEqual(t, first.URL, handedOff(t, w, store, auth.WithScopes("more")).URL)
	other := handedOff(t, w, store, auth.WithRedirect("http://localhost:0/elsewhere"))
	require.Contains(t, other.Redirect, "/elsewhere")
}

func TestHandOffRefusesAddresses(t *testing.T) {
	t.Parallel()
	with := func(address, name, value string) string {
		u, _ := url.Parse(address)
		q := u.Query()
		q.Set(name, value)
		u.RawQuery = q.Encode()
		return u.String()
	}
	for name, tt := range map[string]struct {
		address func(string) string
		server  string // after the origin
		opts    []auth.Option
		is      error
		says    string
		again   bool // the right address still finishes the login
	}{
		"a forged state":                   {address: func(a string) string { return with(a, "state", "forged") }, is: auth.ErrOtherLogin, again: true},
		"no state":                         {address: func(a string) string { return with(a, "state", "") }, is: auth.ErrOtherLogin, again: true},
		"no address":                       {address: func(string) string { return "nonsense" }, says: "was the login completed?", again: true},
		"an answer of another issuer":      {address: func(a string) string { return with(a, "iss", "https://evil.example") }, says: "comes from another authorization server"},
		"an answer that names no issuer":   {address: func(a string) string { return strings.Replace(a, "iss=", "not=", 1) }, says: "does not say that it comes from"},
		"a refusal":                        {address: func(a string) string { return with(strings.Replace(a, "code=", "not=", 1), "error", "access_denied") }, says: "access_denied"},
		"a code of somebody else":          {address: func(a string) string { return with(a, "code", "stolen") }, says: "invalid_grant"},
		"another principal":                {opts: []auth.Option{auth.WithPrincipal("other")}, is: auth.ErrNoLogin, again: true},
		"another server of the same host":  {server: "/mcp/other", is: auth.ErrNoLogin, again: true},
		"an issuer that is not configured": {opts: []auth.Option{auth.WithClient("x", "", "https://else.example")}, is: auth.ErrNoLogin, again: true},
	} {
		refused := func(t *testing.T, redirect string) {
			t.Parallel()
			w := authtest.New(t)
			store := auth.NewMemory()
			out := handedOff(t, w, auth.WithStore(store), auth.WithRedirect(redirect))
			address := elsewhere(t, out.URL)
			wrong, server := address, w.MCP.URL+"/mcp"
			if tt.address != nil {
				wrong = tt.address(address)
			}
			if tt.server != "" {
				server = w.MCP.URL + tt.server
			}
			err := auth.Login(append(tt.opts, auth.WithStore(store))...).Finish(t.Context(), server, wrong)
			var why *auth.Error
			require.ErrorAs(t, err, &why)
			require.NotContains(t, err.Error(), "planted-secret")
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
			require.ErrorContains(t, err, tt.says)
			err = auth.Login(auth.WithStore(store)).Finish(t.Context(), w.MCP.URL+"/mcp", address)
			if tt.again {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, auth.ErrNoLogin)
			}
		}
		t.Run(name, func(t *testing.T) { refused(t, "http://127.0.0.1/callback") })
		t.Run(name+", for a web application", func(t *testing.T) { refused(t, "https://app.example/callback") })
	}
}

func TestHandOffExpires(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	store := auth.NewMemory()
	out := handedOff(t, w, auth.WithStore(store))
	keys, err := store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.NoError(t, store.Update(t.Context(), keys[0], func(r auth.Record) (auth.Record, error) {
		r.Pending.Expires = time.Now().Add(-time.Second)
		return r, nil
	}))
	address := elsewhere(t, out.URL)
	err = auth.Login(auth.WithStore(store)).Finish(t.Context(), w.MCP.URL+"/mcp", address)
	require.ErrorIs(t, err, auth.ErrLoginExpired)
	require.Zero(t, w.Asked("authorization_code"))
	err = auth.Login(auth.WithStore(store)).Finish(t.Context(), w.MCP.URL+"/mcp", address)
	require.ErrorIs(t, err, auth.ErrNoLogin)
}

func TestHandOffHidesItsSecrets(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	store := auth.NewMemory()
	out := handedOff(t, w, auth.WithStore(store))
	keys, err := store.List(t.Context())
	require.NoError(t, err)
	r, err := store.Load(t.Context(), keys[0])
	require.NoError(t, err)
	require.NotEmpty(t, r.Pending.Verifier.Text())
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %s", r, r, r.Pending, *r.Pending), out.Error()} {
		require.NotContains(t, text, r.Pending.Verifier.Text())
		require.NotContains(t, text, r.Pending.State.Text())
	}
	text, err := r.Encode(keys[0])
	require.NoError(t, err)
	_, again, err := auth.DecodeRecord(text)
	require.NoError(t, err)
	require.Equal(t, *r.Pending, *again.Pending)
}
