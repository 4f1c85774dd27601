package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

type principal struct{}

// as is the context of a principal.
func as(t *testing.T, name string) context.Context {
	return context.WithValue(t.Context(), principal{}, name)
}

func byContext(ctx context.Context) (string, error) {
	name, _ := ctx.Value(principal{}).(string)
	return name, nil
}

// loggedInAs opens the page of a login as somebody, and returns the address where the
// browser ends.
func loggedInAs(t *testing.T, page, name string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page, nil)
	require.NoError(t, err)
	req.SetBasicAuth(name, "")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.Header.Get("Location")
}

// ofMany is an Authorizer for many principals.
func ofMany(opts ...auth.Option) *auth.Authorizer {
	return auth.HandOff(append(opts, auth.WithPrincipals(byContext), auth.WithRedirect("https://app.example/callback"))...)
}

// logIn logs in principals, and returns a client that the first of them opened.
func logIn(t *testing.T, w *authtest.World, a *auth.Authorizer, names ...string) *client.Client {
	t.Helper()
	server := w.MCP.URL + "/mcp"
	var c *client.Client
	for _, name := range names {
		ctx := as(t, name)
		var err error
		if c == nil {
			_, err = client.Dial(ctx, server, append(watched(), client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))...)
		} else {
			_, err = c.CallTool(ctx, "echo", map[string]any{})
		}
		var out *auth.LoginPendingError
		tell(err, ctx)
		require.ErrorAs(t, err, &out)
		require.NoError(t, a.Finish(ctx, server, loggedInAs(t, out.URL, name)))
		if c == nil {
			c, err = client.Dial(ctx, server, append(watched(), client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))...)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, c.Close()) })
		}
	}
	tell(a, c)
	return c
}

// One Authorizer and one client serve several people. Tokens, lists of tools and results
// are those of the person whose context a call has.
func TestPrincipals(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	server, store := w.MCP.URL+"/mcp", auth.NewMemory()
	a := ofMany(auth.WithStore(store))
	c := logIn(t, w, a, "ada", "bob")
	require.Len(t, w.Registered(), 1, "the program registers itself once")
	for range 2 {
		for _, name := range []string{"ada", "bob"} {
			result, err := c.CallTool(as(t, name), "only-"+name, map[string]any{"as": name})
			require.NoError(t, err)
			require.Equal(t, "done for "+name, result.Text())
		}
		_, err := c.CallTool(as(t, "ada"), "only-bob", map[string]any{})
		require.ErrorContains(t, err, "only-bob", "ada's list has no such tool")
		w.Revoke() // the next round renews the tokens
	}
	for _, r := range w.Requests() {
		if string(r.Arguments) != "{}" && r.Arguments != nil {
			require.JSONEq(t, fmt.Sprintf(`{"as": %q}`, r.Subject), string(r.Arguments))
		}
	}

	ada, err := a.Token(as(t, "ada"), server)
	require.NoError(t, err)
	bob, err := a.Token(as(t, "bob"), server)
	require.NoError(t, err)
	require.NotEqual(t, ada, bob)
	found, err := a.Logout(as(t, "ada"), server)
	require.NoError(t, err)
	require.True(t, found)
	_, err = a.Token(as(t, "ada"), server)
	require.ErrorIs(t, err, auth.ErrNotLoggedIn)
	again, err := a.Token(as(t, "bob"), server)
	require.NoError(t, err)
	require.Equal(t, bob, again)

	other := ofMany(auth.WithStore(store)) // of another process
	same, err := other.Token(as(t, "bob"), server)
	require.NoError(t, err)
	require.Equal(t, bob, same)
	single, err := auth.Login(auth.WithStore(store), auth.WithPrincipal("bob")).Token(t.Context(), server)
	require.NoError(t, err)
	require.Equal(t, bob, single, "WithPrincipal is the same for one of them")
}

// A login may begin in one process and end in another, as behind a load balancer.
func TestPrincipalsOfTwoProcesses(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	server, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	process := func() *auth.Authorizer {
		store, err := auth.OpenFiles(folder)
		require.NoError(t, err)
		return ofMany(auth.WithStore(store))
	}
	one, two := process(), process()
	c := logIn(t, w, one, "ada")
	_, err := c.CallTool(as(t, "bob"), "echo", map[string]any{})
	var out *auth.LoginPendingError
	require.ErrorAs(t, err, &out)
	address := loggedInAs(t, out.URL, "bob")
	require.ErrorIs(t, two.Finish(as(t, "ada"), server, address), auth.ErrNoLogin)
	require.NoError(t, two.Finish(as(t, "bob"), server, address))
	require.ErrorIs(t, one.Finish(as(t, "bob"), server, address), auth.ErrNoLogin)
	result, err := c.CallTool(as(t, "bob"), "only-bob", map[string]any{})
	require.NoError(t, err)
	require.Equal(t, "done for bob", result.Text())

	w.Revoke()
	for range 2 {
		_, err = c.CallTool(as(t, "bob"), "only-bob", map[string]any{}) // renews the token
		require.NoError(t, err)
		token, err := two.Token(as(t, "bob"), server)
		require.NoError(t, err)
		require.NotEmpty(t, token)
	}
	require.Zero(t, w.Lost())
	require.Len(t, w.Registered(), 1)
}

