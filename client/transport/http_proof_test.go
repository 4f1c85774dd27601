package transport_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// tripper is a caller's round tripper.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// pool is a pool of the test's own.
func pool(t *testing.T) *http.Transport {
	rt := &http.Transport{}
	t.Cleanup(rt.CloseIdleConnections)
	return rt
}

type tokenKey struct{}

// A RoundTripper that writes credentials into its request, as many do, must not add them to other
// requests.
func TestHTTPRoundTripperChangesHeader(t *testing.T) {
	t.Parallel()
	s := serve(t, withSession("one"))
	next := pool(t)
	p := dial(t, &transport.HTTP{URL: s.url, RoundTripper: tripper(func(r *http.Request) (*http.Response, error) {
		if token, ok := r.Context().Value(tokenKey{}).(string); ok {
			r.Header.Set("Authorization", token)
			r.URL.Path = "/changed"
		} else if r.Method == http.MethodDelete {
			r.Header.Set("X-Delete", "1")
		}
		return next.RoundTrip(r)
	})})
	p.answers("initialize")
	as := func(user string) {
		_, err := p.Call(context.WithValue(t.Context(), tokenKey{}, user), p.request("m"))
		require.NoError(t, err)
	}
	as("alice")
	p.answers("nobody")
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() { as("bob") })
	}
	work.Wait()
	p.answers("initialize")
	for _, got := range append(s.find("nobody"), s.find("initialize")...) {
		require.Empty(t, got.header.Get("Authorization"))
		require.Equal(t, "/", got.path)
	}
	require.Equal(t, "alice", s.find("m")[0].header.Get("Authorization"))
}

// The password in the URL is sent in a header; round trippers log URLs.
func TestHTTPRoundTripperSeesNoPassword(t *testing.T) {
	t.Parallel()
	s := serve(t, withSession("one"))
	next := pool(t)
	var mu sync.Mutex
	var seen []string
	p := dial(t, &transport.HTTP{
		URL: strings.Replace(s.url, "http://", "http://me:pa55@", 1),
		RoundTripper: tripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			seen = append(seen, r.Method+" "+r.URL.String())
			mu.Unlock()
			return next.RoundTrip(r)
		}),
	})
	p.answers("initialize")
	require.NoError(t, p.Close())
	require.Equal(t, []string{"POST " + s.url, "DELETE " + s.url}, seen)
	for _, got := range s.received() {
		require.Equal(t, "Basic bWU6cGE1NQ==", got.header.Get("Authorization"))
	}
}

// The HTTP layer repeats a POST with such a header automatically, so it may run twice.
func TestHTTPIdempotencyKeyRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Idempotency-Key", "x-idempotency-key"} {
		_, err := (&transport.HTTP{URL: "http://localhost", Header: http.Header{name: {"k"}}}).Connect(t.Context(), transport.Handler{})
		require.ErrorContains(t, failure(t, err, transport.ReasonOption), name)

		s := serve(t, answerAll)
		p := dial(t, &transport.HTTP{URL: s.url, HeaderFunc: func(context.Context) (http.Header, error) {
			return http.Header{name: {"k"}}, nil
		}})
		f := p.fails("m", transport.ReasonOption)
		require.ErrorContains(t, f, name)
		require.True(t, f.NotSent)
		require.Empty(t, s.received())
	}
}

