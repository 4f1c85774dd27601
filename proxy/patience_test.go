package proxy_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// site is a server behind a URL that can be down.
type site struct {
	*clienttest.Server
	down atomic.Pointer[func(*http.Request) (*http.Response, error)] // what requests get meanwhile
	came atomic.Int32                                                // requests while it was down
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Server: clienttest.NewServer(t)}
	s.SetCapabilities(mcp.ServerCapabilities{Tools: &mcp.ListChangedCapability{}})
	s.Tool("a", "", answers("I am a"))
	return s
}

func (s *site) goDown(how func(*http.Request) (*http.Response, error)) { s.down.Store(&how) }
func (s *site) comeBack()                                              { s.down.Store(nil) }

// goesThrough is a RoundTripper made of a function.
type goesThrough func(*http.Request) (*http.Response, error)

func (f goesThrough) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (s *site) to(version mcp.Version) proxy.Target {
	return func(ctx context.Context, own ...client.Option) (*client.Client, error) {
		over := s.HTTP()
		inner := over.RoundTripper
		over.RoundTripper = goesThrough(func(r *http.Request) (*http.Response, error) {
			if down := s.down.Load(); down != nil {
				s.came.Add(1)
				return (*down)(r)
			}
			return inner.RoundTrip(r)
		})
		return client.Connect(ctx, over, append(own, client.WithProtocolVersion(string(version)))...)
	}
}

func failing(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

var (
	refused  = failing(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)})
	offline  = failing(&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "server misbehaving", Name: "s.example", IsTemporary: true}})
	unknown  = failing(&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "s.example", IsNotFound: true}})
	untrusty = failing(x509.UnknownAuthorityError{})
)

func midAir(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return nil, io.ErrUnexpectedEOF
}

func status(code int, headers ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		header := http.Header{"Content-Type": {"text/plain"}}
		for i := 0; i < len(headers); i += 2 {
			header.Set(headers[i], headers[i+1])
		}
		return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader("no"))}, nil
	}
}

// A URL that is down is waited for, by a host's first request and by its calls, if it may come
// back: for 50 s, in which the host hears of it. What is wrong for good is said at once.
func TestURLThatIsDown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		down        func(*http.Request) (*http.Response, error)
		first, call time.Duration // how long the first request and a call wait
		says        string
	}{
		"nothing listens":      {refused, 50 * time.Second, 50 * time.Second, "connection refused"},
		"this machine offline": {offline, 50 * time.Second, 50 * time.Second, "server misbehaving"},
		"an unknown name":      {unknown, 10 * time.Second, 50 * time.Second, "no such host"},
		"a gateway":            {status(http.StatusBadGateway), 50 * time.Second, 0, "status 502"},
		"no endpoint":          {status(http.StatusNotFound), 0, 0, "check the URL"},
		"a refused login":      {status(http.StatusForbidden), 0, 0, "denied access"},
		"a certificate":        {untrusty, 0, 0, "certificate is not accepted"},
		"a failed TLS shake":   {failing(&net.OpError{Op: "remote error", Err: errors.New("tls: handshake failure")}), 0, 0, "handshake failure"},
		"a request in mid-air": {midAir, 50 * time.Second, 0, "ended in the middle"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
				s := newSite(t)
				s.goDown(tt.down)
				h := startHost(t, s.to(server))
				began := time.Now()
				first, params := mcp.MethodDiscover, ""
				if host == mcp.EraSession {
					first, params = mcp.MethodInitialize, `"protocolVersion":"2025-11-25","clientInfo":{"name":"h","version":"1"},"capabilities":{}`
				}
				answer := h.asked(host, 1, first, params)
				require.Contains(t, answer, `"code":-32000`)
				require.Contains(t, answer, tt.says)
				require.InDelta(t, tt.first.Seconds(), time.Since(began).Seconds(), 3)
				if tt.first > 0 {
					require.Contains(t, answer, "for the server: ")
					require.Contains(t, answer, `"retryable":true`)
				}

				s.comeBack()
				h.begin(host)
				s.goDown(tt.down)
				began = time.Now()
				answer = h.asked(host, 2, mcp.MethodToolsCall, `"name":"a"`)
				require.Contains(t, answer, tt.says)
				require.InDelta(t, tt.call.Seconds(), time.Since(began).Seconds(), 5)
				if tt.call > 0 {
					require.Contains(t, answer, "The tool did not run: waited")
					require.Contains(t, answer, `"delivery":"not-sent","retryable":true`)
				}
				require.Less(t, s.came.Load(), int32(250))
				require.NoError(t, h.close())
			})
		})
	}
}

