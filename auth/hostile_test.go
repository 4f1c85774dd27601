package auth_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// nobody is a person who must not be asked.
func nobody() auth.Option {
	return auth.WithPrompt(func(context.Context, auth.Prompt) error { return errors.New("a person was asked again") })
}

func dialAt(t *testing.T, at string, a transport.Authorizer) (*client.Client, error) {
	t.Helper()
	c, err := client.Dial(t.Context(), at, append(watched(), client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))...)
	tell(a, c, err)
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

func tokenAt(t *testing.T, a *auth.Authorizer, raw string) string {
	t.Helper()
	token, err := a.Token(t.Context(), raw)
	require.NoError(t, err)
	return token
}

// Errors that mean trouble of the authorization server, a proxy or the clock do not delete
// the refresh token.
func TestTroubleIsNoLogout(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status int
		kind   string
		body   string
	}{
		"rate limit with a code of its own":      {429, "application/json", `{"error":"too_many_requests"}`},
		"overload with a code of its own":        {503, "application/json", `{"error":"service_unavailable"}`},
		"a bug with a code of its own":           {500, "application/json", `{"error":"internal_error"}`},
		"a gateway that has lost its server":     {502, "application/json", `{"error":"bad_gateway"}`},
		"the page of a web application firewall": {403, "text/html", `<html>checking your browser</html>`},
		"the clock is wrong, with DPoP":          {400, "application/json", `{"error":"invalid_dpop_proof"}`},
		"one more nonce, with DPoP":              {400, "application/json", `{"error":"use_dpop_nonce"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			var trouble atomic.Bool
			inner := w.AS.Config.Handler
			w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if trouble.Load() && r.URL.Path == "/token" {
					rw.Header().Set("Content-Type", row.kind)
					rw.WriteHeader(row.status)
					_, _ = io.WriteString(rw, row.body)
					return
				}
				inner.ServeHTTP(rw, r)
			})
			s := auth.NewMemory()
			_, err := dial(t, w, auth.Login(browser(t), auth.WithStore(s)))
			require.NoError(t, err)
			w.Revoke()
			trouble.Store(true)
			_, err = dial(t, w, auth.Login(nobody(), auth.WithStore(s)))
			require.Error(t, err)
			trouble.Store(false)
			_, err = dial(t, w, auth.Login(nobody(), auth.WithStore(s)))
			require.NoError(t, err, "the login is still good")
		})
	}
}

// otherAS is a foreign authorization server. It counts the secrets that it gets.
func otherAS(t *testing.T, secrets *atomic.Int32) string {
	var at string
	as := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/token" {
			body, _ := io.ReadAll(r.Body)
			if _, secret, _ := r.BasicAuth(); secret != "" || strings.Contains(string(body), "secret") {
				secrets.Add(1)
			}
			_, _ = io.WriteString(rw, `{"access_token":"x","token_type":"Bearer"}`)
			return
		}
		_ = json.NewEncoder(rw).Encode(map[string]any{
			"issuer": at, "token_endpoint": at + "/token", "authorization_endpoint": at + "/authorize",
			"code_challenge_methods_supported": []string{"S256"},
		})
	}))
	t.Cleanup(as.Close)
	at = as.URL
	return at
}

// "Without it, a secret is not sent to another one than the store knows."
func TestServerMovesTheSecret(t *testing.T) {
	t.Parallel()
	for name, resource := range map[string]func(w *authtest.World) string{
		"same resource":   func(w *authtest.World) string { return w.MCP.URL + "/mcp" },
		"parent resource": func(w *authtest.World) string { return w.MCP.URL },
		"trailing slash":  func(w *authtest.World) string { return w.MCP.URL + "/mcp/" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			s := auth.NewMemory()
			robot := func() *auth.Authorizer {
				return auth.ClientCredentials("robot", "robot-planted-secret", auth.WithStore(s))
			}
			_, err := dial(t, w, robot())
			require.NoError(t, err)
			var stolen atomic.Int32
			w.Resource["resource"] = resource(w)
			w.Resource["authorization_servers"] = []string{otherAS(t, &stolen)}
			w.Revoke()
			_, err = dial(t, w, robot())
			require.Error(t, err)
			require.Zero(t, stolen.Load(), "the secret went to an authorization server that the store does not know")
		})
	}
}

// An authorization server that has forgotten a registration gets a new one, at the
// second try at the latest.
func TestForgottenRegistration(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	var forgotten atomic.Value
	forgotten.Store("")
	inner := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			_ = r.ParseForm()
			if r.PostForm.Get("client_id") == forgotten.Load() {
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(http.StatusUnauthorized)
				_, _ = io.WriteString(rw, `{"error":"invalid_client"}`)
				return
			}
		}
		inner.ServeHTTP(rw, r)
	})
	s := auth.NewMemory()
	_, err := dial(t, w, auth.Login(browser(t), auth.WithStore(s)))
	require.NoError(t, err)
	keys, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 1)
	forgotten.Store(keys[0].ClientID)
	// The authorization server gives out no refresh tokens.
	require.NoError(t, s.Update(t.Context(), keys[0], func(r auth.Record) (auth.Record, error) {
		r.Token.Refresh.Set("")
		r.Token.Expiry = time.Now().Add(-time.Hour)
		return r, nil
	}))
	for range 3 {
		if _, err = dial(t, w, auth.Login(browser(t), auth.WithStore(s))); err == nil {
			break
		}
	}
	require.NoError(t, err, "every login ends with the same dead client")
}

// A script that calls again while the person logs in must not invalidate that login.
func TestHandOffTwice(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	s := auth.NewMemory()
	first := handedOff(t, w, auth.WithStore(s))
	_ = handedOff(t, w, auth.WithStore(s)) // the next run of the script, a minute later
	err := auth.HandOff(auth.WithStore(s)).Finish(t.Context(), w.MCP.URL+"/mcp", elsewhere(t, first.URL))
	require.NoError(t, err)
}

// The page for the person does not report success for a failed login.
func TestPageOfAFailedLogin(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Callback = func(v url.Values) { v.Set("iss", "https://evil.example") }
	seen := make(chan string, 1)
	_, err := dial(t, w, auth.Login(auth.WithPrompt(func(_ context.Context, p auth.Prompt) error {
		resp, err := http.Get(p.URL)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		seen <- string(body)
		return errors.Join(err, resp.Body.Close())
	})))
	require.Error(t, err)
	require.NotContains(t, <-seen, "You are logged in")
}

// A function of the application that calls the Authorizer for the same server does not
// deadlock.
func TestPromptCallsBack(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	var a *auth.Authorizer
	a = auth.Login(auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
		_, err := a.Logout(ctx, p.Server) // to begin cleanly
		return err
	}))
	_, err := dial(t, w, a)
	require.ErrorContains(t, err, "a function that the login calls must not wait for the same login")
}

// The error names a server that gets no tokens because it has no TLS.
func TestServerWithoutTLS(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"http://remote.example/mcp", "http://LOCALHOST/mcp"} {
		a := auth.Login(nobody())
		u, err := url.Parse(at)
		require.NoError(t, err)
		own, err := a.Challenged(t.Context(), transport.Challenge{
			AuthorizedRequest: transport.AuthorizedRequest{Method: http.MethodPost, Endpoint: u, URL: u},
			Status:            http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {"Bearer"}},
		})
		require.Nil(t, own)
		require.Error(t, err, "the person sees a bare 401 for %s", at)
	}
}

// RFC 9449 sections 8.2 and 9: a nonce that comes with a good answer is the next one.
func TestNonceOfAGoodAnswer(t *testing.T) {
	t.Parallel()
	var refused, count atomic.Int32
	nonce := func() string { return "n" + strconv.Itoa(int(count.Load())) }
	mcpServer := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			rw.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		parts := strings.Split(r.Header.Get("Dpop"), ".")
		claims := ""
		if len(parts) == 3 {
			claims = decoded(parts[1])
		}
		want := nonce()
		count.Store((count.Load() + 1) % 10)
		rw.Header().Set("DPoP-Nonce", nonce())
		if !strings.Contains(claims, `"nonce":"`+want+`"`) {
			refused.Add(1)
			rw.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		var m struct {
			ID     any    `json:"id"`
			Method string `json:"method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		if m.ID == nil {
			rw.WriteHeader(http.StatusAccepted)
			return
		}
		result := map[string]any{"content": []any{}}
		if m.Method == "initialize" {
			result = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "w", "version": "1"}}
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
	}))
	t.Cleanup(mcpServer.Close)
	prover, err := grant.NewProver()
	require.NoError(t, err)
	proof, err := prover.Export()
	require.NoError(t, err)
	s := auth.NewMemory()
	at := mcpServer.URL + "/mcp"
	require.NoError(t, s.Update(t.Context(), auth.Key{Server: at, Issuer: "https://as.example", Resource: at, ClientID: "c"}, func(r auth.Record) (auth.Record, error) {
		r.Token, r.Proof = grant.Token{Access: grant.Hide("a")}, proof
		return r, nil
	}))
	c, err := dialAt(t, at, auth.Login(nobody(), auth.WithStore(s), auth.WithDPoP()))
	require.NoError(t, err)
	before := refused.Load()
	for range 5 {
		_, err = c.CallTool(t.Context(), "echo", map[string]any{})
		require.NoError(t, err)
	}
	require.Zero(t, refused.Load()-before, "each request went twice")
}