// A RoundTripper that fails on a second try proves nothing about the first: whatever the last
// error is, the request may have run.
func TestHTTPNotSentIsProof(t *testing.T) {
	t.Parallel()
	secure := quiet(http.NotFoundHandler())
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := quiet(http.NotFoundHandler())
	plain.Start()
	t.Cleanup(plain.Close)
	tests := map[string]struct {
		last   string
		reason transport.Reason
	}{
		"dial":        {"http://127.0.0.1:1", transport.ReasonUnavailable},
		"DNS":         {"http://no-such-host.invalid", transport.ReasonUnavailable},
		"certificate": {secure.URL, transport.ReasonConfig},
		"plain":       {strings.Replace(plain.URL, "http:", "https:", 1), transport.ReasonConfig},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := replyServer(t, raw(""))
			next := pool(t)
			p := dial(t, &transport.HTTP{URL: s.url, RoundTripper: tripper(func(r *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(r)
				if err == nil {
					return resp, nil
				}
				again, err := http.NewRequestWithContext(r.Context(), r.Method, tt.last, nil)
				if err != nil {
					return nil, err
				}
				again.Header = r.Header
				if again.Body, err = r.GetBody(); err != nil {
					return nil, err
				}
				return next.RoundTrip(again)
			})})
			require.False(t, p.fails("m", tt.reason).NotSent)
			require.Len(t, s.find("m"), 1)
		})
	}
}

// resetting is a connection that is reset when the reply to a sent request is read.
type resetting struct {
	net.Conn
	sent chan struct{}
	once sync.Once
	bad  atomic.Bool
}

func (r *resetting) Write(p []byte) (int, error) {
	n, err := r.Conn.Write(p)
	if strings.Contains(string(p), `"method":"m"`) {
		r.bad.Store(true)
		r.once.Do(func() { close(r.sent) })
	}
	return n, err
}

func (r *resetting) Read(p []byte) (int, error) {
	<-r.sent
	return 0, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
}

// A reset after the whole request was sent does not prove that it did not run.
func TestHTTPResetAfterSending(t *testing.T) {
	t.Parallel()
	s := serve(t, answerAll)
	rt := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return &resetting{Conn: c, sent: make(chan struct{})}, err
	}}
	t.Cleanup(rt.CloseIdleConnections)
	p := dial(t, &transport.HTTP{URL: s.url, RoundTripper: rt})
	require.False(t, p.fails("m", transport.ReasonLost).NotSent)
}

// After a lost session nothing is sent without its id, since it would belong to another session
// or to none. A new initialize repairs the connection.
func TestHTTPAfterLostSession(t *testing.T) {
	t.Parallel()
	var lost atomic.Bool
	s := serve(t, func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.method() == "gone" {
			lost.Store(true)
			http.NotFound(w, r)
			return
		}
		withSession("one")(w, r, p)
	})
	p := dial(t, &transport.HTTP{URL: s.url})
	p.answers("initialize")
	require.False(t, p.fails("gone", transport.ReasonSession).NotSent)
	before := len(s.received())
	for range 2 {
		require.True(t, p.fails("m", transport.ReasonSession).NotSent)
	}
	require.True(t, failure(t, p.Notify(t.Context(), note), transport.ReasonSession).NotSent)
	require.True(t, failure(t, p.Respond(t.Context(), reply), transport.ReasonSession).NotSent)
	require.Len(t, s.received(), before)
	p.answers("initialize")
	p.answers("m")
	require.Equal(t, "one", s.find("m")[0].header.Get("Mcp-Session-Id"))
}

// An endless head is not read to its end.
func TestHTTPHugeHeader(t *testing.T) {
	t.Parallel()
	s := replyServer(t, func(w http.ResponseWriter, _ string) {
		w.Header().Set("X-Huge", strings.Repeat("x", 100<<10))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, good)
	})
	p := dial(t, &transport.HTTP{URL: s.url})
	require.False(t, p.fails("m", transport.ReasonTooLarge).NotSent)
}

// Retry-After also applies to an error in a body.
func TestHTTPRetryAfterOfError(t *testing.T) {
	t.Parallel()
	const body = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"busy"}}`
	for value, want := range retryAfters {
		s := replyServer(t, answered(429, "application/json", body, "Retry-After", value))
		p := dial(t, &transport.HTTP{URL: s.url})
		answer := p.answers("m")
		require.Equal(t, 429, answer.HTTP.Status)
		require.Equal(t, want, answer.RetryAfter, value)
	}
}