// A server that is being started again is nobody's problem.
func TestURLComesBack(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		s := newSite(t)
		s.goDown(refused)
		h := startHost(t, s.to(server))
		time.AfterFunc(20*time.Second, s.comeBack)
		h.begin(host)
		s.goDown(refused)
		time.AfterFunc(25*time.Second, func() {
			s.ForgetSessions()
			s.comeBack()
		})
		if host == mcp.EraSession {
			h.send(2, mcp.MethodToolsCall, `{"name":"a","_meta":{"progressToken":"p"}}`)
		} else {
			h.stateless(2, mcp.MethodToolsCall, `{}`, `,"progressToken":"p"`, `,"name":"a"`)
		}
		began := time.Now()
		line, beats := h.read(), 0
		for ; strings.Contains(line, mcp.MethodProgress); beats++ {
			require.Contains(t, line, "the server cannot be reached; waiting for it, ")
			line = h.read()
		}
		require.Contains(t, line, "I am a")
		require.GreaterOrEqual(t, beats, 2)
		require.Less(t, time.Since(began), 35*time.Second, "the circuit is probed when its 30 s are over")
		require.Equal(t, 1, s.Count(mcp.MethodToolsCall))
		require.NoError(t, h.close())
	})
}

// The end of the host, its cancellation and its time-out end the wait.
func TestWaitForURLEnds(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		s := newSite(t)
		h := startHost(t, s.to(server), proxy.WithHostTimeout(30*time.Second))
		h.begin(host)
		s.goDown(refused)
		began := time.Now()
		require.Contains(t, h.asked(host, 2, mcp.MethodToolsCall, `"name":"a"`), "the server was still not ready after 28s")
		require.Equal(t, 28*time.Second, time.Since(began).Truncate(time.Second))
		if host == mcp.EraSession {
			h.send(3, mcp.MethodToolsCall, `{"name":"a"}`)
		} else {
			h.stateless(3, mcp.MethodToolsCall, `{}`, ``, `,"name":"a"`)
		}
		began = time.Now()
		require.NoError(t, h.close())
		require.Less(t, time.Since(began), 4*time.Second)
		require.Equal(t, 0, s.Count(mcp.MethodToolsCall))
	})
}

// A call of a group waits for the server whose name it has, and nothing else does.
func TestURLOfAGroup(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		s, other := newSite(t), newSite(t)
		s.goDown(refused)
		h := startHost(t, proxy.Servers(proxy.Named{Name: "s", Target: s.to(server)}, proxy.Named{Name: "o", Target: other.to(server)}))
		began := time.Now()
		h.begin(host)
		require.NotContains(t, h.asked(host, 2, mcp.MethodToolsList, ""), "s__a")
		require.Contains(t, h.asked(host, 3, mcp.MethodToolsCall, `"name":"o__a"`), "I am a")
		require.Contains(t, h.asked(host, 4, mcp.MethodResourcesRead, `"uri":"file:///a"`), `"error"`)
		require.Less(t, time.Since(began), 3*time.Second)
		began = time.Now()
		require.Contains(t, h.asked(host, 5, mcp.MethodToolsCall, `"name":"s__a"`), "connection refused")
		require.InDelta(t, 50, time.Since(began).Seconds(), 3)
		time.AfterFunc(20*time.Second, s.comeBack)
		if host == mcp.EraSession {
			h.send(6, mcp.MethodToolsCall, `{"name":"s__a"}`)
		} else {
			h.stateless(6, mcp.MethodToolsCall, `{}`, ``, `,"name":"s__a"`)
		}
		line := h.read()
		for strings.Contains(line, "list_changed") {
			line = h.read()
		}
		require.Contains(t, line, "I am a")
		require.Less(t, s.came.Load(), int32(200))
		go func() { // late announcements
			for {
				if _, err := h.lines.ReadString('\n'); err != nil {
					return
				}
			}
		}()
		require.NoError(t, h.in.Close())
		require.NoError(t, <-h.ended)
	})
}
