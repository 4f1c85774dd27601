package wire

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestExchange_RetryAfter: a server that limits its requests is asked again after the time that it
// names, but not forever, and not after a time that is too long.
func TestExchange_RetryAfter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, header string
		status       int
		refusals     int
		sent, want   int
		took         time.Duration
	}{
		{"once", "2", http.StatusTooManyRequests, 1, 2, http.StatusOK, 2 * time.Second},
		{"overloaded", "1", http.StatusServiceUnavailable, 2, 3, http.StatusOK, 2 * time.Second},
		{"always", "1", http.StatusTooManyRequests, 99, 3, http.StatusTooManyRequests, 2 * time.Second},
		{"for too long", "60", http.StatusTooManyRequests, 99, 1, http.StatusTooManyRequests, 0},
		{"without a time", "", http.StatusTooManyRequests, 99, 1, http.StatusTooManyRequests, 0},
		{"below zero", "-1", http.StatusTooManyRequests, 99, 1, http.StatusTooManyRequests, 0},
		{"another status", "1", http.StatusForbidden, 99, 1, http.StatusForbidden, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				server := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if sent++; err != nil || len(body) == 0 {
						w.WriteHeader(http.StatusBadRequest)
						return
					}
					if sent > tt.refusals {
						w.Header().Set("Content-Type", MediaJSON)
						_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"c-1","result":{}}`)
						return
					}
					if tt.header != "" {
						w.Header().Set("Retry-After", tt.header)
					}
					w.WriteHeader(tt.status)
				}))
				defer server.Close()
				w := NewHTTPConn(t.Context(), Endpoint{URL: memhttp.URL, RoundTripper: server.Transport()}, NewTrace())
				defer w.Close()
				began := time.Now()
				answer, err := w.Send(t.Context(), Message(`"c-1"`, mcp.MethodPing, nil))
				require.NoError(t, err)
				require.Equal(t, tt.want, answer.Status)
				require.Equal(t, tt.sent, sent)
				require.Equal(t, tt.took, time.Since(began))
			})
		})
	}
}

// TestSessionEnded: a server ends a session by 404 to a message of it, if that is not the answer to the
// message and the suite has not ended the session itself.
func TestSessionEnded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		deleted    bool
		other      string // the session of the request, if it is not its own
		want       bool
	}{
		{"text", "Session not found", false, "", true},
		{"nothing", "", false, "", true},
		{"an error without an id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`, false, "", true},
		{"an error with the id", `{"jsonrpc":"2.0","id":"c-2","error":{"code":-32001,"message":"Session not found"}}`, false, "", true},
		{"an unknown method", `{"jsonrpc":"2.0","id":"c-2","error":{"code":-32601,"message":"Method not found"}}`, false, "", false},
		{"a session that was deleted", "Session not found", true, "", false},
		{"a session that never was", "Session not found", false, "made-up", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get(HeaderSession) == "" {
						w.Header().Set(HeaderSession, "of-the-server")
						w.Header().Set("Content-Type", MediaJSON)
						_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"c-1","result":{}}`)
						return
					}
					w.WriteHeader(http.StatusNotFound)
					_, _ = io.WriteString(w, tt.body)
				}))
				defer server.Close()
				w := NewHTTPConn(t.Context(), Endpoint{URL: memhttp.URL, RoundTripper: server.Transport()}, NewTrace())
				defer w.Close()
				_, err := w.Send(t.Context(), Message(`"c-1"`, mcp.MethodInitialize, nil))
				require.NoError(t, err)
				synctest.Wait()
				require.False(t, w.SessionEnded())
				if tt.deleted {
					_, err = w.Do(t.Context(), http.MethodDelete, nil, nil)
					require.NoError(t, err)
				}
				ping := Message(`"c-2"`, mcp.MethodPing, nil)
				if tt.other != "" {
					_, err = w.Do(t.Context(), http.MethodPost, ping, http.Header{HeaderSession: {tt.other}})
				} else {
					_, err = w.Send(t.Context(), ping)
				}
				require.NoError(t, err)
				synctest.Wait()
				require.Equal(t, tt.want, w.SessionEnded())
			})
		})
	}
}
