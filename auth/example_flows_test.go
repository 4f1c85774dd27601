package auth_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// The functions here are the programs of the pages in docs/authorization.

func asPerson(ctx context.Context, url, folder string) (*client.Client, error) {
	store, err := auth.OpenFiles(folder)
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, url, client.WithAuthorizer(auth.Login(
		auth.WithStore(store),
		auth.WithClientName("Ticket Bot"),
	)))
}

func asPersonElsewhere(ctx context.Context, url string) (*client.Client, error) {
	ask := func(ctx context.Context, p auth.Prompt) error {
		fmt.Println("Open this page in any browser, and log in:", p.URL)
		fmt.Println("Paste the address where the browser ends, even if it does not load:")
		var address string
		if _, err := fmt.Scanln(&address); err != nil {
			return err
		}
		return p.Paste(address)
	}
	return client.Dial(ctx, url, client.WithAuthorizer(auth.Login(auth.WithPrompt(ask))))
}

func beginLogin(ctx context.Context, url string, store auth.Store) (page string, err error) {
	c, err := client.Dial(ctx, url, client.WithAuthorizer(auth.HandOff(auth.WithStore(store))))
	var begun *auth.LoginPendingError
	if errors.As(err, &begun) {
		return begun.URL, nil // show it to a person, until begun.Expires
	}
	if err != nil {
		return "", err
	}
	return "", c.Close() // no login is needed
}

func finishLogin(ctx context.Context, url, address string, store auth.Store) (*client.Client, error) {
	if err := auth.HandOff(auth.WithStore(store)).Finish(ctx, url, address); err != nil {
		return nil, err
	}
	return client.Dial(ctx, url, client.WithAuthorizer(auth.Login(auth.WithStore(store), auth.WithoutLogin())))
}

func onAnotherDevice(ctx context.Context, url string, store auth.Store) (*client.Client, error) {
	ask := func(_ context.Context, p auth.Prompt) error {
		fmt.Println("Open this page on any device, and type the code:", p.URL, p.UserCode)
		return nil
	}
	return client.Dial(ctx, url, client.WithAuthorizer(auth.Device(auth.WithStore(store), auth.WithPrompt(ask))))
}

func withSecret(ctx context.Context, url, issuer, id string) (*client.Client, error) {
	secret := os.Getenv("CLIENT_SECRET")
	return client.Dial(ctx, url, client.WithAuthorizer(auth.ClientCredentials(id, secret, auth.WithIssuer(issuer))))
}

func withPrivateKey(ctx context.Context, url, issuer, id, file string) (*client.Client, error) {
	key, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, url, client.WithAuthorizer(auth.PrivateKeyJWT(id, key, "ES256", auth.WithIssuer(issuer))))
}

func asWorkload(ctx context.Context, url, issuer, id, file string) (*client.Client, error) {
	token := func(context.Context) (string, error) {
		jwt, err := os.ReadFile(file) // the platform writes a new one from time to time
		return strings.TrimSpace(string(jwt)), err
	}
	return client.Dial(ctx, url, client.WithAuthorizer(auth.Workload(id, token, auth.WithIssuer(issuer))))
}

func asEmployee(ctx context.Context, url, issuer, companyTokenURL, idToken string) (*client.Client, error) {
	company := auth.IdentityProvider{
		TokenURL:     companyTokenURL,
		ClientID:     "ticket-bot",
		ClientSecret: os.Getenv("COMPANY_SECRET"),
		Subject: func(context.Context) (token, tokenType string, err error) {
			return idToken, auth.IDToken, nil // of the employee's login at the company
		},
	}
	secret := os.Getenv("SERVER_SECRET")
	return client.Dial(ctx, url, client.WithAuthorizer(auth.IDJAG("ticket-bot-there", secret, company, auth.WithIssuer(issuer))))
}

func forUser(ctx context.Context, url, issuer, userID, token string, store auth.Store) (*client.Client, error) {
	subject := func(context.Context) (string, string, error) { return token, auth.AccessToken, nil }
	secret := os.Getenv("GATEWAY_SECRET")
	return client.Dial(ctx, url, client.WithAuthorizer(auth.TokenExchange("gateway", secret, subject,
		auth.WithIssuer(issuer), auth.WithStore(store), auth.WithPrincipal(userID))))
}