// A call without a principal fails, because no token belongs to it.
func TestNoPrincipal(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	server := w.MCP.URL + "/mcp"
	a := ofMany()
	c := logIn(t, w, a, "ada")
	requests := len(w.Requests())

	_, err := c.CallTool(t.Context(), "echo", map[string]any{})
	tell(err)
	require.ErrorIs(t, err, auth.ErrNoPrincipal)
	require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(err))
	_, err = client.Dial(t.Context(), server, client.WithAuthorizer(a))
	require.ErrorIs(t, err, auth.ErrNoPrincipal)
	_, err = a.Token(t.Context(), server)
	require.ErrorIs(t, err, auth.ErrNoPrincipal)
	_, err = a.Logout(t.Context(), server)
	require.ErrorIs(t, err, auth.ErrNoPrincipal)
	err = a.Finish(t.Context(), server, "https://app.example/callback?code=a&state=b")
	require.ErrorIs(t, err, auth.ErrNoPrincipal)
	require.Len(t, w.Requests(), requests)

	down := errors.New("the sessions are not available")
	a = auth.HandOff(auth.WithPrincipals(func(context.Context) (string, error) { return "ada", down }))
	_, err = client.Dial(t.Context(), server, client.WithAuthorizer(a))
	require.ErrorIs(t, err, down)
	a = auth.HandOff(auth.WithPrincipals(func(context.Context) (string, error) { panic("no session") }))
	_, err = client.Dial(t.Context(), server, client.WithAuthorizer(a))
	require.ErrorContains(t, err, "no session")
}

// Requests that no call waits for carry the token of the principal that they have, and
// none without one.
func TestBackgroundOfPrincipals(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	a := ofMany()
	logIn(t, w, a, "ada")
	at, err := url.Parse(w.MCP.URL + "/mcp")
	require.NoError(t, err)
	r := transport.AuthorizedRequest{Method: http.MethodGet, Endpoint: at, URL: at, Background: true}
	refused := transport.Challenge{AuthorizedRequest: r, Status: http.StatusUnauthorized, Header: http.Header{}}

	own, err := a.Authorize(as(t, "ada"), r)
	require.NoError(t, err)
	require.NotEmpty(t, own.Header.Get("Authorization"))
	own, err = a.Authorize(t.Context(), r)
	require.NoError(t, err)
	require.Nil(t, own)
	own, err = a.Challenged(t.Context(), refused)
	require.NoError(t, err)
	require.Nil(t, own)
	a.KeepNonce(t.Context(), r, "nonce")

	r.Background = false
	_, err = a.Authorize(t.Context(), r)
	require.ErrorIs(t, err, auth.ErrNoPrincipal)
	refused.Background = false
	_, err = a.Challenged(t.Context(), refused)
	require.ErrorIs(t, err, auth.ErrNoPrincipal)
}

// People who have no token yet ask at the same time: each gets a page of their own, and
// nobody can finish the login of another.
func TestLoginsOfPrincipalsAreApart(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	server := w.MCP.URL + "/mcp"
	a := ofMany()
	c := logIn(t, w, a, "ada")
	const people = 20
	names, pages := make([]string, people), make([]string, people)
	var all sync.WaitGroup
	for i := range people {
		names[i] = fmt.Sprintf("user-%d", i)
		all.Go(func() {
			_, err := c.CallTool(as(t, names[i]), "echo", map[string]any{})
			var out *auth.LoginPendingError
			if errors.As(err, &out) {
				pages[i] = out.URL
			}
		})
	}
	all.Wait()
	addresses := make([]string, people)
	seen := map[string]bool{}
	for i, page := range pages {
		u, err := url.Parse(page)
		require.NoError(t, err)
		state := u.Query().Get("state")
		require.NotEmpty(t, state, names[i])
		require.False(t, seen[state], "two people have one page")
		seen[state] = true
		addresses[i] = loggedInAs(t, page, names[i])
	}
	for i, name := range names {
		err := a.Finish(as(t, name), server, addresses[(i+1)%people])
		tell(err)
		require.ErrorIs(t, err, auth.ErrOtherLogin)
		require.ErrorIs(t, a.Finish(as(t, "eve"), server, addresses[i]), auth.ErrNoLogin)
	}
	for i, name := range names {
		require.NoError(t, a.Finish(as(t, name), server, addresses[i]))
		result, err := c.CallTool(as(t, name), "only-"+name, map[string]any{})
		require.NoError(t, err)
		require.Equal(t, "done for "+name, result.Text())
	}
	require.Len(t, w.Registered(), 1)
}

