package web

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// An encoding that was not asked for is decoded if it is deflate or gzip, in the
// limits of a document, and refused else.
func TestFetch_ContentEncoding(t *testing.T) {
	t.Parallel()
	page := []byte("<html><body>" + strings.Repeat("a page ", 1000) + "</body></html>")
	packed := func(writer func(io.Writer) io.WriteCloser, data []byte) []byte {
		var b bytes.Buffer
		w := writer(&b)
		_, err := w.Write(data)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	raw := func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 9); return f }
	zlibbed := func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }
	gzipped := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	broken := packed(zlibbed, page)
	for _, tc := range []struct {
		name, encoding string
		body           []byte
		err            error
	}{
		{"zlib", "deflate", packed(zlibbed, page), nil},
		{"raw", "Deflate", packed(raw, page), nil},
		{"gzip", "x-gzip", packed(gzipped, page), nil},
		{"identity", "identity", page, nil},
		{"brotli", "br", page, ErrEncoding},
		{"two", "deflate, gzip", page, ErrEncoding},
		{"cut", "deflate", broken[:len(broken)-8], ErrEncoded},
		{"plain", "deflate", page, ErrEncoded},
		{"a byte", "deflate", page[:1], ErrEncoded},
		{"a bomb", "deflate", packed(zlibbed, make([]byte, MaxBody+1)), ErrTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", tc.encoding)
				_, _ = w.Write(tc.body)
			}))
			defer srv.Close()
			res, err := get(t, local(), srv.URL)
			if tc.err != nil {
				require.ErrorIs(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, string(page), string(res.Body))
		})
	}
}

// A proxy would resolve names past the guard.
func TestFetcher_TakesNoProxy_S2_CONV_12(t *testing.T) {
	t.Parallel()
	transport, ok := NewFetcher(&Guard{}).client.Transport.(*http.Transport)
	require.True(t, ok)
	require.Nil(t, transport.Proxy)
}

func TestMain(m *testing.M) { testmain.Run(m) }

func TestGuard_S2_CONV_12(t *testing.T) {
	t.Parallel()
	g := &Guard{}
	for _, blocked := range []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "100.64.0.1", "100.127.255.255", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.7",
		"203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "ff02::1", "fec0::1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1",
		"64:ff9b::7f00:1", "2002:7f00:1::", "2001::1", "2001:db8::1",
	} {
		require.ErrorIs(t, g.Check(netip.MustParseAddr(blocked)), ErrBlocked, blocked)
	}
	for _, public := range []string{"8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"} {
		require.NoError(t, g.Check(netip.MustParseAddr(public)), public)
	}
	g.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	require.NoError(t, g.Check(netip.MustParseAddr("::ffff:127.0.0.1")))
	require.ErrorIs(t, g.Check(netip.MustParseAddr("127.0.0.2")), ErrBlocked)
}

// local allows the address test servers listen at, and no other.
func local() *Fetcher {
	return NewFetcher(&Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
}

func get(t *testing.T, f *Fetcher, text string) (*Resource, error) {
	t.Helper()
	u, err := ParseURL(text)
	require.NoError(t, err)
	return f.Fetch(t.Context(), u)
}

func TestFetch_BlockedMakesNoConnection_S2_CONV_12(t *testing.T) {
	t.Parallel()
	var seen atomic.Int32
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ConnState = func(net.Conn, http.ConnState) { seen.Add(1) }
	srv.Start()
	defer srv.Close()
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"} {
		_, err := get(t, NewFetcher(&Guard{}), "http://"+host+":"+port+"/")
		require.ErrorIs(t, err, ErrBlocked, host)
	}
	require.Zero(t, seen.Load(), "a connection was made")
}

func TestFetch_RedirectIntoTheNetwork_S2_CONV_12(t *testing.T) {
	t.Parallel()
	var inner atomic.Int32
	target := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inner.Add(1) })
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("this machine has no second loopback address: %v", err)
	}
	private := httptest.NewUnstartedServer(target)
	_ = private.Listener.Close() // replaced by the one at the address that is not allowed
	private.Listener = listener
	private.Start()
	defer private.Close()
	front := httptest.NewServer(http.RedirectHandler(private.URL, http.StatusFound))
	defer front.Close()
	_, err = get(t, local(), front.URL)
	require.ErrorIs(t, err, ErrBlocked)
	require.Zero(t, inner.Load())
}

func TestFetch_Redirects(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/hop/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.PathValue("n"))
		if n == 0 {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("arrived"))
			return
		}
		http.Redirect(w, r, "/hop/"+strconv.Itoa(n-1), http.StatusFound)
	})
	mux.Handle("/ftp", http.RedirectHandler("ftp://example.com/x", http.StatusFound))
	mux.Handle("/file", http.RedirectHandler("file:///etc/passwd", http.StatusFound))
	srv := httptest.NewServer(mux)
	defer srv.Close()

	res, err := get(t, local(), srv.URL+"/hop/5")
	require.NoError(t, err)
	require.Equal(t, "arrived", string(res.Body))
	require.Equal(t, "text/html", res.MIMEType)
	require.Equal(t, "/hop/0", res.URL.Path)
	_, err = get(t, local(), srv.URL+"/hop/6")
	require.ErrorIs(t, err, ErrRedirects)
	for _, p := range []string{"/ftp", "/file"} {
		_, err = get(t, local(), srv.URL+p)
		require.ErrorIs(t, err, ErrURL)
	}
}

func TestFetch_Limits(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/said", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(MaxBody+1))
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		chunk := bytes.Repeat([]byte("a"), 1<<20)
		for range 3 {
			_, _ = z.Write(chunk)
		}
		_ = z.Close()
		_, _ = w.Write(packed.Bytes())
	})
	mux.HandleFunc("/missing", http.NotFound)
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	_, err := get(t, local(), srv.URL+"/said")
	require.ErrorIs(t, err, ErrTooLarge)
	small := local()
	small.most = 2 << 20
	_, err = get(t, small, srv.URL+"/bomb")
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = get(t, local(), srv.URL+"/missing")
	var status *StatusError
	require.ErrorAs(t, err, &status)
	require.Equal(t, http.StatusNotFound, status.Code)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	u, err := ParseURL(srv.URL + "/slow")
	require.NoError(t, err)
	_, err = local().Fetch(ctx, u)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"ftp://example.com/", "file:///x", "gopher://x", "//example.com", "http://", "http:///x", "https://u:p@example.com/",
		"http://[::1", "%zz", "", "javascript:alert(1)", "http://example.com/" + strings.Repeat("x", MaxURL),
	} {
		_, err := ParseURL(bad)
		require.ErrorIs(t, err, ErrURL, bad)
	}
	for _, good := range []string{"http://example.com", "HTTPS://Example.com/a?b#c"} {
		_, err := ParseURL(good)
		require.NoError(t, err, good)
	}
}

func TestResource_Filename(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"http://a.example/": "a.example", "http://a.example": "a.example", "http://a.example/x/report.html?y": "report.html"} {
		u, err := ParseURL(text)
		require.NoError(t, err)
		require.Equal(t, want, (&Resource{URL: u}).Filename())
	}
}

func FuzzParseURL(f *testing.F) {
	f.Add("http://example.com/a")
	f.Add("http://[fe80::1%25en0]/")
	f.Add("http://2130706433/")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseURL(text)
		if err != nil {
			require.True(t, errors.Is(err, ErrURL) || errors.Is(err, ErrBlocked), err)
			return
		}
		require.Contains(t, []string{"http", "https"}, u.Scheme)
		require.NotEmpty(t, u.Hostname())
	})
}
