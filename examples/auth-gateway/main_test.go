package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// serve starts the gateway in front of a server.
func serve(t *testing.T, w *authtest.World, opts ...auth.Option) *httptest.Server {
	web := httptest.NewUnstartedServer(nil)
	g := newGateway("https://"+web.Listener.Addr().String(), w.MCP.URL+"/mcp", opts...)
	web.Config.Handler = g.handler()
	web.StartTLS()
	t.Cleanup(func() {
		web.Close()
		g.close()
	})
	return web
}

// user is a person with a browser.
type user struct {
	name    string
	app     string // the URL of the gateway
	browser http.Client
}

func newUser(t *testing.T, web *httptest.Server, name string) *user {
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &user{name, web.URL, http.Client{Transport: web.Client().Transport, Jar: jar, CheckRedirect: lastPage}}
}

// lastPage makes a browser follow no redirect, because the test does.
func lastPage(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// answer is the page of a browser, or the target of a redirect.
type answer struct {
	status   int
	text     string
	location string
}

func (u *user) do(r *http.Request, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	resp, err := u.browser.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, strings.TrimSpace(string(text)), resp.Header.Get("Location")}, err
}

// post sends a form to the gateway, with the user's name as the message.
func (u *user) post(t *testing.T, path, tool string) (answer, error) {
	form := strings.NewReader(url.Values{"tool": {tool}, "message": {u.name}}.Encode())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, u.app+path, form)
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return u.do(r, err)
}

func (u *user) get(t *testing.T, address string) (answer, error) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err == nil {
		r.SetBasicAuth(u.name, "") // read by the authorization server only
	}
	return u.do(r, err)
}

// begin makes a call that needs a login, and logs in at its page. It returns where the
// authorization server sends the browser.
func (u *user) begin(t *testing.T) (address string, err error) {
	page, err := u.post(t, "/call", "echo")
	if err != nil || page.status != http.StatusSeeOther {
		return "", fmt.Errorf("a call without a login: %v, %w", page, err)
	}
	back, err := u.get(t, page.location)
	if err != nil || !strings.HasPrefix(back.location, u.app+"/callback?") {
		return "", fmt.Errorf("the page of the login: %v, %w", back, err)
	}
	return back.location, nil
}

// together runs f for all users at the same time.
func together(t *testing.T, users []*user, f func(u *user) error) {
	t.Helper()
	errs := make([]error, len(users))
	var all sync.WaitGroup
	for i, u := range users {
		all.Go(func() { errs[i] = f(u) })
	}
	all.Wait()
	for i, err := range errs {
		require.NoError(t, err, users[i].name)
	}
}

// A hundred users log in, each as somebody else, and call at the same time while their
// tokens expire. The server sees each request with the token of the user who made it, and
// each user sees the own tools and results only.
func TestHundredUsers(t *testing.T) {
	const people, calls = 100, 6
	w := authtest.New(t)
	w.Every, w.Expiries = people, 4
	web := serve(t, w)
	users := make([]*user, people)
	for i := range users {
		users[i] = newUser(t, web, fmt.Sprintf("user-%d", i))
	}
	logIn := func(u *user) error {
		address, err := u.begin(t)
		if err != nil {
			return err
		}
		done, err := u.get(t, address)
		if err != nil || done.status != http.StatusOK {
			return fmt.Errorf("the callback: %v, %w", done, err)
		}
		return nil
	}
	together(t, users[:people/2], logIn)
	_, err := users[0].post(t, "/call", "echo") // opens the client, which the others find open
	require.NoError(t, err)
	together(t, users[people/2:], logIn)
	w.Abandon() // the calls that began logins
	together(t, users, func(u *user) error {
		for i := range calls {
			tool := []string{"echo", "only-" + u.name}[i%2]
			got, err := u.post(t, "/call", tool)
			if err != nil || got.status != http.StatusOK || !strings.HasSuffix(got.text, " for "+u.name) {
				return fmt.Errorf("%s: %v, %w", tool, got, err)
			}
		}
		if got, err := u.post(t, "/call", "only-user-x"); err != nil || got.status != http.StatusBadGateway {
			return fmt.Errorf("the tool of somebody else: %v, %w", got, err)
		}
		return nil
	})

	ran := map[string]int{}
	for _, r := range w.Requests() {
		if r.Arguments == nil {
			require.NotEmpty(t, r.Subject, "a list for nobody")
			continue
		}
		var sent struct{ Message string }
		require.NoError(t, json.Unmarshal(r.Arguments, &sent))
		require.Equal(t, sent.Message, r.Subject)
		ran[r.Subject]++
	}
	require.Len(t, ran, people)
	ran[users[0].name]--
	for name, times := range ran {
		require.Equal(t, calls, times, name)
	}
	require.Equal(t, people, w.Asked("authorize"))
	require.Equal(t, 1, w.Asked("register"))
	require.GreaterOrEqual(t, w.Expired, 2)
	require.GreaterOrEqual(t, w.Asked("refresh_token"), people)
	require.Zero(t, w.Lost(), "refresh tokens that were used twice")
}

