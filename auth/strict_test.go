package auth_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// The metadata of a parent path is accepted, unless the application is stricter.
func TestWithStrictResource(t *testing.T) {
	t.Parallel()
	for strict, option := range map[bool]auth.Option{false: nil, true: auth.WithStrictResource()} {
		w := authtest.New(t)
		w.AnyResource = true
		w.Resource["resource"] = w.MCP.URL
		_, err := dial(t, w, auth.Login(browser(t), option))
		if !strict {
			require.NoError(t, err)
			continue
		}
		var e *auth.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, auth.ReasonDiscovery, e.Reason, err)
		require.Zero(t, w.Asked("authorize"))
	}
}

// A server without resource metadata counts as its own authorization server, as in revision
// 2025-03-26, unless the application refuses that.
func TestWithoutFallback(t *testing.T) {
	t.Parallel()
	for refused, option := range map[bool]auth.Option{false: nil, true: auth.WithoutFallback()} {
		w := authtest.New(t)
		var guessed atomic.Int32
		inner := w.MCP.Config.Handler
		w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/register":
				guessed.Add(1)
				http.NotFound(rw, r)
			case strings.HasPrefix(r.URL.Path, "/.well-known/"):
				http.NotFound(rw, r)
			default:
				inner.ServeHTTP(rw, r)
			}
		})
		_, err := dial(t, w, auth.Login(browser(t), option))
		var e *auth.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, auth.ReasonDiscovery, e.Reason, err)
		require.Equal(t, refused, guessed.Load() == 0, err)
	}
}
