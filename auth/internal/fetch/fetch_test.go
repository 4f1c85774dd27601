package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
)

// peer is an https server on this machine that records its requests.
type peer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func newPeer(t *testing.T, h http.HandlerFunc) *peer {
	t.Helper()
	p := &peer{}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.requests = append(p.requests, r)
		p.bodies = append(p.bodies, string(body))
		p.mu.Unlock()
		h(w, r)
	}))
	p.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	p.StartTLS()
	t.Cleanup(p.Close)
	return p
}

// client returns a client that trusts all peers.
func (p *peer) client(t *testing.T, o fetch.Options) *fetch.Client {
	t.Helper()
	o.Transport = p.Client().Transport.(*http.Transport)
	o.AllowLoopback = true
	c := fetch.New(o)
	t.Cleanup(c.CloseIdle)
	return c
}

func TestGet(t *testing.T) {
	p := newPeer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-A", "b")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "hello")
	})
	a, err := p.client(t, fetch.Options{}).Get(t.Context(), p.URL+"/a/b?c=d", http.Header{"Mcp-Protocol-Version": {"2025-11-25"}})
	require.NoError(t, err)
	require.Equal(t, p.URL+"/a/b?c=d", a.URL)
	require.Equal(t, http.StatusTeapot, a.Status)
	require.Equal(t, "b", a.Header.Get("X-A"))
	require.Equal(t, "hello", string(a.Body))

	r := p.requests[0]
	require.Equal(t, http.MethodGet, r.Method)
	require.Equal(t, "/a/b?c=d", r.RequestURI)
	require.Equal(t, "mainstay", r.Header.Get("User-Agent"))
	require.Equal(t, "application/json", r.Header.Get("Accept"))
	require.Equal(t, "2025-11-25", r.Header.Get("Mcp-Protocol-Version"))
	require.Empty(t, p.bodies[0])
}

func TestPost(t *testing.T) {
	p := newPeer(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	header := http.Header{"Accept": {"text/plain"}, "Dpop": {"proof"}}
	a, err := p.client(t, fetch.Options{UserAgent: "test/1"}).Post(t.Context(), p.URL+"/token", "application/x-www-form-urlencoded", []byte("a=b"), header)
	require.NoError(t, err)
	require.Equal(t, "{}", string(a.Body))
	require.Equal(t, http.Header{"Accept": {"text/plain"}, "Dpop": {"proof"}}, header, "the caller's header is not changed")

	r := p.requests[0]
	require.Equal(t, http.MethodPost, r.Method)
	require.Equal(t, "test/1", r.Header.Get("User-Agent"))
	require.Equal(t, "text/plain", r.Header.Get("Accept"))
	require.Equal(t, "proof", r.Header.Get("Dpop"))
	require.Equal(t, "application/x-www-form-urlencoded", r.Header.Get("Content-Type"))
	require.Equal(t, "a=b", p.bodies[0])
}

func TestTheOwnDialerReachesThisMachineWhenAllowed(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	defer srv.Close()
	c := fetch.New(fetch.Options{AllowLoopback: true})
	defer c.CloseIdle()
	for _, u := range []string{srv.URL, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)} {
		a, err := c.Get(t.Context(), u, nil)
		require.NoError(t, err)
		require.Equal(t, "ok", string(a.Body))
	}
	_, err := fetch.New(fetch.Options{}).Get(t.Context(), srv.URL, nil)
	var blocked *fetch.BlockedError
	require.ErrorAs(t, err, &blocked)
}

func TestPostNeverFollowsARedirect(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/elsewhere", status)
			})
			a, err := p.client(t, fetch.Options{}).Post(t.Context(), p.URL+"/token", "text/plain", []byte("code=1"), nil)
			require.NoError(t, err)
			require.Equal(t, status, a.Status)
			require.Len(t, p.requests, 1)
		})
	}
}

