package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// inBubble runs a test in virtual time, with an HTTP server in memory.
func inBubble(t *testing.T, reply func(w http.ResponseWriter, r *http.Request, p posted), test func(t *testing.T, p *page, s *web)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &web{url: memhttp.URL}
		srv := memhttp.New(s.handlerOf(reply))
		t.Cleanup(srv.Close)
		test(t, dial(t, &transport.HTTP{URL: s.url, RoundTripper: srv.Transport()}), s)
	})
}

// pause waits in a server, at most as long as its client is there.
func pause(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// write sends text at once.
func write(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

// slowly answers "m" in pieces, with a pause before each.
func slowly(contentType string, wait time.Duration, pieces ...string) func(http.ResponseWriter, *http.Request, posted) {
	return func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.method() != "m" {
			answerAll(w, r, p)
			return
		}
		w.Header().Set("Content-Type", contentType)
		write(w, "")
		for _, piece := range pieces {
			if pause(r, wait); r.Context().Err() != nil {
				return
			}
			write(w, piece)
		}
		if p.id() == "1" && len(pieces) > 0 { // only for the first request, otherwise it never ends
			write(w, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", p.id()))
			return
		}
		<-r.Context().Done()
	}
}

// Anything that arrives for a call restarts its idle timeout. Silence ends the call, and the
// maximum time always does.
func TestHTTPTimeouts(t *testing.T) {
	t.Parallel()
	const stream = "text/event-stream"
	sign := []string{": alive\n\n", "data: {\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n\n", "event: ping\ndata: {}\n\n", "id: 3\n\n"}
	tests := []struct {
		name   string
		reply  func(http.ResponseWriter, *http.Request, posted)
		wait   jsonrpc.Wait
		err    error
		passed time.Duration
	}{
		{"signs of life", slowly(stream, 50*time.Second, sign...), jsonrpc.Wait{Idle: time.Minute}, nil, 200 * time.Second},
		{"too slow", slowly(stream, 61*time.Second, sign...), jsonrpc.Wait{Idle: time.Minute}, jsonrpc.ErrIdle, time.Minute},
		{"maximum in spite of life", slowly(stream, 50*time.Second, sign...), jsonrpc.Wait{Idle: time.Minute, Max: 3 * time.Minute}, jsonrpc.ErrMaxWait, 3 * time.Minute},
		{"no bounds", slowly(stream, time.Hour, sign...), jsonrpc.Wait{}, nil, 4 * time.Hour},
		{"no reply", func(_ http.ResponseWriter, r *http.Request, _ posted) { <-r.Context().Done() }, jsonrpc.Wait{Idle: time.Minute, Max: time.Hour}, jsonrpc.ErrIdle, time.Minute},
		{"silent stream", slowly(stream, 0), jsonrpc.Wait{Idle: time.Minute, Max: time.Hour}, jsonrpc.ErrIdle, time.Minute},
		{"silent body", slowly("application/json", 0), jsonrpc.Wait{Max: time.Hour}, jsonrpc.ErrMaxWait, time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, tt.reply, func(t *testing.T, p *page, _ *web) {
				req := p.request("m")
				req.Wait = tt.wait
				began := time.Now()
				_, err := p.Call(t.Context(), req)
				require.Equal(t, tt.passed, time.Since(began))
				if tt.err == nil {
					require.NoError(t, err)
					return
				}
				f := failure(t, err, transport.ReasonTimeout)
				require.ErrorIs(t, f, tt.err)
				require.False(t, f.NotSent)
			})
		})
	}
}

