package wire

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// refusing answers every request with 400 and an error without an id.
type refusing struct{}

func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	const body = `{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}`
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {MediaJSON}}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// TestSession_ProvokeUnreadable: over HTTP the answer to bytes that nobody can read is known by
// its response, so that nobody waits for another one.
func TestSession_ProvokeUnreadable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := NewTrace()
		s := NewSession(NewHTTPConn(t.Context(), Endpoint{URL: "http://server/mcp", RoundTripper: refusing{}}, tr), tr, func(*Session, Inbound) {}, time.Minute)
		begun := time.Now()
		a, err := s.Provoke(t.Context(), s.NewID(), []byte(strings.Repeat("[", 20_000)))
		require.NoError(t, err)
		require.Equal(t, int64(CodeParse), a.Err.Code)
		require.Zero(t, time.Since(begun))
		s.Close()
	})
}