func TestGetFollowsThreeRedirects(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		p := newPeer(t, func(w http.ResponseWriter, r *http.Request) {
			if n, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/")); n > 0 {
				http.Redirect(w, r, strconv.Itoa(n-1)+"#fragment", status)
			}
		})
		c := p.client(t, fetch.Options{})
		a, err := c.Get(t.Context(), p.URL+"/3", nil)
		require.NoError(t, err)
		require.Equal(t, p.URL+"/0", a.URL)
		require.Len(t, p.requests, 4)

		_, err = c.Get(t.Context(), p.URL+"/4", nil)
		require.ErrorIs(t, err, fetch.ErrRedirect)
		require.Len(t, p.requests, 8)
	}
}

func TestAnAnswerThatIsNoRedirect(t *testing.T) {
	for _, status := range []int{300, 302, 304, 399} {
		p := newPeer(t, func(w http.ResponseWriter, _ *http.Request) {
			if status != 302 {
				w.Header().Set("Location", "/elsewhere")
			}
			w.WriteHeader(status)
		})
		a, err := p.client(t, fetch.Options{}).Get(t.Context(), p.URL, nil)
		require.NoError(t, err)
		require.Equal(t, status, a.Status)
	}
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	var plain atomic.Int32
	insecure := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { plain.Add(1) }))
	defer insecure.Close()
	var location string
	p := newPeer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusFound)
	})
	c := p.client(t, fetch.Options{})
	for to, reason := range map[string]string{
		insecure.URL + "/?code=secret":              "from https to http",
		"http://auth.example.com/?code=secret":      "from https to http",
		"https://169.254.169.254/latest?x=secret":   "metadata service",
		"https://[::ffff:10.0.0.1]/?x=secret":       "private",
		"https://2130706433/?x=secret":              "nonstandard notation",
		"https://secret:secret@auth.example.com/":   "user name",
		"javascript:alert('secret')":                "from https to http",
		"https://auth.example.com:99999/?secret":    "port",
		"https://auth.example.com/%zz?secret":       "not lead to a URL",
		"//10.0.0.1/?secret":                        "private",
		"/" + strings.Repeat("a", 5000) + "?secret": "longer",
	} {
		t.Run(to[:min(len(to), 40)], func(t *testing.T) {
			location = to
			_, err := c.Get(t.Context(), p.URL, nil)
			require.ErrorContains(t, err, reason)
			require.NotContains(t, err.Error(), "secret")
		})
	}
	require.Zero(t, plain.Load())
}

func TestCredentialsStayAtTheirOrigin(t *testing.T) {
	header := http.Header{
		"Authorization": {"Bearer secret"}, "Cookie": {"a=secret"}, "Dpop": {"secret"}, "X-Api-Key": {"secret"},
		"Accept": {"text/plain"}, "Accept-Language": {"de"}, "Mcp-Protocol-Version": {"2025-11-25"},
	}
	// home → home/same → other → home/back
	var home, other *peer
	other = newPeer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, home.URL+"/back", http.StatusFound) })
	home = newPeer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, "/same", http.StatusFound)
		case "/same":
			http.Redirect(w, r, other.URL, http.StatusFound)
		}
	})
	_, err := home.client(t, fetch.Options{}).Get(t.Context(), home.URL+"/", header)
	require.NoError(t, err)
	require.Len(t, home.requests, 3)
	require.Len(t, other.requests, 1)
	for _, r := range home.requests[:2] {
		require.Equal(t, "Bearer secret", r.Header.Get("Authorization"))
		require.Equal(t, "secret", r.Header.Get("X-Api-Key"))
	}
	for _, r := range []*http.Request{other.requests[0], home.requests[2]} {
		require.NotContains(t, fmt.Sprint(r.Header), "secret")
		require.Equal(t, "text/plain", r.Header.Get("Accept"))
		require.Equal(t, "de", r.Header.Get("Accept-Language"))
		require.Equal(t, "2025-11-25", r.Header.Get("Mcp-Protocol-Version"))
	}
	require.Equal(t, "Bearer secret", header.Get("Authorization"), "the caller's header is not changed")
}

// rebinding is a dial function whose resolver returns one address for every name.
func rebinding(address string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}