// A login belongs to the browser that began it: an attacker can neither finish that of
// somebody else, nor have somebody finish the attacker's.
func TestLoginOfAnotherUser(t *testing.T) {
	w := authtest.New(t)
	web := serve(t, w)
	ada, eve, guest := newUser(t, web, "ada"), newUser(t, web, "eve"), newUser(t, web, "guest")
	addresses := map[*user]string{}
	for _, u := range []*user{ada, eve} {
		address, err := u.begin(t)
		require.NoError(t, err)
		addresses[u] = address
	}
	status := func(a answer, err error) int {
		require.NoError(t, err)
		return a.status
	}
	require.Equal(t, http.StatusForbidden, status(eve.get(t, addresses[ada])), "eve takes ada's code")
	require.Equal(t, http.StatusForbidden, status(ada.get(t, addresses[eve])), "ada is sent to eve's login")
	require.Equal(t, http.StatusForbidden, status(guest.get(t, addresses[ada])), "a browser without a login")
	swapped, err := url.Parse(addresses[ada])
	require.NoError(t, err)
	q := swapped.Query()
	own, err := url.Parse(addresses[eve])
	require.NoError(t, err)
	q.Set("code", own.Query().Get("code"))
	require.Equal(t, http.StatusForbidden, status(guest.get(t, web.URL+"/callback?"+q.Encode())), "eve's code with ada's state")
	require.Equal(t, http.StatusSeeOther, status(eve.post(t, "/call", "echo")), "nobody is logged in yet")

	require.Equal(t, http.StatusOK, status(ada.get(t, addresses[ada])))
	require.Equal(t, http.StatusForbidden, status(ada.get(t, addresses[ada])), "a replay")
	got, err := ada.post(t, "/call", "echo")
	require.NoError(t, err)
	require.Equal(t, answer{status: http.StatusOK, text: "done for ada"}, got)
	require.Equal(t, http.StatusSeeOther, status(eve.post(t, "/call", "echo")))

	require.Equal(t, http.StatusOK, status(ada.post(t, "/logout", "")))
	require.Equal(t, http.StatusSeeOther, status(ada.post(t, "/call", "echo")))
	require.Equal(t, 1, w.Asked("revoke")/2, "the refresh token and the access token")
	require.ErrorContains(t, run(t.Context(), nil), "usage")
}

// Errors are logged and shown without codes, states and tokens.
func TestNothingSecretIsLogged(t *testing.T) {
	w := authtest.New(t)
	g := newGateway("https://app.example", w.MCP.URL+"/mcp")
	t.Cleanup(g.close)
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	call := httptest.NewRecorder()
	g.handler().ServeHTTP(call, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/call", nil))
	u := user{name: "ada", browser: http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: lastPage}}
	back, err := u.get(t, call.Header().Get("Location"))
	require.NoError(t, err)
	end := httptest.NewRecorder()
	g.handler().ServeHTTP(end, httptest.NewRequestWithContext(t.Context(), http.MethodGet, back.location, nil)) // without the cookie
	require.Equal(t, http.StatusForbidden, end.Code)
	at, err := url.Parse(back.location)
	require.NoError(t, err)
	require.Contains(t, logged.String(), "no login waits to be finished")
	for _, secret := range []string{"planted-secret", at.Query().Get("state")} {
		require.NotContains(t, logged.String()+end.Body.String()+call.Body.String(), secret)
	}
}

// A page of another site cannot make calls with the cookie of a user.
func TestCallOfAnotherSite(t *testing.T) {
	w := authtest.New(t)
	u := newUser(t, serve(t, w), "ada")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, u.app+"/call", nil)
	require.NoError(t, err)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	got, err := u.do(r, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, got.status)
	require.Zero(t, w.Asked("register"))
}
