package auth_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// slow is a person who logs in when the test allows it.
type slow struct {
	asked chan struct{} // a login began
	agree chan struct{} // closed: the person logs in
	ended chan error    // why a login ended before that
}

func newSlow() *slow {
	return &slow{make(chan struct{}, 8), make(chan struct{}), make(chan error, 8)}
}

func (s *slow) prompt() auth.Option {
	return auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
		s.asked <- struct{}{}
		select {
		case <-s.agree:
		case <-ctx.Done():
			s.ended <- context.Cause(ctx)
			return ctx.Err()
		}
		return visit(ctx, p.URL)
	})
}

// expiring is a context whose deadline passes when the person is asked.
func (s *slow) expiring(t *testing.T) context.Context {
	ctx, expire := context.WithCancelCause(t.Context())
	go func() {
		<-s.asked
		expire(context.DeadlineExceeded)
	}()
	return ctx
}

func dialWithin(ctx context.Context, w *authtest.World, a transport.Authorizer) (*client.Client, error) {
	return client.Dial(ctx, w.MCP.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
}

// A person needs longer than the timeout of a call. The login continues, and the next call
// uses its token.
func TestLoginOutlivesTheDeadline(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	person := newSlow()
	a := auth.Login(person.prompt())
	_, err := dialWithin(person.expiring(t), w, a)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(person.agree)
	c, err := dialWithin(t.Context(), w, a)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.Equal(t, 1, w.Asked("authorize"))
	require.Empty(t, person.ended)
}

// Canceling the only call that waits for a login cancels the login.
func TestLoginIsCancelled(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	person := newSlow()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-person.asked
		cancel()
	}()
	_, err := dialWithin(ctx, w, auth.Login(person.prompt()))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, <-person.ended, context.Canceled)
}

// Close ends a login that no call waits for.
func TestCloseEndsLogins(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	person := newSlow()
	a := auth.Login(person.prompt())
	_, err := dialWithin(person.expiring(t), w, a)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, a.Close())
	require.ErrorIs(t, <-person.ended, context.Canceled)
	require.NoError(t, a.Close())
	_, err = dial(t, w, a)
	require.ErrorContains(t, err, "the Authorizer was closed", "no login begins any more")
}

// A server may name several authorization servers. The second will do when the first
// cannot be reached, and not when the first breaks a rule.
func TestSecondAuthorizationServer(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	forged := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"issuer":"https://other.example","token_endpoint":"https://other.example/token"}`)
	}))
	t.Cleanup(forged.Close)
	for _, row := range []struct {
		name, first, err string
	}{
		{"the first is down", gone.URL, ""},
		{"the first is somebody else", forged.URL, "is of the issuer"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := authtest.New(t)
			w.Resource["authorization_servers"] = []string{row.first, w.AS.URL}
			_, err := dial(t, w, auth.Login(browser(t)))
			if row.err != "" {
				require.ErrorContains(t, err, row.err)
				require.Zero(t, w.Asked("authorize"))
				return
			}
			require.NoError(t, err)
		})
	}
}