func TestADialFunctionOfTheCallerIsGuardedToo(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	heard := make(chan []byte, 1)
	go func() {
		defer close(heard)
		if conn, err := l.Accept(); err == nil {
			all, _ := io.ReadAll(conn)
			_ = conn.Close()
			heard <- all
		}
	}()
	past := errors.New("past the guard")
	c := fetch.New(fetch.Options{Transport: &http.Transport{
		DialContext:    rebinding(l.Addr().String()),
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return nil, past },
		DialTLS:        func(string, string) (net.Conn, error) { return nil, past }, //nolint:staticcheck // deprecated, but it works
	}})
	_, err = c.Get(t.Context(), "https://example.com/a?b=secret", nil)
	var blocked *fetch.BlockedError
	require.ErrorAs(t, err, &blocked)
	require.Equal(t, &fetch.BlockedError{URL: "https://example.com/a", Address: "127.0.0.1", Reason: "loopback"}, blocked)
	require.Empty(t, <-heard, "nothing is sent before the address is judged")
	require.NoError(t, l.Close())

	p := newPeer(t, func(http.ResponseWriter, *http.Request) {})
	transport := p.Client().Transport.(*http.Transport).Clone()
	transport.DialContext = rebinding(p.Listener.Addr().String())
	c = fetch.New(fetch.Options{Transport: transport, AllowLoopback: true})
	defer c.CloseIdle()
	a, err := c.Get(t.Context(), "https://example.com/", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, a.Status)
}

func TestProxies(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.RequestURI)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	var dialed []string
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		dialed = append(dialed, address)
		return nil, &net.OpError{Op: "dial", Err: errors.New("no network")}
	}

	t.Run("the environment's is not used unasked", func(t *testing.T) {
		t.Setenv("HTTPS_PROXY", proxy.URL)
		_, err := fetch.New(fetch.Options{Transport: &http.Transport{DialContext: dial}}).Get(t.Context(), "https://mcp.example.com/", nil)
		require.ErrorContains(t, err, "no network")
		require.Equal(t, []string{"mcp.example.com:443"}, dialed)
		require.Empty(t, asked)
	})
	t.Run("the caller's is used where it is", func(t *testing.T) {
		at, err := url.Parse(proxy.URL)
		require.NoError(t, err)
		c := fetch.New(fetch.Options{Transport: &http.Transport{Proxy: http.ProxyURL(at)}})
		_, err = c.Get(t.Context(), "https://mcp.example.com/", nil)
		var failed *fetch.Error
		require.ErrorAs(t, err, &failed)
		require.Equal(t, []string{"CONNECT mcp.example.com:443"}, asked)

		_, err = c.Get(t.Context(), "https://10.0.0.1/", nil)
		require.ErrorContains(t, err, "private")
		require.Len(t, asked, 1)
	})
	t.Run("the proxy's leave is for the proxy's requests", func(t *testing.T) {
		var calls int
		some := func(r *http.Request) (*url.URL, error) {
			calls++
			if r.URL.Path == "/direct" {
				return nil, nil //nolint:nilnil // as http.ProxyFromEnvironment
			}
			return nil, errors.New("secret of the settings")
		}
		transport := &http.Transport{Proxy: some, DialContext: rebinding(proxy.Listener.Addr().String())}
		c := fetch.New(fetch.Options{Transport: transport})
		_, err := c.Get(t.Context(), "https://mcp.example.com/direct", nil)
		require.ErrorContains(t, err, "loopback")
		require.Equal(t, 1, calls, "a second question could have another answer")
		_, err = c.Get(t.Context(), "https://mcp.example.com/", nil)
		require.ErrorContains(t, err, "proxy")
		require.NotContains(t, err.Error(), "secret")
	})
}

