package transport_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Errors keep the headers that help to handle them, and no others.
func TestTellingHeadersAreKept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2000)
	s := replyServer(t, answered(http.StatusUnauthorized, "text/plain", "who?",
		"WWW-Authenticate", `Bearer realm="r"`, "X-Request-Id", long, "RateLimit-Reset", "3", "X-RateLimit-Remaining", "0",
		"Set-Cookie", "session=1", "X-Powered-By", "x"))
	f := dial(t, &transport.HTTP{URL: s.url}).fails("m", transport.ReasonStatus)
	got := f.HTTP.Header
	require.Equal(t, `Bearer realm="r"`, got.Get("WWW-Authenticate"))
	require.Equal(t, "3", got.Get("RateLimit-Reset"))
	require.Equal(t, "0", got.Get("X-RateLimit-Remaining"))
	require.Less(t, len(got.Get("X-Request-Id")), 510)
	require.Empty(t, got.Get("Set-Cookie"))
	require.Empty(t, got.Get("X-Powered-By"))
}

// The most common mistake is to omit the scheme.
func TestURLWithoutSchemeIsRecognised(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"localhost:3000/mcp": "did you mean http://localhost:3000/mcp?",
		"localhost:3000":     "did you mean http://localhost:3000?",
		"me:hunter2@host/":   "is not http or https",
		"ftp:3x":             "is not http or https",
	} {
		_, err := (&transport.HTTP{URL: url}).Connect(t.Context(), transport.Handler{})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
