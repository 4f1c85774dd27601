package suitetest

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestManyAtOnce: over HTTP requests are on the way side by side, though each is
// answered in one JSON body; a refusal is an answer, a fault of the server none.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	status := func(code int, every int32) func(http.Handler) http.Handler {
		var count atomic.Int32
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				// The first pings are signs of life.
				if bytes.Contains(body, []byte(`"`+mcp.MethodPing+`"`)) && count.Add(1) > 20 && count.Load()%every == 0 {
					w.WriteHeader(code)
					return
				}
				next.ServeHTTP(w, r)
			})
		}
	}
	for name, c := range map[string]struct {
		http func(http.Handler) http.Handler
		want conformance.Status
	}{
		"X-WIRE-12/pings of which one in 9 is one too many":   {status(http.StatusTooManyRequests, 9), conformance.Pass},
		"X-WIRE-12/pings of which one in 9 has no answer":     {status(http.StatusOK, 9), conformance.Fail},
		"X-WIRE-12/pings of which one in 9 meets a fault":     {status(http.StatusInternalServerError, 9), conformance.Fail},
		"X-WIRE-12/mixed with pings that meet a fault":        {status(http.StatusInternalServerError, 1), conformance.Fail},
		"X-WIRE-12/mixed with pings of which all are refused": {status(http.StatusTooManyRequests, 1), conformance.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rewritten{options: onlyFixtures, revision: mcp.LatestSession, http: c.http}
			if c.want == conformance.Pass {
				r = r.patient()
			}
			got := r.judge(t, name[:len("X-WIRE-12/pings")])
			require.Equal(t, c.want, got.Status, "%+v", got)
		})
	}

	// None is answered before 32 are there.
	var pings atomic.Int32
	enough := make(chan struct{})
	got := rewritten{options: onlyFixtures, revision: mcp.LatestSession, http: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte(`"`+mcp.MethodPing+`"`)) {
				if pings.Add(1) == 32 {
					close(enough)
				}
				select {
				case <-enough:
				case <-r.Context().Done():
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}}.judge(t, "X-WIRE-12/pings")
	require.Equal(t, conformance.Pass, got.Status, "%+v", got)
}
