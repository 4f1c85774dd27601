package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
)

// streamSite is an HTTP+SSE server whose streams can be cut, and which can be away.
type streamSite struct {
	mu    sync.Mutex
	away  bool
	opens int
	lost  int // streams up to this one are open, and messages for them are refused
	calls int
	no    func(w http.ResponseWriter) // refuses them
	queue chan string                 // of the stream that is open
	cut   chan struct{}
}

// seen returns how many streams were opened and how many calls were taken.
func (s *streamSite) seen() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []int{s.opens, s.calls}
}

func (s *streamSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	away := s.away
	s.mu.Unlock()
	switch {
	case away:
		w.WriteHeader(http.StatusBadGateway)
	case r.Method == http.MethodGet:
		s.mu.Lock()
		s.opens++
		queue, cut, opens := make(chan string, 8), make(chan struct{}), s.opens
		s.queue, s.cut = queue, cut
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: /post?stream=%d\n\n", opens)
		for {
			w.(http.Flusher).Flush()
			select {
			case e := <-queue:
				fmt.Fprintf(w, "event: message\ndata: %s\n\n", e)
			case <-cut:
				return
			case <-r.Context().Done():
				return
			}
		}
	case r.URL.Path != "/post":
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(body, &m)
		stream, _ := strconv.Atoi(r.URL.Query().Get("stream"))
		s.mu.Lock()
		queue, lost := s.queue, stream <= s.lost
		if lost {
			s.mu.Unlock()
			s.no(w)
			return
		}
		if m.Method == "tools/call" {
			s.calls++
		}
		s.mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
		if m.ID != nil && m.Method != "x/never" {
			queue <- `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` +
				map[string]string{"initialize": initResult, "tools/list": oneTool, "tools/call": doneResult, "ping": `{}`}[m.Method] + `}`
		}
	}
}

// leave ends the stream and, for away, refuses everything until further notice.
func (s *streamSite) leave(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
	if s.cut != nil {
		close(s.cut)
		s.cut = nil
	}
}

// When a stream of HTTP+SSE ends, the client opens another with a new session, in the
// default mode and with a chosen transport: calls wait for it.
func TestHTTPSSEHeals(t *testing.T) {
	t.Parallel()
	for name, choose := range map[string]func(rt http.RoundTripper) transport.Transport{
		"found": func(rt http.RoundTripper) transport.Transport {
			return &transport.HTTP{URL: memhttp.URL, RoundTripper: rt}
		},
		"chosen": func(rt http.RoundTripper) transport.Transport {
			return &transport.SSE{URL: memhttp.URL, RoundTripper: rt}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, h := &streamSite{}, &happenings{}
				mem := memhttp.New(s)
				defer mem.Close()
				c, err := client.Connect(t.Context(), choose(mem.Transport()), client.WithEraStore(nil), h.option())
				require.NoError(t, err)
				require.NoError(t, callOnce(t.Context(), c))
				synctest.Wait()
				h.take()

				// What is under way is not made again.
				under := make(chan error, 1)
				go func() {
					_, err := c.Call(t.Context(), "x/never", nil)
					under <- err
				}()
				synctest.Wait()
				s.leave(false)
				err = <-under
				require.Equal(t, []any{mcperrors.CodeUnavailable, mcperrors.Unknown}, []any{mcperrors.CodeOf(err), mcperrors.DeliveryOf(err)}, err)
				began := time.Now()
				require.NoError(t, callOnce(t.Context(), c))
				require.Less(t, time.Since(began), time.Second)
				require.Equal(t, []int{2, 2}, s.seen())
				synctest.Wait()
				require.Equal(t, []string{"ready to restarting", "restarting to ready", "reinitialized"}, h.take())

				// A proxy that ends every stream after a while is no server that fails.
				for range 20 {
					pass(6 * time.Second)
					s.leave(false)
					synctest.Wait() // a call that is sent in this moment is lost
					require.NoError(t, callOnce(t.Context(), c))
				}

				// After an outage the server is found again, and the errors of calls
				// report when to come back.
				s.leave(true)
				pass(10 * time.Second)
				err = callOnce(t.Context(), c)
				require.Equal(t, []any{mcperrors.CodeUnavailable, mcperrors.NotSent}, []any{mcperrors.CodeOf(err), mcperrors.DeliveryOf(err)}, err)
				require.ErrorContains(t, err, "the connection keeps failing; next attempt in")
				require.Equal(t, client.StateBackoff, c.State())
				require.Positive(t, mcperrors.RetryAfter(err))
				s.leave(false)
				pass(31 * time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				require.NoError(t, callOnce(ctx, c))
				require.Equal(t, client.StateReady, c.State())
				require.NoError(t, c.Close())
			})
		})
	}
}

// An HTTP+SSE server that has lost the session of an open stream, as behind a proxy
// that outlives it, refuses every message. The client then opens a new stream.
func TestHTTPSSESessionLost(t *testing.T) {
	t.Parallel()
	says := func(status int, text string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	for name, no := range map[string]func(w http.ResponseWriter){
		"404":                   says(http.StatusNotFound, "Could not find session"),
		"400 of the TypeScript": says(http.StatusBadRequest, "No transport found for sessionId"),
		"400 of mcp-go": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			says(http.StatusBadRequest, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Invalid session ID"}}`)(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, h := &streamSite{no: no}, &happenings{}
				mem := memhttp.New(s)
				defer mem.Close()
				c, err := client.Connect(t.Context(), &transport.SSE{URL: memhttp.URL, RoundTripper: mem.Transport()}, h.option())
				require.NoError(t, err)
				require.NoError(t, callOnce(t.Context(), c))
				synctest.Wait()
				h.take()
				s.mu.Lock()
				s.lost = s.opens
				s.mu.Unlock()

				require.NoError(t, callOnce(t.Context(), c), "refused twice, so that it is sure, and made again")
				require.Equal(t, []int{2, 2}, s.seen())
				synctest.Wait()
				require.Equal(t, []string{"ready to restarting", "restarting to ready", "reinitialized"}, h.take())
				require.NoError(t, c.Close())
			})
		})
	}
}

// What the server has taken is waited for before its stream is given up.
func TestHTTPSSESessionLostLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &streamSite{no: func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }}
		mem := memhttp.New(s)
		defer mem.Close()
		r := client.Resilience{NoBreaker: true, NoToolBreakers: true}
		c, err := client.Connect(t.Context(), &transport.SSE{URL: memhttp.URL, RoundTripper: mem.Transport()}, client.WithResilience(r))
		require.NoError(t, err)
		taken := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		go func() {
			_, err := c.Call(ctx, "x/never", nil)
			taken <- err
		}()
		synctest.Wait()
		s.mu.Lock()
		s.lost = s.opens
		s.mu.Unlock()
		for range 3 {
			err := callOnce(t.Context(), c)
			require.Equal(t, []any{mcperrors.CodeUnavailable, mcperrors.Rejected}, []any{mcperrors.CodeOf(err), mcperrors.DeliveryOf(err)}, err)
		}
		require.Equal(t, 1, s.seen()[0])
		require.ErrorIs(t, <-taken, context.DeadlineExceeded)
		synctest.Wait() // a call that is sent in this moment is lost with the stream
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		require.NoError(t, callOnce(ctx, c))
		require.Equal(t, 2, s.seen()[0])
		require.NoError(t, c.Close())
	})
}