func decoded(segment string) string {
	text, _ := base64.RawURLEncoding.DecodeString(segment)
	return string(text)
}

// A refusal for missing scopes that names none does not make a person log in for scopes that
// the token already has.
func TestScopeThatIsNotNamed(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Needs = "write"
	inner := w.MCP.Config.Handler
	w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		inner.ServeHTTP(rec, r)
		for name, values := range rec.Header() {
			rw.Header()[name] = values
		}
		if rec.Code == http.StatusForbidden {
			rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
		}
		rw.WriteHeader(rec.Code)
		_, _ = rw.Write(rec.Body.Bytes())
	})
	c, err := dial(t, w, auth.Login(browser(t)))
	require.NoError(t, err)
	_, err = c.CallTool(t.Context(), "echo", map[string]any{})
	require.Error(t, err)
	require.Equal(t, 1, w.Asked("authorize"), "the person was asked again for the same scopes")
}

// Many calls, logouts, tokens and closes at the same time: for the race detector, and to
// check that no call waits forever.
func TestStress(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	a := auth.Login(browser(t))
	c, err := dial(t, w, a)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan struct{})
	for i := range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 15 {
				switch i {
				case 0:
					w.Revoke()
					_, _ = a.Token(ctx, w.MCP.URL+"/mcp")
				case 1:
					_, _ = a.Logout(ctx, w.MCP.URL+"/mcp")
				case 2:
					short, stop := context.WithTimeout(ctx, time.Millisecond)
					_, _ = c.CallTool(short, "echo", map[string]any{})
					stop()
				default:
					_, _ = c.CallTool(ctx, "echo", map[string]any{})
				}
			}
		}()
	}
	for range 8 {
		<-done
	}
	require.NoError(t, ctx.Err(), "a call hung")
}