// People without a token share no fetch of a list either: its error has the page of one
// of them.
func TestPrincipalsWithoutTokenShareNothing(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	inner := w.MCP.Config.Handler
	var held atomic.Bool
	came, release := make(chan struct{}), make(chan struct{})
	w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" && held.CompareAndSwap(true, false) {
			close(came)
			<-release
		}
		inner.ServeHTTP(rw, r)
	})
	c := logIn(t, w, ofMany(), "cy")
	held.Store(true)
	pageOf := func(name string) string {
		ctx, cancel := context.WithTimeout(as(t, name), 10*time.Second)
		defer cancel()
		_, err := c.CallTool(ctx, "echo", map[string]any{})
		var out *auth.LoginPendingError
		if errors.As(err, &out) {
			return out.URL
		}
		return "no page: " + err.Error()
	}
	ada := make(chan string, 1)
	go func() { ada <- pageOf("ada") }()
	<-came
	bob := pageOf("bob") // while ada's request is on its way
	close(release)
	require.Contains(t, bob, "state=")
	page := <-ada
	require.Contains(t, page, "state=")
	require.NotEqual(t, bob, page)
}

// For people at this machine, the next login uses the port of the registration. The test is
// not parallel, because the server of another test could take the port between two logins.
func TestRegistrationOfPrincipalsKeepsItsPort(t *testing.T) {
	w := authtest.New(t)
	a := auth.Login(browser(t), auth.WithPrincipals(byContext))
	for _, name := range []string{"ada", "bob"} {
		c, err := client.Dial(as(t, name), w.MCP.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
	require.Len(t, w.Registered(), 1)
}

// The login of one principal that fails, or that waits for a person, delays no other.
func TestPrincipalsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	asked := make(chan struct{})
	a := auth.Login(auth.WithPrincipals(byContext), auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
		switch name, _ := byContext(ctx); name {
		case "eve":
			return errors.New("she said no")
		case "ada":
			close(asked)
			<-ctx.Done() // nobody is there
			return ctx.Err()
		}
		return visit(ctx, p.URL)
	}))
	waiting, leave := context.WithCancel(as(t, "ada"))
	gone := make(chan error, 1)
	go func() {
		_, err := client.Dial(waiting, w.MCP.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
		gone <- err
	}()
	<-asked
	_, err := client.Dial(as(t, "eve"), w.MCP.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
	require.ErrorContains(t, err, "she said no")
	c, err := client.Dial(as(t, "bob"), w.MCP.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	leave()
	require.ErrorIs(t, <-gone, context.Canceled)
}

// Each login of a principal has its own key, and the one registration takes only such.
func TestDPoPOfPrincipals(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
	store := auth.NewMemory()
	c := logIn(t, w, ofMany(auth.WithStore(store), auth.WithDPoP()), "ada", "bob")
	for _, name := range []string{"ada", "bob"} {
		result, err := c.CallTool(as(t, name), "only-"+name, map[string]any{})
		require.NoError(t, err)
		require.Equal(t, "done for "+name, result.Text())
	}
	keys, err := store.List(t.Context())
	require.NoError(t, err)
	proofs := map[string]string{}
	for _, key := range keys {
		r, err := store.Load(t.Context(), key)
		require.NoError(t, err)
		proofs[key.Principal] = r.Proof.Text()
	}
	require.Len(t, proofs, 3, "ada, bob and the registration")
	require.Empty(t, proofs[""])
	require.NotEmpty(t, proofs["ada"])
	require.NotEqual(t, proofs["ada"], proofs["bob"])

	logIn(t, w, ofMany(auth.WithStore(store)), "cy")
	require.Len(t, w.Registered(), 2, "the client that must use DPoP is no use without")
}

// If the authorization server has lost the program's registration, the next login of any
// principal registers it again.
func TestForgottenClientOfPrincipals(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	inner := w.AS.Config.Handler
	var forgotten atomic.Value
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" && r.FormValue("client_id") == forgotten.Load() {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusUnauthorized)
			_, _ = rw.Write([]byte(`{"error":"invalid_client"}`))
			return
		}
		inner.ServeHTTP(rw, r)
	})
	a := ofMany()
	c := logIn(t, w, a, "ada", "bob")
	clientOf := func(name string) string {
		_, err := c.CallTool(as(t, name), "echo", map[string]any{})
		var out *auth.LoginPendingError
		require.ErrorAs(t, err, &out)
		u, err := url.Parse(out.URL)
		require.NoError(t, err)
		return u.Query().Get("client_id")
	}
	first := clientOf("cy")
	forgotten.Store(first)
	w.Revoke()
	require.NotEqual(t, first, clientOf("ada"), "her token could not be renewed")
	require.Equal(t, clientOf("ada"), clientOf("dan"))
	require.Len(t, w.Registered(), 2)
}

func TestPrincipalOptions(t *testing.T) {
	t.Parallel()
	for says, opts := range map[string][]auth.Option{
		"WithPrincipal and WithPrincipals exclude each other":          {auth.WithPrincipal("ada"), auth.WithPrincipals(byContext)},
		"WithPrincipals needs the function that returns the principal": {auth.WithPrincipals(nil)},
	} {
		_, err := auth.HandOff(opts...).Token(as(t, "ada"), "https://example.com/mcp")
		var why *auth.Error
		require.ErrorAs(t, err, &why)
		require.Equal(t, auth.ReasonOption, why.Reason)
		require.ErrorContains(t, err, says)
	}
}
