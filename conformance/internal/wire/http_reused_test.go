package wire

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestExchange_ClosedBetween: a connection that the server closes after an answer is no answer to
// the request after it.
func TestExchange_ClosedBetween(t *testing.T) {
	t.Parallel()
	var answered atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hijacked, buffer, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"c-%d","result":{}}`, answered.Add(1))
		_, _ = buffer.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
		_ = buffer.Flush()
		_, _ = buffer.ReadByte() // the start of the next request, which gets no answer
		_ = hijacked.Close()
	}))
	t.Cleanup(srv.Close)
	w := NewHTTPConn(t.Context(), Endpoint{URL: srv.URL}, NewTrace())
	t.Cleanup(func() { w.Close() })
	s := NewSession(w, NewTrace(), func(*Session, Inbound) {}, 10*time.Second)
	for i := range 20 {
		id := fmt.Sprintf(`"c-%d"`, i+1)
		answer, err := s.Send(t.Context(), Message(id, mcp.MethodPing, nil))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.Status)
		_, err = s.Await(t.Context(), id)
		require.NoError(t, err)
	}
	require.EqualValues(t, 20, answered.Load())
}
