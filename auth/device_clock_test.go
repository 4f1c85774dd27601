package auth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// piped is a network in memory, for tests on a virtual clock.
type piped struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *piped) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *piped) Close() error { close(p.done); return nil }

func (*piped) Addr() net.Addr { return &net.UnixAddr{Name: "piped"} }

// serve serves a handler in memory, and returns the transport that reaches it.
func (p *piped) serve(t *testing.T, h http.Handler) *http.Transport {
	t.Helper()
	server := &http.Server{Handler: h}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(p) })
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		serving.Wait()
	})
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case p.conns <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

// A login on another device ends with the code, with the time that a person has, or with the caller.
func TestDeviceEnds(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		life   int           // of the code, in seconds
		login  time.Duration // that a person has
		leaves time.Duration // the caller, 0 for never
		agrees time.Duration // the person, 0 for never
		after  time.Duration
		polls  int
		err    string
	}{
		"the person agrees":          {life: 900, login: 10 * time.Minute, agrees: 12 * time.Second, after: 15 * time.Second, polls: 3},
		"the code expires":           {life: 30, login: 10 * time.Minute, after: 30 * time.Second, polls: 5, err: "the code has expired before anybody logged in"},
		"the time to log in is over": {life: 900, login: 61 * time.Second, after: 61 * time.Second, polls: 12, err: "nobody logged in in time"},
		"a code without an end":      {life: 0, login: 61 * time.Second, after: 61 * time.Second, polls: 12, err: "nobody logged in in time"},
		"the caller leaves":          {life: 900, login: 10 * time.Minute, leaves: 13 * time.Second, after: 13 * time.Second, polls: 2, err: "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				polls := 0
				json := func(rw http.ResponseWriter, status int, format string, args ...any) {
					rw.Header().Set("Content-Type", "application/json")
					rw.WriteHeader(status)
					_, _ = fmt.Fprintf(rw, format, args...)
				}
				mux := http.NewServeMux()
				mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(rw http.ResponseWriter, _ *http.Request) {
					json(rw, 200, `{"resource": "http://127.0.0.1/mcp", "authorization_servers": ["http://127.0.0.1"]}`)
				})
				mux.HandleFunc("/.well-known/oauth-authorization-server", func(rw http.ResponseWriter, _ *http.Request) {
					json(rw, 200, `{"issuer": "http://127.0.0.1", "token_endpoint": "http://127.0.0.1/token", "device_authorization_endpoint": "http://127.0.0.1/device"}`)
				})
				mux.HandleFunc("/device", func(rw http.ResponseWriter, _ *http.Request) {
					json(rw, 200, `{"device_code": "device-planted-secret", "user_code": "ABCD", "verification_uri": "http://127.0.0.1/verify", "expires_in": %d}`, row.life)
				})
				mux.HandleFunc("/token", func(rw http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					if polls++; row.agrees == 0 || time.Since(began) < row.agrees {
						json(rw, 400, `{"error": "authorization_pending"}`)
						return
					}
					json(rw, 200, `{"access_token": "access-planted-secret", "token_type": "Bearer"}`)
				})
				base := (&piped{conns: make(chan net.Conn), done: make(chan struct{})}).serve(t, mux)
				var shown auth.Prompt
				ended := make(chan struct{})
				a := auth.Device(auth.WithTransport(base), auth.WithClient("registered", "", ""), auth.WithLoginTime(row.login),
					auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
						shown = p
						<-ctx.Done() // it shows the code until then
						close(ended)
						return nil
					}))
				defer func() { require.NoError(t, a.Close()) }()
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				if row.leaves > 0 {
					defer time.AfterFunc(row.leaves, leave).Stop()
				}
				at := &url.URL{Scheme: "http", Host: "127.0.0.1", Path: "/mcp"}
				_, err := a.Challenged(ctx, transport.Challenge{
					AuthorizedRequest: transport.AuthorizedRequest{Method: http.MethodPost, Endpoint: at, URL: at}, Status: http.StatusUnauthorized,
				})
				require.Equal(t, row.after, time.Since(began))
				synctest.Wait()
				<-ended
				require.Equal(t, row.polls, polls)
				require.Equal(t, "ABCD", shown.UserCode)
				require.Equal(t, row.life > 0, !shown.Expires.IsZero())
				if row.err == "" {
					require.NoError(t, err)
					token, err := a.Token(t.Context(), "http://127.0.0.1/mcp")
					require.NoError(t, err)
					require.Equal(t, "access-planted-secret", token)
					return
				}
				require.ErrorContains(t, err, row.err)
				require.NotContains(t, err.Error(), "planted-secret")
				var e *auth.Error
				if errors.As(err, &e) {
					require.Equal(t, auth.ReasonLogin, e.Reason)
					require.Equal(t, "http://127.0.0.1/verify", e.LoginURL)
				}
			})
		})
	}
}
