package fetch_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

// An error reports whether the peer can have received the request.
func TestWhatWasNotSent(t *testing.T) {
	drop := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	p := newPeer(t, drop)
	plain := httptest.NewServer(http.HandlerFunc(drop))
	t.Cleanup(plain.Close)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := "http://" + l.Addr().String()
	require.NoError(t, l.Close())
	strangers := fetch.New(fetch.Options{AllowLoopback: true})
	t.Cleanup(strangers.CloseIdle)
	for _, tt := range []struct {
		name    string
		client  *fetch.Client
		url     string
		notSent bool
	}{
		{"nobody listens", strangers, nobody, true},
		{"the certificate is not trusted", strangers, p.URL, true},
		{"the peer does not speak TLS", strangers, strings.Replace(plain.URL, "http:", "https:", 1), true},
		{"the answer is lost", strangers, plain.URL, false},
		{"the answer is lost, over TLS", p.client(t, fetch.Options{}), p.URL, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.client.Post(t.Context(), tt.url, "text/plain", []byte("x"), nil)
			var failed *fetch.Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, tt.notSent, failed.NotSent, err)
		})
	}
	t.Run("nobody reads the request", func(t *testing.T) {
		silent, err := net.Listen("tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = silent.Close() })
		c := fetch.New(fetch.Options{AllowLoopback: true, Timeout: 50 * time.Millisecond})
		t.Cleanup(c.CloseIdle)
		_, err = c.Post(t.Context(), "http://"+silent.Addr().String(), "text/plain", []byte("x"), nil)
		var failed *fetch.Error
		require.ErrorAs(t, err, &failed)
		require.False(t, failed.NotSent, "it is on its way")
	})
}