// An authorization server that is overloaded is like one that cannot be reached: the
// next of the list is used.
func TestOverloadedServerOfTheList(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	down := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(down.Close)
	w.Resource["authorization_servers"] = []string{down.URL, w.AS.URL}
	_, err := dial(t, w, auth.Login(browser(t)))
	require.NoError(t, err)
}

// After a login was finished, the next one has an address of its own.
func TestStaleHandOff(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Needs = "write"
	a := auth.HandOff()
	_, err := dial(t, w, a)
	var first, second *auth.LoginPendingError
	require.ErrorAs(t, err, &first)
	require.NoError(t, a.Finish(t.Context(), w.MCP.URL+"/mcp", elsewhere(t, first.URL)))
	c, err := dial(t, w, a)
	require.NoError(t, err)
	_, err = c.CallTool(t.Context(), "echo", map[string]any{})
	require.ErrorAs(t, err, &second)
	require.NotEqual(t, first.URL, second.URL, "the address of a login that is over")
}

// Texts of a server are fit for a terminal wherever they are shown.
func TestIssuerForTheTerminal(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	inner := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/oauth-authorization-server") {
			r.URL.Path = "/.well-known/oauth-authorization-server"
		}
		inner.ServeHTTP(rw, r)
	})
	issuer := w.AS.URL + "/\u009b2J\u202egood"
	w.Metadata["issuer"], w.Resource["authorization_servers"] = issuer, []string{issuer}
	delete(w.Metadata, "code_challenge_methods_supported")
	_, err := dial(t, w, auth.Login(browser(t)))
	require.Error(t, err)
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	for _, text := range []string{err.Error(), e.Error()} {
		require.NotContains(t, text, "\u009b", "a control sequence")
		require.NotContains(t, text, "\u202e", "text from right to left")
	}
}

// Tokens are "not sent without TLS except to this machine": those of the application, too.
func TestBearerWithoutTLS(t *testing.T) {
	t.Parallel()
	u, err := url.Parse("http://remote.example/mcp")
	require.NoError(t, err)
	a := auth.Bearer(func(context.Context) (string, error) { return "planted-secret", nil })
	sent, err := a.Authorize(t.Context(), transport.AuthorizedRequest{Method: http.MethodPost, Endpoint: u, URL: u})
	require.True(t, err != nil || sent == nil, "a token went out without TLS")
}

// Where requests to servers go through the proxy of the environment, logins do, too.
func TestProxyOfTheEnvironment(t *testing.T) {
	const at = "https://mcp.example.invalid/mcp"
	if os.Getenv("MAINSTAY_TEST_PROXY_CHILD") != "" {
		_, err := client.Dial(t.Context(), at, client.WithProtocolVersion("2025-11-25"))
		t.Log("the client:", err)
		u, _ := url.Parse(at)
		_, err = auth.Login(nobody()).Challenged(t.Context(), transport.Challenge{
			AuthorizedRequest: transport.AuthorizedRequest{Method: http.MethodPost, Endpoint: u, URL: u}, Status: http.StatusUnauthorized,
		})
		t.Log("the login:", err)
		return
	}
	t.Parallel()
	var agents []string
	var mu sync.Mutex
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		agents = append(agents, r.Method+" "+r.Host)
		rw.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(proxy.Close)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyOfTheEnvironment$", "-test.v")
	cmd.Env = append(os.Environ(), "MAINSTAY_TEST_PROXY_CHILD=1", "HTTPS_PROXY="+proxy.URL, "NO_PROXY=", "no_proxy=")
	out, _ := cmd.CombinedOutput()
	mu.Lock()
	defer mu.Unlock()
	require.NotEmpty(t, agents, "%s", out)
	require.NotContains(t, string(out), "lookup mcp.example.invalid", "the login looks the name up itself, and passes the proxy by")
}
