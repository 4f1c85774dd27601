package transport_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
)

// asked counts how often the application is asked. Its credentials are for one request if once is
// set.
type asked struct {
	once               bool
	headers, authorize atomic.Int32
}

func (a *asked) HeaderFunc(context.Context) (http.Header, error) {
	a.headers.Add(1)
	return http.Header{"X-Tenant": {"acme"}}, nil
}

func (a *asked) Authorize(context.Context, transport.AuthorizedRequest) (*transport.Credentials, error) {
	a.authorize.Add(1)
	return &transport.Credentials{Header: http.Header{"Authorization": {"t"}}, Scope: "t", Once: a.once}, nil
}

func (a *asked) Challenged(context.Context, transport.Challenge) (*transport.Credentials, error) {
	return nil, nil
}

func (a *asked) equal(t *testing.T, want int, why string) {
	t.Helper()
	require.EqualValues(t, want, a.headers.Swap(0), why)
	require.EqualValues(t, want, a.authorize.Swap(0), why)
}

// The server's own stream asks once for each GET, and so does a resumed reply.
func TestStreamsAskForEachRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &asked{}
		s := &web{url: memhttp.URL}
		srv := memhttp.New(s.handlerOf(func(w http.ResponseWriter, r *http.Request, p posted) {
			switch {
			case p.verb == http.MethodGet && r.Header.Get("Last-Event-Id") == "7":
				says("data: "+`{"jsonrpc":"2.0","id":`+s.find("m")[0].id()+`,"result":{}}`+"\n\n", false)(w, r, p)
			case p.verb == http.MethodGet:
				says(": hello\n\n", false)(w, r, p)
			case p.method() == "m":
				says("id: 7\ndata: \n\n", false)(w, r, p)
			default:
				withSession("s1")(w, r, p)
			}
		}))
		t.Cleanup(srv.Close)
		p := dial(t, &transport.HTTP{URL: s.url, RoundTripper: srv.Transport(), HeaderFunc: a.HeaderFunc, Authorizer: a})
		p.answers("initialize")
		p.answers("m")
		a.equal(t, 3, "initialize, the call, and its resumption")
		stream, ok := p.Conn.(interface{ OpenStream() <-chan struct{} })
		require.True(t, ok)
		before := len(s.received())
		<-stream.OpenStream()
		time.Sleep(time.Minute)
		synctest.Wait()
		opened := len(s.received()) - before
		require.Greater(t, opened, 1)
		a.equal(t, opened, "each opening of the stream")
		require.NoError(t, p.Conn.Close())
		a.equal(t, 1, "the end of the session")
	})
}

// A call with the application's answer does not ask again. Credentials for one request are the
// exception: they are for the first request, and for a short time.
func TestCallerOfARequest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		once    bool
		waits   time.Duration
		answers int // of the Authorizer, for two requests
	}{
		"credentials for all requests":        {false, time.Hour, 0},
		"credentials for one request":         {true, 0, 1},
		"credentials for one request, waited": {true, 11 * time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &asked{once: tt.once}
				s := &web{url: memhttp.URL}
				srv := memhttp.New(s.handlerOf(answerAll))
				t.Cleanup(srv.Close)
				h := &transport.HTTP{URL: s.url, RoundTripper: srv.Transport(), HeaderFunc: a.HeaderFunc, Authorizer: a}
				p := dial(t, h)
				who := h.Callers()(t.Context())
				a.equal(t, 1, "the start of the call")
				time.Sleep(tt.waits)
				for range 2 {
					req := p.request("m")
					req.Caller = who
					answer, err := p.Call(t.Context(), req)
					require.NoError(t, err)
					require.Equal(t, who.Name, answer.Caller.Name)
				}
				a.equal(t, tt.answers, "the requests")
				for _, came := range s.find("m") {
					require.Equal(t, "t", came.header.Get("Authorization"))
					require.Equal(t, "acme", came.header.Get("X-Tenant"))
				}
			})
		})
	}
}
