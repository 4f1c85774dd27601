package auth_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// requests records the requests to the authorization server of a World, by path.
func requests(w *authtest.World) func(path string) []url.Values {
	var mu sync.Mutex
	seen := map[string][]url.Values{}
	inner := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/authorize" || r.URL.Path == "/token" {
			_ = r.ParseForm()
			mu.Lock()
			defer mu.Unlock()
			seen[r.URL.Path] = append(seen[r.URL.Path], r.Form)
		}
		inner.ServeHTTP(rw, r)
	})
	return func(path string) []url.Values {
		mu.Lock()
		defer mu.Unlock()
		return seen[path]
	}
}

// No exception lets an application set what the login decides, in whichever spelling.
func TestAuthorizeParamsOfTheProtocol(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"response_type", "response_mode", "client_id", "client_secret", "redirect_uri", "state", "scope", "resource",
		"code_challenge", "code_challenge_method", "code_verifier", "dpop_jkt", "request", "request_uri",
		"Redirect_URI", " state", "",
	} {
		w := authtest.New(t)
		seen := requests(w)
		_, err := dial(t, w, auth.Login(browser(t), auth.WithAuthorizeParams(w.AS.URL, url.Values{name: {"planted-secret"}, "audience": {"x"}})))
		var e *auth.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, auth.ReasonOption, e.Reason)
		require.ErrorContains(t, err, "WithAuthorizeParams cannot set")
		require.NotContains(t, err.Error(), "planted-secret")
		require.Empty(t, seen("/authorize"))
	}
}

func TestAuthorizeParams(t *testing.T) {
	t.Parallel()
	offline := auth.WithScopes("offline_access")
	for name, row := range map[string]struct {
		options func(issuer string) []auth.Option
		want    url.Values // nil values: not there
	}{
		"none": {func(string) []auth.Option { return []auth.Option{offline} }, url.Values{"audience": nil, "prompt": {"consent"}}},
		"several add up": {func(at string) []auth.Option {
			return []auth.Option{params(at, "audience", "a", "b"), params(at, "login_hint", "me")}
		}, url.Values{"audience": {"a", "b"}, "login_hint": {"me"}, "prompt": nil}},
		"the last counts": {func(at string) []auth.Option {
			return []auth.Option{params(at, "audience", "a"), params(at, "audience", "b")}
		}, url.Values{"audience": {"b"}}},
		"another prompt":   {func(at string) []auth.Option { return []auth.Option{offline, params(at, "prompt", "select_account")} }, url.Values{"prompt": {"select_account"}}},
		"no prompt":        {func(at string) []auth.Option { return []auth.Option{offline, params(at, "prompt", "")} }, url.Values{"prompt": nil}},
		"at another":       {func(at string) []auth.Option { return []auth.Option{params(at+"/other", "audience", "a")} }, url.Values{"audience": nil}},
		"its slash counts": {func(at string) []auth.Option { return []auth.Option{params(at+"/", "audience", "a")} }, url.Values{"audience": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			seen := requests(w)
			_, err := dial(t, w, auth.Login(append(row.options(w.AS.URL), browser(t))...))
			require.NoError(t, err)
			for name, values := range row.want {
				require.Equal(t, values, seen("/authorize")[0][name], name)
			}
			require.NotContains(t, seen("/token")[0], "audience", "only the browser carries them")
		})
	}
}

func params(issuer, name string, values ...string) auth.Option {
	return auth.WithAuthorizeParams(issuer, url.Values{name: values})
}

// An option keeps its arguments, also if the caller changes them.
func TestAuthorizeParamsAreCopied(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	seen := requests(w)
	given := url.Values{"audience": {"a"}}
	option := auth.WithAuthorizeParams(w.AS.URL, given)
	given["audience"][0] = "b"
	given.Set("state", "mine")
	_, err := dial(t, w, auth.Login(browser(t), option))
	require.NoError(t, err)
	require.Equal(t, "a", seen("/authorize")[0].Get("audience"))
}

func TestExceptionsNeedAnIssuer(t *testing.T) {
	t.Parallel()
	for _, issuer := range []string{"", "login.example", "https://login.example?x=y", "https://login.example/#x", "https://"} {
		for name, option := range map[string]auth.Option{
			"WithoutResource": auth.WithoutResource(issuer), "WithAssumedPKCE": auth.WithAssumedPKCE(issuer),
			"WithAuthorizeParams": auth.WithAuthorizeParams(issuer, nil),
		} {
			w := authtest.New(t)
			_, err := dial(t, w, auth.Login(browser(t), option))
			require.ErrorContains(t, err, name+" needs the issuer identifier", issuer)
		}
	}
}

