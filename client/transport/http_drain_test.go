package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

var (
	note  = jsonrpc.Notification{Method: "n"}
	reply = jsonrpc.Response{ID: jsonrpc.StringID("s"), Result: []byte(`{}`)}
)

// retryAfters are values of Retry-After. Huge values are clamped, without overflow.
var retryAfters = map[string]time.Duration{
	"7":                             7 * time.Second,
	"0":                             0,
	"1073741824":                    1 << 30 * time.Second,
	"1073741825":                    1 << 30 * time.Second,
	"9223372036854775807":           1 << 30 * time.Second,
	"99999999999999999999":          1 << 30 * time.Second,
	"Fri, 31 Dec 9999 23:59:59 GMT": 1 << 30 * time.Second,
	"-9223372036854775808":          0,
	"-99999999999999999999":         0,
}

// A stream may stay open for a moment after its answer, to reuse its connection, and no longer.
func TestHTTPDrainTime(t *testing.T) {
	t.Parallel()
	var ended chan time.Time // created inside the bubble
	stream := func(w http.ResponseWriter, r *http.Request, p posted) {
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", p.id()))
		<-r.Context().Done()
		ended <- time.Now()
	}
	inBubble(t, stream, func(t *testing.T, p *page, _ *web) {
		ended = make(chan time.Time, 1)
		began := time.Now()
		_, err := p.Call(t.Context(), p.request("m")) // the caller's context would end the stream, too
		require.NoError(t, err)
		require.Zero(t, time.Since(began), "nobody waits for the end of the stream")
		require.Equal(t, 100*time.Millisecond, (<-ended).Sub(began))
	})
}

// The error matches both the context's error and the caller's cause.
func TestHTTPContextCause(t *testing.T) {
	t.Parallel()
	inBubble(t, func(_ http.ResponseWriter, r *http.Request, _ posted) { <-r.Context().Done() }, func(t *testing.T, p *page, _ *web) {
		cause := errors.New("budget spent")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		_, err := p.Call(ctx, p.request("m"))
		f := failure(t, err, transport.ReasonCanceled)
		require.ErrorIs(t, f, cause)
		require.ErrorIs(t, f, context.DeadlineExceeded)
	})
}

// A stream is one connection.
func TestStreamConnectsOnce(t *testing.T) {
	t.Parallel()
	s, server := transport.InMemory()
	conn, err := s.Connect(t.Context(), transport.Handler{})
	require.NoError(t, err)
	_, err = s.Connect(t.Context(), transport.Handler{})
	require.True(t, failure(t, err, transport.ReasonOption).NotSent)
	require.NoError(t, server.Close())
	require.NoError(t, conn.Close())
}