type user struct{}

func asGateway(ctx context.Context, url string) (*client.Client, error) {
	return client.Dial(ctx, url, client.WithAuthorizer(auth.Bearer(func(ctx context.Context) (string, error) {
		token, _ := ctx.Value(user{}).(string) // that of the user who waits for this call
		return token, nil
	})))
}

func serve(w http.ResponseWriter, r *http.Request, c *client.Client, tokenOf func(*http.Request) string) {
	ctx := context.WithValue(r.Context(), user{}, tokenOf(r))
	result, err := c.CallTool(ctx, "echo", map[string]any{"message": r.FormValue("message")})
	if err != nil {
		http.Error(w, "the server did not answer", http.StatusBadGateway)
		return
	}
	fmt.Fprintln(w, result.Text())
}

func withBoundTokens(ctx context.Context, url, folder string) (*client.Client, error) {
	store, err := auth.OpenFiles(folder)
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, url, client.WithAuthorizer(auth.Login(auth.WithStore(store), auth.WithDPoP())))
}

func explained(err error) string {
	var e *auth.Error
	switch {
	case errors.Is(err, auth.ErrNotLoggedIn):
		return "log in first"
	case errors.As(err, &e) && e.Reason == auth.ReasonScope:
		return "you may not do that: " + e.Help
	case errors.As(err, &e):
		return fmt.Sprintf("no login at %s (%s): %v", e.Issuer, e.Reason, err)
	}
	return err.Error()
}

// worked ends a program that should have a client.
func worked(t *testing.T, c *client.Client, err error) {
	t.Helper()
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

// page opens a page as a browser does that cannot reach where the login ends.
func page(ctx context.Context, url string) (address string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err.Error()
	}
	_ = resp.Body.Close()
	return resp.Header.Get("Location")
}

func TestFlowsOfPersons(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
	url, folder := w.MCP.URL+"/mcp", t.TempDir()+"/tokens"
	store, err := auth.OpenFiles(folder)
	require.NoError(t, err)
	_, err = dial(t, w, auth.Login(auth.WithStore(store), auth.WithDPoP(), browser(t)))
	require.NoError(t, err)
	c, err := asPerson(t.Context(), url, folder)
	worked(t, c, err)
	c, err = withBoundTokens(t.Context(), url, folder)
	worked(t, c, err)
	require.Equal(t, 1, w.Asked("authorize"))

	later := auth.NewMemory()
	_, err = finishLogin(t.Context(), url, "http://127.0.0.1/callback?code=a&state=b", later)
	require.Contains(t, explained(err), "no login waits to be finished")
	at, err := beginLogin(t.Context(), url, later)
	require.NoError(t, err)
	c, err = finishLogin(t.Context(), url, page(t.Context(), at), later)
	worked(t, c, err)
	at, err = beginLogin(t.Context(), url, later)
	require.NoError(t, err)
	require.Empty(t, at)

	_, err = client.Dial(t.Context(), url, client.WithAuthorizer(auth.Login(auth.WithoutLogin())))
	require.Equal(t, "log in first", explained(err))
	require.Equal(t, "you may not do that: ask", explained(&auth.Error{Reason: auth.ReasonScope, Help: "ask"}))
	require.Equal(t, "other", explained(errors.New("other")))
}

// The person is at another terminal: this test has the process's own streams.
func TestFlowOfAPersonElsewhere(t *testing.T) {
	w := authtest.New(t)
	in, typed, err := os.Pipe()
	require.NoError(t, err)
	shown, out, err := os.Pipe()
	require.NoError(t, err)
	stdin, stdout := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = in, out
	defer func() { os.Stdin, os.Stdout = stdin, stdout }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := bufio.NewScanner(shown)
		for lines.Scan() {
			if _, at, ok := strings.Cut(lines.Text(), "log in: "); ok {
				_, _ = io.WriteString(typed, page(t.Context(), at)+"\n")
			}
		}
	}()
	c, err := asPersonElsewhere(t.Context(), w.MCP.URL+"/mcp")
	worked(t, c, err)
	require.NoError(t, out.Close())
	<-done
	for _, f := range []*os.File{in, typed, shown} {
		require.NoError(t, f.Close())
	}
}