// A login without resource is for one authorization server, and so are its renewals. A
// program that is given the exception later makes them without it, too.
func TestWithoutResource(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		first, later bool // whether the program has the exception that logs in, and the one that calls later
		want         []bool
	}{
		"by default":     {want: []bool{true, true, true}},
		"of the login":   {first: true, want: []bool{false, false, false}},
		"of the renewal": {later: true, want: []bool{true, true, false}},
		"of both":        {first: true, later: true, want: []bool{false, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.AnyResource = true
			seen := requests(w)
			store := auth.WithStore(auth.NewMemory())
			option := func(on bool) auth.Option {
				if on {
					return auth.WithoutResource(w.AS.URL)
				}
				return auth.WithoutResource("https://other.example")
			}
			_, err := dial(t, w, auth.Login(browser(t), store, option(row.first)))
			require.NoError(t, err)
			w.Revoke()
			_, err = dial(t, w, auth.Login(nobody(), store, option(row.later)))
			require.NoError(t, err)
			require.Equal(t, 1, w.Asked("refresh_token"))
			got := []bool{seen("/authorize")[0].Has("resource"), seen("/token")[0].Has("resource"), seen("/token")[1].Has("resource")}
			require.Equal(t, row.want, got)
		})
	}
}

// A program without a person sends no resource either.
func TestWithoutResourceOfAProgram(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.AnyResource = true
	seen := requests(w)
	_, err := dial(t, w, robot(auth.WithoutResource(w.AS.URL), auth.WithOnlyScopes("api://tickets/.default")))
	require.NoError(t, err)
	require.False(t, seen("/token")[0].Has("resource"))
	require.Equal(t, "api://tickets/.default", seen("/token")[0].Get("scope"))
}

func TestWithOnlyScopes(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		options []auth.Option
		want    []string // of the first login, and of the one for more
	}{
		"by default":   {nil, []string{"read offline_access", "admin read offline_access"}},
		"fewer":        {[]auth.Option{auth.WithOnlyScopes("api")}, []string{"api", "admin api"}},
		"none":         {[]auth.Option{auth.WithOnlyScopes()}, []string{"", "admin"}},
		"with others":  {[]auth.Option{auth.WithOnlyScopes("api"), auth.WithScopes("too")}, []string{"api too", "admin api too"}},
		"with offline": {[]auth.Option{auth.WithOnlyScopes("api", "offline_access")}, []string{"api offline_access", "admin api offline_access"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.Metadata["scopes_supported"] = []string{"offline_access"}
			w.Resource["scopes_supported"] = []string{"read", "write", "admin"}
			w.Needs = "admin"
			seen := requests(w)
			c, err := dial(t, w, auth.Login(append(row.options, browser(t))...))
			require.NoError(t, err)
			require.NoError(t, once(t.Context(), c))
			require.Len(t, seen("/authorize"), 2)
			for i, asked := range seen("/authorize") {
				require.ElementsMatch(t, strings.Fields(row.want[i]), strings.Fields(asked.Get("scope")))
			}
			// A login that has ended begins again with what the application wants.
			w.Needs = ""
			w.Forget()
			require.NoError(t, once(t.Context(), c))
			if row.options != nil {
				require.ElementsMatch(t, strings.Fields(row.want[0]), strings.Fields(seen("/authorize")[2].Get("scope")))
			}
		})
	}
}

// A login that waits for a person is used again only by a program that asks for the same.
func TestHandOffWithOtherExceptions(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	store := auth.WithStore(auth.NewMemory())
	first := handedOff(t, w, store)
	require.Equal(t, first.URL, handedOff(t, w, store).URL)
	for _, option := range []auth.Option{auth.WithoutResource(w.AS.URL), params(w.AS.URL, "audience", "api"), auth.WithOnlyScopes("api")} {
		require.NotEqual(t, first.URL, handedOff(t, w, store, option).URL)
	}
	w.AnyResource = true
	last := handedOff(t, w, store, auth.WithoutResource(w.AS.URL))
	require.NoError(t, auth.HandOff(store).Finish(t.Context(), w.MCP.URL+"/mcp", elsewhere(t, last.URL)))
}