// A call that is canceled during its body or stream ends at once, and does not affect the
// session.
func TestHTTPCancelMidBody(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"application/json", "text/event-stream", "text/html"} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			reply := func(w http.ResponseWriter, r *http.Request, p posted) {
				if p.method() != "m" {
					withSession("s1")(w, r, p)
					return
				}
				w.Header().Set("Content-Type", contentType)
				write(w, `{"jsonrpc":"2.0","id":`)
				<-r.Context().Done()
			}
			inBubble(t, reply, func(t *testing.T, p *page, s *web) {
				p.answers("initialize")
				other := make(chan error, 1)
				go func() {
					_, err := p.Call(t.Context(), p.request("other"))
					other <- err
				}()
				ctx, cancel := context.WithCancelCause(t.Context())
				enough := errors.New("enough")
				done := make(chan error, 1)
				began := time.Now()
				go func() {
					_, err := p.Call(ctx, p.request("m"))
					done <- err
				}()
				synctest.Wait()
				cancel(enough)
				err := <-done
				require.Zero(t, time.Since(began))
				if contentType != "text/html" { // it is not an answer, whatever follows
					require.False(t, failure(t, err, transport.ReasonCanceled).NotSent)
					require.ErrorIs(t, err, enough)
				}
				require.NoError(t, <-other)
				p.answers("after")
				require.Equal(t, "s1", s.find("after")[0].header.Get("Mcp-Session-Id"))
			})
		})
	}
}

// Retry-After may be a date.
func TestHTTPRetryAfterDate(t *testing.T) {
	t.Parallel()
	reply := func(w http.ResponseWriter, _ *http.Request, _ posted) {
		w.Header().Set("Retry-After", time.Now().Add(90*time.Second).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	inBubble(t, reply, func(t *testing.T, p *page, _ *web) {
		require.Equal(t, 90*time.Second, p.fails("m", transport.ReasonStatus).RetryAfter)
	})
}

// An endless body of an error reply costs two seconds, not the call's time.
func TestHTTPRefusalWithoutEnd(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 404, 503} {
		reply := func(w http.ResponseWriter, r *http.Request, _ posted) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(status)
			write(w, "because")
			<-r.Context().Done()
		}
		inBubble(t, reply, func(t *testing.T, p *page, _ *web) {
			began := time.Now()
			_, err := p.try("m")
			var f *transport.Failure
			require.ErrorAs(t, err, &f)
			require.NotEqual(t, transport.ReasonCanceled, f.Reason)
			require.Equal(t, "because", f.HTTP.Body)
			require.Equal(t, 2*time.Second, time.Since(began))
		})
	}
}

// DELETE ends the session and is limited in time; it follows the calls that Close cancels.
func TestHTTPCloseIsBounded(t *testing.T) {
	t.Parallel()
	reply := func(w http.ResponseWriter, r *http.Request, p posted) {
		switch p.method() {
		case "hang", "DELETE":
			<-r.Context().Done()
		default:
			withSession("s1")(w, r, p)
		}
	}
	inBubble(t, reply, func(t *testing.T, p *page, s *web) {
		p.answers("initialize")
		calls := make(chan error, 4)
		began := time.Now()
		for range cap(calls) {
			go func() {
				_, err := p.Call(t.Context(), p.request("hang"))
				if time.Since(began) != 0 {
					t.Error("the call ended late")
				}
				calls <- err
			}()
		}
		synctest.Wait()
		require.NoError(t, p.Close())
		require.Equal(t, 2*time.Second, time.Since(began))
		for range cap(calls) {
			require.False(t, failure(t, <-calls, transport.ReasonClosed).NotSent)
		}
		require.Len(t, s.find("DELETE"), 1)
	})
}

// The session is over, whatever the reply to DELETE is.
func TestHTTPDeleteStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 204, 404, 405, 500} {
		reply := func(w http.ResponseWriter, r *http.Request, p posted) {
			if p.verb == http.MethodDelete {
				w.WriteHeader(status)
				return
			}
			withSession("s1")(w, r, p)
		}
		inBubble(t, reply, func(t *testing.T, p *page, s *web) {
			p.answers("initialize")
			require.NoError(t, p.Close())
			require.NoError(t, p.Close())
			require.Len(t, s.find("DELETE"), 1)
		})
	}
	inBubble(t, answerAll, func(t *testing.T, p *page, s *web) { // no session, nothing to end
		p.answers("initialize")
		require.NoError(t, p.Close())
		require.Empty(t, s.find("DELETE"))
	})
}
