package auth_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// troubled is a server of the session era that refuses everybody without a token. It can
// be down, and it can lose its session.
type troubled struct {
	down    atomic.Bool
	session atomic.Pointer[string]
	opened  atomic.Pointer[string] // whose token the last initialize had
}

func (s *troubled) RoundTrip(r *http.Request) (*http.Response, error) {
	status := func(status int) (*http.Response, error) {
		return &http.Response{StatusCode: status, ProtoMajor: 1, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	body := []byte{}
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	token := r.Header.Get("Authorization")
	opens := bytes.Contains(body, []byte(`"initialize"`))
	switch {
	case r.Method != http.MethodPost:
		return status(http.StatusMethodNotAllowed)
	case s.down.Load():
		return status(http.StatusServiceUnavailable)
	case token == "":
		return status(http.StatusUnauthorized)
	case !opens && r.Header.Get("Mcp-Session-Id") != *s.session.Load():
		return status(http.StatusNotFound)
	}
	if opens {
		s.opened.Store(&token)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := prepared{}.RoundTrip(r)
	if err == nil {
		resp.Header.Set("Mcp-Session-Id", *s.session.Load())
	}
	return resp, err
}

// Requests that a client makes for a call, to probe a circuit or to open the next session,
// carry the credentials of that call.
func TestRecoveryWithManyCallers(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]func(*testing.T) transport.Authorizer{
		"Bearer": func(*testing.T) transport.Authorizer {
			return auth.Bearer(func(ctx context.Context) (string, error) {
				name, _ := byContext(ctx)
				return name, nil
			})
		},
		"WithPrincipals": func(t *testing.T) transport.Authorizer {
			store := auth.NewMemory()
			for _, name := range []string{"ada", "bob"} {
				key := auth.Key{Server: "https://prepared.test/mcp", Issuer: "https://as.test", Resource: "https://prepared.test/mcp", ClientID: "c", Principal: name}
				require.NoError(t, store.Update(t.Context(), key, func(r auth.Record) (auth.Record, error) {
					r.Token.Access.Set(name)
					return r, nil
				}))
			}
			return ofMany(auth.WithStore(store))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server, first, second := &troubled{}, "first", "second"
				server.session.Store(&first)
				c, err := client.Connect(as(t, "ada"), &transport.HTTP{URL: "https://prepared.test/mcp", RoundTripper: server, Authorizer: by(t)}, client.WithProtocolVersion("2025-11-25"))
				require.NoError(t, err)
				defer func() { require.NoError(t, c.Close()) }()
				call := func(name string) error {
					_, err := c.CallTool(as(t, name), "echo", map[string]any{})
					return err
				}
				require.NoError(t, call("bob"))

				server.down.Store(true)
				for range 20 {
					require.Error(t, call("bob"))
				}
				require.Contains(t, strings.ToLower(call("bob").Error()), "circuit")
				server.down.Store(false)
				time.Sleep(5 * time.Minute)
				require.NoError(t, call("bob"), "the circuit is probed")

				server.session.Store(&second)
				require.NoError(t, call("bob"), "the next session is opened")
				require.Equal(t, "Bearer bob", *server.opened.Load())
				require.NoError(t, call("ada"))
			})
		})
	}
}