func TestFlowsOfPrograms(t *testing.T) {
	w := authtest.New(t)
	url, issuer := w.MCP.URL+"/mcp", w.AS.URL
	t.Setenv("CLIENT_SECRET", "robot-planted-secret")
	c, err := withSecret(t.Context(), url, issuer, "robot")
	worked(t, c, err)
	_, err = withSecret(t.Context(), url, "https://other.example", "robot")
	require.ErrorContains(t, err, "the client belongs to https://other.example")
	require.Contains(t, explained(err), "(registration)")

	_, err = withPrivateKey(t.Context(), url, issuer, "keyed", filepath.Join(t.TempDir(), "missing.pem"))
	require.ErrorIs(t, err, os.ErrNotExist)

	jwt := filepath.Join(t.TempDir(), "token")
	_, err = asWorkload(t.Context(), url, issuer, "pod", jwt)
	require.ErrorContains(t, err, "the platform gives no token")
	require.NoError(t, os.WriteFile(jwt, []byte("a.b.c\n"), 0o600))
	c, err = asWorkload(t.Context(), url, issuer, "pod", jwt)
	worked(t, c, err)

	company := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"access_token": "grant", "token_type": "N_A", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag"}`)
	}))
	t.Cleanup(company.Close)
	c, err = asEmployee(t.Context(), url, issuer, company.URL+"/token", "id-token")
	worked(t, c, err)
	require.Equal(t, 2, w.Asked("urn:ietf:params:oauth:grant-type:jwt-bearer"))

	t.Setenv("GATEWAY_SECRET", "gateway-planted-secret")
	c, err = forUser(t.Context(), url, issuer, "ada", "ada-planted-secret", auth.NewMemory())
	worked(t, c, err)
	require.Equal(t, 1, w.Asked(exchangeGrant))
}

// The code is printed on the process's own stdout, where somebody reads it and types it elsewhere.
func TestFlowOfAnotherDevice(t *testing.T) {
	w := authtest.New(t)
	w.Announce(deviceEndpoint)
	shown, out, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = out
	defer func() { os.Stdout = stdout }()
	done := make(chan error, 1)
	go func() {
		var err error
		lines := bufio.NewScanner(shown)
		for lines.Scan() {
			if _, at, ok := strings.Cut(lines.Text(), "type the code: "); ok {
				page, code, _ := strings.Cut(at, " ")
				err = visit(t.Context(), page+"?user_code="+code)
			}
		}
		done <- err
	}()
	c, err := onAnotherDevice(t.Context(), w.MCP.URL+"/mcp", auth.NewMemory())
	worked(t, c, err)
	require.NoError(t, out.Close())
	require.NoError(t, <-done)
	require.NoError(t, shown.Close())
}

func TestClientMetadata(t *testing.T) {
	t.Parallel()
	opts := make([]auth.Option, 0, 3)
	document, err := auth.ClientMetadata("https://example.com/a", append(opts, auth.WithDPoP(), auth.WithRedirect("http://127.0.0.1:8123/back"))...)
	require.NoError(t, err)
	require.Contains(t, string(document), `"http://127.0.0.1:8123/back"`)
	require.Contains(t, string(document), `"dpop_bound_access_tokens": true`)
	_, err = auth.ClientMetadata("http://example.com/a")
	require.ErrorContains(t, err, "must be https")
}

func TestFlowOfAGateway(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Access["own"], w.Access["ada"] = "read", "read"
	c, err := asGateway(context.WithValue(t.Context(), user{}, "own"), w.MCP.URL+"/mcp")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	for token, want := range map[string]int{"ada": http.StatusOK, "bob": http.StatusBadGateway} {
		rec := httptest.NewRecorder()
		serve(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil), c, func(*http.Request) string { return token })
		require.Equal(t, want, rec.Code, rec.Body)
	}
}
