package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// keys is an Authorizer under control of the test.
type keys struct {
	now        atomic.Pointer[transport.Credentials]
	err        error
	challenged func(ctx context.Context, c transport.Challenge) (bool, error)

	mu   sync.Mutex
	told []transport.Challenge
}

func key(token string) *transport.Credentials {
	return &transport.Credentials{Header: http.Header{"Authorization": {"Bearer " + token}}, Scope: token}
}

func (k *keys) Authorize(context.Context, transport.AuthorizedRequest) (*transport.Credentials, error) {
	return k.now.Load(), k.err
}

func (k *keys) Challenged(ctx context.Context, c transport.Challenge) (*transport.Credentials, error) {
	k.mu.Lock()
	k.told = append(k.told, c)
	k.mu.Unlock()
	again, err := k.challenged(ctx, c)
	if !again {
		return nil, err
	}
	if now := k.now.Load(); now != nil {
		return now, err
	}
	return key("bad"), err
}

// guarded answers requests that carry a token, and sends the others a challenge.
func guarded(token string, status int) func(http.ResponseWriter, *http.Request, posted) {
	return func(w http.ResponseWriter, r *http.Request, p posted) {
		if r.Header.Get("Authorization") == "Bearer "+token {
			withSession("s1")(w, r, p)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer scope="x"`)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "no")
	}
}

// The request is sent again with other credentials, the same id and the same body.
func TestChallengeIsAnswered(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		k := &keys{}
		k.challenged = func(context.Context, transport.Challenge) (bool, error) {
			k.now.Store(key("good"))
			return true, nil
		}
		s := serve(t, guarded("good", status))
		p := dial(t, &transport.HTTP{URL: s.url + "/mcp", Authorizer: k})
		p.answers("m")
		came := s.find("m")
		require.Len(t, came, 2)
		require.Equal(t, came[0].body, came[1].body)
		require.Empty(t, came[0].header.Get("Authorization"))
		require.Equal(t, "Bearer good", came[1].header.Get("Authorization"))
		require.Len(t, k.told, 1)
		require.Equal(t, status, k.told[0].Status)
		require.Nil(t, k.told[0].Sent)
		require.Equal(t, `Bearer scope="x"`, k.told[0].Header.Get("WWW-Authenticate"))
		require.Equal(t, s.url+"/mcp", k.told[0].Endpoint.String())
	}
}

// Notifications and the end of the session carry credentials, too.
func TestEveryRequestIsAuthorized(t *testing.T) {
	t.Parallel()
	k := &keys{}
	k.now.Store(key("good"))
	s := serve(t, guarded("good", http.StatusUnauthorized))
	p := dial(t, &transport.HTTP{URL: s.url, Authorizer: k})
	p.answers("initialize")
	require.NoError(t, p.Notify(t.Context(), jsonrpc.Notification{Method: "n"}))
	require.NoError(t, p.Conn.Close())
	verbs := map[string]int{}
	for _, came := range s.received() {
		require.Equal(t, "Bearer good", came.header.Get("Authorization"), came.method())
		verbs[came.verb]++
	}
	require.Equal(t, map[string]int{http.MethodPost: 2, http.MethodDelete: 1}, verbs)
}

func TestRequestsWithoutCredentials(t *testing.T) {
	t.Parallel()
	down := errors.New("the authorization server is down")
	tests := []struct {
		name    string
		keys    func() *keys
		reason  transport.Reason
		notSent bool
		refused bool
		came    int
	}{
		{"none can be had before", func() *keys { return &keys{err: down} }, transport.ReasonAuthorization, true, false, 0},
		{"none can be had after", func() *keys {
			return &keys{challenged: func(context.Context, transport.Challenge) (bool, error) { return false, down }}
		}, transport.ReasonAuthorization, false, true, 1},
		{"the answer is final", func() *keys {
			return &keys{challenged: func(context.Context, transport.Challenge) (bool, error) { return false, nil }}
		}, transport.ReasonStatus, false, true, 1},
		{"repeated challenges", func() *keys {
			return &keys{challenged: func(context.Context, transport.Challenge) (bool, error) { return true, nil }}
		}, transport.ReasonStatus, false, true, 6},
		{"a panic", func() *keys {
			return &keys{challenged: func(context.Context, transport.Challenge) (bool, error) { panic("oops") }}
		}, transport.ReasonCallback, false, true, 1},
		{"a header of the protocol", func() *keys {
			k := &keys{}
			k.now.Store(&transport.Credentials{Header: http.Header{"Mcp-Session-Id": {"x"}}})
			return k
		}, transport.ReasonAuthorization, true, false, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, guarded("good", http.StatusUnauthorized))
			p := dial(t, &transport.HTTP{URL: s.url, Authorizer: test.keys()})
			f := p.fails("m", test.reason)
			require.Equal(t, test.notSent, f.NotSent)
			if test.reason != transport.ReasonStatus {
				require.Equal(t, test.refused, f.Rejected)
			}
			require.Len(t, s.find("m"), test.came)
		})
	}
}

// A request that has run is not sent again, whatever its status is.
func TestResultWithAStatusOfRefusal(t *testing.T) {
	t.Parallel()
	k := &keys{challenged: func(context.Context, transport.Challenge) (bool, error) { return true, nil }}
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, p posted) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+p.id()+`,"result":{}}`)
	})
	p := dial(t, &transport.HTTP{URL: s.url, Authorizer: k})
	_, _ = p.try("m")
	require.Len(t, s.find("m"), 1)
	require.Empty(t, k.told)
}

// While a person logs in, the timers of the call are paused; before and after that they run.
func TestLoginTakesNoTimeOfTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &keys{}
		k.challenged = func(context.Context, transport.Challenge) (bool, error) {
			time.Sleep(10 * time.Minute)
			k.now.Store(key("good"))
			return true, nil
		}
		s := &web{url: memhttp.URL}
		srv := memhttp.New(s.handlerOf(func(w http.ResponseWriter, r *http.Request, p posted) {
			if p.method() == "slow" {
				pause(r, time.Hour)
			}
			guarded("good", http.StatusUnauthorized)(w, r, p)
		}))
		t.Cleanup(srv.Close)
		p := dial(t, &transport.HTTP{URL: s.url, RoundTripper: srv.Transport(), Authorizer: k})
		req := p.request("m")
		req.Wait = jsonrpc.Wait{Idle: 5 * time.Second, Max: 20 * time.Second}
		began := time.Now()
		_, err := p.Call(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, 10*time.Minute, time.Since(began))

		req = p.request("slow")
		req.Wait = jsonrpc.Wait{Idle: 5 * time.Second, Max: 20 * time.Second}
		began = time.Now()
		_, err = p.Call(t.Context(), req)
		require.False(t, failure(t, err, transport.ReasonTimeout).NotSent)
		require.Equal(t, 5*time.Second, time.Since(began))
	})
}

// A login may take longer than a server of HTTP+SSE has to open its stream.
func TestLoginBeforeTheStream(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		server time.Duration // until the server names the URL for messages
		err    string
	}{
		{"the server is quick", 5 * time.Second, ""},
		{"the server is too slow", time.Minute, "did not name the URL"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := &keys{}
				k.challenged = func(context.Context, transport.Challenge) (bool, error) {
					time.Sleep(3 * time.Minute)
					k.now.Store(key("good"))
					return true, nil
				}
				s := &web{url: memhttp.URL}
				srv := memhttp.New(s.handlerOf(func(w http.ResponseWriter, r *http.Request, p posted) {
					if r.Header.Get("Authorization") != "Bearer good" {
						w.WriteHeader(http.StatusUnauthorized)
						return
					}
					pause(r, row.server)
					says(endpointEvent, true)(w, r, p)
				}))
				t.Cleanup(srv.Close)
				began := time.Now()
				conn, err := (&transport.SSE{URL: s.url + "/sse", RoundTripper: srv.Transport(), Authorizer: k}).Connect(t.Context(), transport.Handler{})
				if row.err != "" {
					require.ErrorContains(t, err, row.err)
					require.Equal(t, transport.ReasonTimeout, failure(t, err, transport.ReasonTimeout).Reason)
					return
				}
				require.NoError(t, err)
				require.Equal(t, 3*time.Minute+row.server, time.Since(began))
				require.NoError(t, conn.Close())
			})
		})
	}
}

// A caller that gives up does not wait for the Authorizer.
func TestLoginIsGivenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	k := &keys{challenged: func(ctx context.Context, _ transport.Challenge) (bool, error) {
		cancel() // after the server has rejected the request, however slow that was
		<-ctx.Done()
		return false, ctx.Err()
	}}
	s := serve(t, guarded("good", http.StatusUnauthorized))
	p := dial(t, &transport.HTTP{URL: s.url, Authorizer: k})
	_, err := p.Call(ctx, p.request("m"))
	f := failure(t, err, transport.ReasonCanceled)
	require.True(t, f.Rejected)
	require.ErrorIs(t, err, context.Canceled)
}

func TestScopeTellsCallersApart(t *testing.T) {
	t.Parallel()
	k := &keys{}
	h := &transport.HTTP{URL: "http://localhost/mcp", Authorizer: k}
	_, known := h.Scope()
	require.False(t, known)
	ask := h.Callers()
	nobody := ask(t.Context())
	require.NoError(t, nobody.Err)
	k.now.Store(key("a"))
	a := ask(t.Context())
	require.NoError(t, a.Err)
	require.NotEqual(t, nobody.Name, a.Name)
	require.Same(t, a, ask(t.Context()), "one for all calls with the same credentials")
	k.err = errors.New("none")
	require.Error(t, ask(t.Context()).Err)
}

// The server's own stream continues if credentials are not available for a moment.
func TestStreamWithoutCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &keys{}
		var fail atomic.Bool
		opened := 0
		s := &web{url: memhttp.URL}
		srv := memhttp.New(s.handlerOf(func(w http.ResponseWriter, r *http.Request, p posted) {
			if p.verb != http.MethodGet {
				withSession("s1")(w, r, p)
				return
			}
			opened++
			w.Header().Set("Content-Type", "text/event-stream")
			write(w, ": hello\n\n")
			if opened == 1 {
				fail.Store(true)
				return // the stream ends
			}
			<-r.Context().Done()
		}))
		t.Cleanup(srv.Close)
		h := &transport.HTTP{URL: s.url, RoundTripper: srv.Transport(), Authorizer: k}
		h.HeaderFunc = func(context.Context) (http.Header, error) {
			if fail.Load() {
				return nil, errors.New("not now")
			}
			return nil, nil
		}
		p := dial(t, h)
		p.answers("initialize")
		stream, ok := p.Conn.(interface{ OpenStream() <-chan struct{} })
		require.True(t, ok)
		<-stream.OpenStream()
		time.Sleep(time.Minute)
		fail.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 2, opened)
	})
}

// Requests without a waiting call have Background set: nobody should be asked to log in for them.
func TestBackgroundRequests(t *testing.T) {
	t.Parallel()
	k := &keys{challenged: func(context.Context, transport.Challenge) (bool, error) { return false, nil }}
	s := serve(t, guarded("good", http.StatusUnauthorized))
	p := dial(t, &transport.HTTP{URL: s.url, Authorizer: k})
	_, _ = p.try("m")
	_ = p.Notify(t.Context(), jsonrpc.Notification{Method: "n"})
	require.Len(t, k.told, 2)
	require.False(t, k.told[0].Background)
	require.True(t, k.told[1].Background)
}