func TestBodiesAreBounded(t *testing.T) {
	block := bytes.Repeat([]byte("a"), 32<<10)
	endless := func(w io.Writer) {
		for {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		fits    bool
	}{
		{"the limit", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(block[:1000]) }, true},
		{"one more", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(block[:1001]) }, false},
		{"one more, length unknown", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(block[:500])
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(block[:501])
		}, false},
		{"endless", func(w http.ResponseWriter, _ *http.Request) { endless(w) }, false},
		{"endless error", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound); endless(w) }, false},
		{"endless redirect", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/")
			w.WriteHeader(http.StatusFound)
			endless(w)
		}, false},
		{"a bomb of gzip", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			endless(gzip.NewWriter(w))
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPeer(t, tt.handler)
			c := p.client(t, fetch.Options{MaxBytes: 1000})
			for _, call := range []func() (*fetch.Answer, error){
				func() (*fetch.Answer, error) { return c.Get(t.Context(), p.URL+"/?q=secret", nil) },
				func() (*fetch.Answer, error) {
					return c.Post(t.Context(), p.URL+"/?q=secret", "text/plain", nil, nil)
				},
			} {
				a, err := call()
				if tt.fits {
					require.NoError(t, err)
					require.Len(t, a.Body, 1000)
					continue
				}
				if err == nil { // the body of a redirect of a POST fits or not, like any
					t.Fatalf("no error: %v", a)
				}
				var large *fetch.TooLargeError
				require.ErrorAs(t, err, &large)
				require.Equal(t, &fetch.TooLargeError{URL: p.URL + "/", Limit: 1000}, large)
				require.NotContains(t, err.Error(), "secret")
			}
		})
	}
}

func TestHeadersAreBounded(t *testing.T) {
	p := newPeer(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Long", strings.Repeat("a", 1<<20)) })
	transport := p.Client().Transport.(*http.Transport).Clone()
	c := fetch.New(fetch.Options{Transport: transport, AllowLoopback: true})
	_, err := c.Get(t.Context(), p.URL, nil)
	var failed *fetch.Error
	require.ErrorAs(t, err, &failed)
}

func TestSlowPeers(t *testing.T) {
	wait := func(r *http.Request) { <-r.Context().Done() }
	pause := func(r *http.Request, d time.Duration) {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, r *http.Request) { wait(r) },
		"half a body": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "{")
			_ = http.NewResponseController(w).Flush()
			wait(r)
		},
		"a byte a second": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, " ")
				_ = http.NewResponseController(w).Flush()
				pause(r, time.Second)
			}
		},
		"slow redirects": func(w http.ResponseWriter, r *http.Request) {
			pause(r, 6*time.Second)
			http.Redirect(w, r, "/", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := memhttp.New(h)
				defer srv.Close()
				c := fetch.New(fetch.Options{Transport: srv.Transport(), AllowLoopback: true})
				defer c.CloseIdle()
				began := time.Now()
				_, err := c.Get(t.Context(), "http://localhost/a?b=secret", nil)
				require.Equal(t, 15*time.Second, time.Since(began))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, ": no complete answer in time (15s)")
				require.NotContains(t, err.Error(), "secret")
			})
		})
	}
}

func TestABodyThatIsAnnouncedTooLargeIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1048577")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		defer srv.Close()
		c := fetch.New(fetch.Options{Transport: srv.Transport(), AllowLoopback: true})
		defer c.CloseIdle()
		began := time.Now()
		_, err := c.Get(t.Context(), "http://localhost/", nil)
		var large *fetch.TooLargeError
		require.ErrorAs(t, err, &large)
		require.Zero(t, time.Since(began))
	})
}

func TestTheCallersContextEndsAnExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := memhttp.New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		defer srv.Close()
		c := fetch.New(fetch.Options{Transport: srv.Transport(), AllowLoopback: true})
		defer c.CloseIdle()

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Get(ctx, "http://localhost/", nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotContains(t, err.Error(), "15s")

		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(errors.New("the secret of the caller")) })
		_, err = c.Post(ctx, "http://localhost/", "text/plain", nil, nil)
		require.ErrorIs(t, err, context.Canceled)
		require.NotContains(t, err.Error(), "secret")
	})
}

