package tokensource_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/auth/tokensource"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// source is a TokenSource of an application.
type source func() (*oauth2.Token, error)

func (s source) Token() (*oauth2.Token, error) { return s() }

func request(t *testing.T, at string) transport.AuthorizedRequest {
	t.Helper()
	u, err := url.Parse(at)
	require.NoError(t, err)
	return transport.AuthorizedRequest{Method: http.MethodPost, Endpoint: u, URL: u}
}

// A token is used until it expires. All tokens of a source are those of one caller.
func TestTokensAreUsedUntilTheyExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		a := tokensource.From(source(func() (*oauth2.Token, error) {
			asked++
			return &oauth2.Token{AccessToken: fmt.Sprint("token-", asked), Expiry: time.Now().Add(time.Hour)}, nil
		}))
		first, err := a.Authorize(t.Context(), request(t, "https://mcp.test/"))
		require.NoError(t, err)
		time.Sleep(59 * time.Minute)
		again, err := a.Authorize(t.Context(), request(t, "https://mcp.test/"))
		require.NoError(t, err)
		require.Same(t, first, again)
		require.Equal(t, 1, asked)
		time.Sleep(55 * time.Second)
		next, err := a.Authorize(t.Context(), request(t, "https://mcp.test/"))
		require.NoError(t, err)
		require.Equal(t, "Bearer token-2", next.Header.Get("Authorization"))
		require.Equal(t, first.Scope, next.Scope)
		other, err := tokensource.From(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "token-2"})).Authorize(t.Context(), request(t, "https://mcp.test/"))
		require.NoError(t, err)
		require.NotEqual(t, next.Scope, other.Scope)
		require.NotContains(t, fmt.Sprintf("%v %+v %#v %q %x", a, a, a, a, a), "token-")
	})
}

// When the server refuses a token, the source is asked once more.
func TestARefusedTokenIsReplaced(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Access["good"] = "read"
	tokens := []string{"stale", "good", "good", "other"}
	var asked atomic.Int64
	c, err := client.Dial(t.Context(), w.MCP.URL+"/mcp", client.WithProtocolVersion("2025-11-25"), client.WithAuthorizer(tokensource.From(source(func() (*oauth2.Token, error) {
		n := int(asked.Add(1))
		return &oauth2.Token{AccessToken: tokens[min(n, len(tokens))-1], TokenType: "bearer"}, nil
	}))))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	call := func() error {
		_, err := c.CallTool(t.Context(), "echo", map[string]any{})
		return err
	}
	require.NoError(t, call())
	require.EqualValues(t, 2, asked.Load())
	w.Revoke()
	require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(call()), "the source has no other token")
	require.EqualValues(t, 3, asked.Load())
	require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(call()), "the server refuses that, too")
	require.EqualValues(t, 4, asked.Load())
}

// Many calls ask a source once, and one that blocks holds up no call for longer than its
// context or 30 seconds.
func TestASourceThatBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var asked atomic.Int64
		a := tokensource.From(source(func() (*oauth2.Token, error) {
			asked.Add(1)
			<-release
			return &oauth2.Token{AccessToken: "late"}, nil
		}))
		at := request(t, "https://mcp.test/")
		var work sync.WaitGroup
		for range 50 {
			work.Go(func() {
				began := time.Now()
				_, err := a.Authorize(t.Context(), at)
				var e *auth.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, auth.ReasonToken, e.Reason)
				require.Equal(t, 30*time.Second, time.Since(began))
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := a.Authorize(ctx, at)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		work.Wait()
		require.EqualValues(t, 1, asked.Load())
		close(release)
		synctest.Wait()
		own, err := a.Authorize(t.Context(), at)
		require.NoError(t, err)
		require.Equal(t, "Bearer late", own.Header.Get("Authorization"))
	})
}

