package transport_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
)

// Only unsent requests are reported as not sent. A server may exit after it ran a call, and later
// writes of the client prove nothing about the call.
func TestHTTPDeliveryAfterTheServerIsGone(t *testing.T) {
	t.Parallel()
	large := `"` + strings.Repeat("x", 64<<10) + `"`
	answered := func(w http.ResponseWriter, r *http.Request, p posted) { says(priming, false)(w, r, p) }
	moved := func(w http.ResponseWriter, _ *http.Request, _ posted) {
		w.Header().Set("Location", memhttp.URL+"/there")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
	tests := []struct {
		name    string
		reply   replier
		params  string
		hangs   bool // connecting again takes forever instead of failing
		reason  transport.Reason
		notSent bool
	}{
		{"a resumption cannot connect", answered, "", false, transport.ReasonLost, false},
		{"a resumption cannot connect, large params", answered, large, false, transport.ReasonLost, false},
		{"given up while a resumption connects", answered, "", true, transport.ReasonCanceled, false},
		{"moved, and not there", moved, "", false, transport.ReasonUnavailable, true},
		{"moved, and not there, large params", moved, large, false, transport.ReasonUnavailable, true},
		{"moved, and given up while connecting", moved, "", true, transport.ReasonCanceled, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var gone atomic.Bool
				s := &web{}
				srv := memhttp.New(s.handlerOf(func(w http.ResponseWriter, r *http.Request, p posted) {
					gone.Store(true)
					tt.reply(w, r, p)
				}))
				t.Cleanup(srv.Close)
				pool := srv.Transport()
				pool.DisableKeepAlives = true
				next := pool.DialContext
				pool.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
					switch {
					case !gone.Load():
						return next(ctx, network, addr)
					case tt.hangs:
						<-ctx.Done()
						return nil, ctx.Err()
					}
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
				}
				p := dial(t, &transport.HTTP{URL: memhttp.URL, RoundTripper: pool})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				req := p.request("m")
				if tt.params != "" {
					req.Params = []byte(`{"x":` + tt.params + `}`)
				}
				_, err := p.Call(ctx, req)
				require.Equal(t, tt.notSent, failure(t, err, tt.reason).NotSent)
				require.Len(t, s.find("m"), 1)
			})
		})
	}
}