// TestErrorsNeverQuoteThePeer has peers that send back the request, which has the client's
// secret at a token endpoint.
func TestErrorsNeverQuoteThePeer(t *testing.T) {
	const form = "client_secret=SECRET"
	for name, raw := range map[string]string{
		"nothing":          "",
		"a status line":    "HTTP/1.1 SECRET SECRET\r\n\r\n",
		"a version":        "SECRET/1.1 200 OK\r\n\r\n",
		"no HTTP":          form + "\r\n\r\n",
		"a header":         "HTTP/1.1 200 OK\r\nSECRET SECRET\r\n\r\n",
		"a length":         "HTTP/1.1 200 OK\r\nContent-Length: SECRET\r\n\r\n",
		"an encoding":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: SECRET\r\n\r\n",
		"a chunk":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nSECRET\r\n",
		"half a body":      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"SECRET\":",
		"a trailer":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nSECRET SECRET\r\n\r\n",
		"bad gzip":         "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 6\r\n\r\nSECRET",
		"control sequence": "HTTP/1.1 \x1b[2J\r\n\r\n",
		"TLS":              "\x16\x03\x01SECRET",
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			require.NoError(t, err)
			var served sync.WaitGroup
			served.Go(func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = io.ReadAtLeast(conn, make([]byte, 4096), len(form))
					_, _ = io.WriteString(conn, raw)
					_ = conn.Close()
				}
			})
			defer served.Wait()
			defer func() { _ = l.Close() }()
			c := fetch.New(fetch.Options{AllowLoopback: true})
			defer c.CloseIdle()
			_, err = c.Post(t.Context(), "http://"+l.Addr().String()+"/token?q=SECRET", "text/plain", []byte(form), nil)
			var failed *fetch.Error
			require.ErrorAs(t, err, &failed)
			for e := err; e != nil; e = errors.Unwrap(e) {
				for _, text := range []string{e.Error(), fmt.Sprintf("%+v %#v", e, e)} {
					require.NotContains(t, text, "SECRET")
					require.NotContains(t, text, "\x1b")
				}
			}
		})
	}
}

func TestCertificates(t *testing.T) {
	p := newPeer(t, func(http.ResponseWriter, *http.Request) {})
	c := fetch.New(fetch.Options{AllowLoopback: true})
	_, err := c.Get(t.Context(), p.URL, nil)
	require.ErrorContains(t, err, "certificate signed by unknown authority")

	_, err = p.client(t, fetch.Options{}).Get(t.Context(), strings.Replace(p.URL, "127.0.0.1", "localhost", 1), nil)
	require.ErrorContains(t, err, "certificate is valid for")

	_, err = c.Get(t.Context(), strings.Replace(p.URL, "https://", "http://", 1), nil)
	require.NoError(t, err, "the server of net/http answers plain requests with 400")

	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	_, err = c.Get(t.Context(), strings.Replace(plain.URL, "http://", "https://", 1), nil)
	require.ErrorContains(t, err, "does not speak TLS")
	c.CloseIdle()
}

func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	at := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = fetch.New(fetch.Options{AllowLoopback: true}).Get(t.Context(), "http://"+at+"/a?code=secret", nil)
	var operation *net.OpError
	require.ErrorAs(t, err, &operation)
	require.ErrorContains(t, err, "GET http://"+at+"/a: dial tcp "+at)
	require.NotContains(t, err.Error(), "secret")
}

func TestAnAnswerShowsNoSecret(t *testing.T) {
	a := &fetch.Answer{
		URL: "https://as.example/token?q=secret", Status: 200,
		Header: http.Header{"Set-Cookie": {"secret"}}, Body: []byte(`{"access_token":"secret"}`),
	}
	const want = "200 https://as.example/token, 25 bytes"
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		require.Equal(t, want, fmt.Sprintf(verb, a))
		require.Equal(t, want, fmt.Sprintf(verb, *a))
	}
	text, err := json.Marshal(map[string]any{"a": a, "b": *a})
	require.NoError(t, err)
	require.Equal(t, `{"a":"`+want+`","b":"`+want+`"}`, string(text))
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "a", a, "b", *a)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "a", a, "b", *a)
	require.NotContains(t, log.String(), "secret")
	require.Equal(t, 4, strings.Count(log.String(), want))
}