// A fault of a source is an error that describes it, without secrets.
func TestSourcesThatFail(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	plain := errors.New("no credentials in the vault")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	program := &oauth2.Config{ClientID: "robot", Endpoint: oauth2.Endpoint{TokenURL: w.AS.URL + "/token"}}
	for name, tt := range map[string]struct {
		source oauth2.TokenSource
		want   string
		is     error
		kind   mcperrors.Kind
	}{
		"missing": {nil, "the token source is missing", nil, mcperrors.KindAuth},
		"fails":   {source(func() (*oauth2.Token, error) { return nil, plain }), "no credentials in the vault", plain, mcperrors.KindAuth},
		"nothing": {source(func() (*oauth2.Token, error) { return nil, nil }), "returned no token", nil, mcperrors.KindAuth},
		"empty":   {oauth2.StaticTokenSource(&oauth2.Token{}), "returned no token", nil, mcperrors.KindAuth},
		"expired": {source(func() (*oauth2.Token, error) {
			return &oauth2.Token{AccessToken: "planted-secret", Expiry: time.Now().Add(-time.Second)}, nil
		}), "has expired", nil, mcperrors.KindAuth},
		"another type": {oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "planted-secret", TokenType: "MAC"}), `type "MAC"`, nil, mcperrors.KindAuth},
		"a panic":      {source(func() (*oauth2.Token, error) { panic("a bug") }), "TokenSource panicked: a bug", nil, mcperrors.KindApp},
		"Goexit": {source(func() (*oauth2.Token, error) {
			runtime.Goexit()
			return nil, nil
		}), "ended its goroutine", nil, mcperrors.KindApp},
		"refused": {program.TokenSource(t.Context(), &oauth2.Token{RefreshToken: "planted-secret-refresh"}), "refused: invalid_target (HTTP status 400)", nil, mcperrors.KindAuth},
		"a code of its own": {source(func() (*oauth2.Token, error) {
			return nil, fmt.Errorf("mine: %w", &oauth2.RetrieveError{Body: []byte("planted-secret"), ErrorCode: "planted-secret", ErrorDescription: "planted-secret"})
		}), "gave no token", nil, mcperrors.KindAuth},
		"an ended context": {program.TokenSource(ended, &oauth2.Token{RefreshToken: "planted-secret-refresh"}), "the context of the token source has ended", nil, mcperrors.KindAuth},
		"nobody there": {source(func() (*oauth2.Token, error) {
			return nil, &url.Error{Op: "Post", URL: "https://as.test/?secret=planted-secret", Err: errors.New("malformed HTTP status code planted-secret")}
		}), "the request of the token source failed", nil, mcperrors.KindAuth},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := client.Dial(t.Context(), w.MCP.URL+"/mcp", client.WithProtocolVersion("2025-11-25"), client.WithAuthorizer(tokensource.From(tt.source)))
			require.Nil(t, c)
			require.ErrorContains(t, err, tt.want)
			require.Equal(t, tt.kind, mcperrors.KindOf(err))
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
			for ; err != nil; err = errors.Unwrap(err) {
				require.NotContains(t, fmt.Sprintf("%v %+v %#v %q", err, err, err, err), "planted-secret")
			}
		})
	}
}

func TestErrorsOfSourcesAreTyped(t *testing.T) {
	t.Parallel()
	refused := &oauth2.RetrieveError{Response: &http.Response{StatusCode: http.StatusBadRequest}, ErrorCode: "invalid_grant", Body: []byte("planted-secret")}
	a := tokensource.From(source(func() (*oauth2.Token, error) { return nil, refused }))
	_, err := a.Authorize(t.Context(), request(t, "https://mcp.test/mcp?q=planted-secret"))
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, auth.ReasonToken, e.Reason)
	require.Equal(t, "https://mcp.test/mcp", e.Server)
	require.Contains(t, e.Help, "log in again")
	var why *tokensource.RefusedError
	require.ErrorAs(t, err, &why)
	require.Equal(t, tokensource.RefusedError{Status: 400, Code: "invalid_grant"}, *why)
	require.NotErrorAs(t, err, new(*oauth2.RetrieveError))

	_, err = a.Authorize(t.Context(), request(t, "http://mcp.test/mcp"))
	require.ErrorAs(t, err, &e)
	require.Equal(t, auth.ReasonOption, e.Reason)

	own, err := a.Challenged(t.Context(), transport.Challenge{AuthorizedRequest: request(t, "https://mcp.test/mcp"), Status: http.StatusForbidden})
	require.NoError(t, err)
	require.Nil(t, own)
}
