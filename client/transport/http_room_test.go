package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// A 64th of the default limits, with answers of 10 MiB.
const (
	roomLimit   = 1 << 20
	roomMessage = 256 << 10
	roomAnswer  = 160 << 10
	// roomMost is the maximum memory: the limit and one message, which is read in pieces.
	roomMost = roomLimit + roomMessage + 64<<10
)

// largeServer answers large* in two halves, the second one when the test releases it, and
// everything else at once.
type largeServer struct {
	form   string
	budget transport.Budget
	rest   chan struct{} // closed to send the second halves
	most   atomic.Int64  // maximum bytes held
}

func (s *largeServer) look() {
	for held := s.budget.Held(); ; {
		if most := s.most.Load(); most >= held || s.most.CompareAndSwap(most, held) {
			return
		}
	}
}

func (s *largeServer) reply(w http.ResponseWriter, r *http.Request, p posted) {
	if !strings.HasPrefix(p.method(), "large") {
		answerAll(w, r, p)
		return
	}
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"text":"%s"}}`, p.id(), strings.Repeat("x", roomAnswer))
	switch s.form {
	case "a length":
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
	case "events":
		text = "data: " + text + "\n\n"
	case "lines of an event": // between two tokens, where JSON may have line breaks
		id, result, _ := strings.Cut(text, `"result"`)
		blank := strings.Repeat("\ndata: "+strings.Repeat(" ", 1000), roomAnswer/2000)
		text = "data: " + id + blank + "\ndata: \"result\"" + strings.Replace(result, strings.Repeat("x", roomAnswer/2), "", 1) + "\n\n"
	}
	w.Header().Set("Content-Type", "application/json")
	if strings.Contains(s.form, "event") {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	send := func(text string) {
		for len(text) > 0 && r.Context().Err() == nil {
			n := min(len(text), 32<<10)
			write(w, text[:n])
			text = text[n:]
			s.look()
		}
	}
	send(text[:len(text)/2])
	for text = text[len(text)/2:]; ; {
		var next <-chan time.Time
		if p.method() == "large, slow" { // a byte a second
			next = time.After(time.Second)
		}
		select {
		case <-s.rest:
			send(text)
			return
		case <-r.Context().Done():
			return
		case <-next:
			write(w, text[:1])
			text = text[1:]
		}
	}
}

// inBubbleOfLarge runs a test in virtual time with a server of large answers and a budget.
func inBubbleOfLarge(t *testing.T, form string, test func(t *testing.T, p *page, s *largeServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &largeServer{form: form, rest: make(chan struct{})}
		s.budget.SetLimit(roomLimit)
		srv := memhttp.New((&web{}).handlerOf(s.reply))
		t.Cleanup(srv.Close)
		h := &transport.HTTP{URL: memhttp.URL, RoundTripper: srv.Transport(), Limits: transport.Limits{MessageBytes: roomMessage}}
		p := dialWithin(t, h, &s.budget)
		test(t, p, s)
		require.NoError(t, p.Close())
		synctest.Wait()
		require.Zero(t, s.budget.Held())
	})
}

// wave starts calls and returns their errors.
func (p *page) wave(ctx context.Context, n int, method string, wait jsonrpc.Wait) chan error {
	errs := make(chan error, n)
	for range n {
		req := p.request(method)
		req.Wait = wait
		go func() {
			answer, err := p.Call(ctx, req)
			if err == nil && strings.HasPrefix(method, "large") && len(answer.Result) < roomAnswer/2 {
				err = errors.New("the answer is not whole")
			}
			errs <- err
		}()
	}
	synctest.Wait()
	return errs
}

var forms = []string{"pieces", "a length", "events", "lines of an event"}

// More large answers than fit at once all arrive: the rest waits at the server, and the bytes
// held stay within the limit and one message.
func TestLargeAnswersWaitForRoom(t *testing.T) {
	t.Parallel()
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			inBubbleOfLarge(t, form, func(t *testing.T, p *page, s *largeServer) {
				began := time.Now()
				errs := p.wave(t.Context(), 16, "large", jsonrpc.Wait{Idle: time.Minute, Max: 10 * time.Minute})
				require.Empty(t, errs)
				require.Greater(t, s.budget.Held(), int64(roomLimit/2), "there is a need to wait")
				p.answers("small")
				close(s.rest)
				for range cap(errs) {
					require.NoError(t, <-errs)
				}
				require.Zero(t, time.Since(began))
				t.Logf("%d KiB of %d", s.most.Load()>>10, roomMost>>10)
				require.LessOrEqual(t, s.most.Load(), int64(roomMost))
				require.Zero(t, s.budget.Held())
			})
		})
	}
}

// An answer that waits for space ends with its caller, its time and the connection, and releases
// its bytes. Its error differs from that of a late server.
func TestWaitForRoomEnds(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	for name, tt := range map[string]struct {
		wait   jsonrpc.Wait
		end    func(p *page, cancel context.CancelCauseFunc)
		waited transport.Reason // of calls that wait for space
		late   transport.Reason // of calls whose server is late
		passed time.Duration
	}{
		"the caller gives up": {
			end:    func(_ *page, cancel context.CancelCauseFunc) { cancel(enough) },
			waited: transport.ReasonCanceled, late: transport.ReasonCanceled,
		},
		"close": {
			end:    func(p *page, _ context.CancelCauseFunc) { require.NoError(p, p.Close()) },
			waited: transport.ReasonClosed, late: transport.ReasonClosed,
		},
		"the time is over": {
			wait: jsonrpc.Wait{Max: time.Minute}, end: func(*page, context.CancelCauseFunc) {},
			waited: transport.ReasonNoRoom, late: transport.ReasonTimeout, passed: time.Minute,
		},
	} {
		for _, form := range forms {
			t.Run(name+" "+form, func(t *testing.T) {
				t.Parallel()
				inBubbleOfLarge(t, form, func(t *testing.T, p *page, s *largeServer) {
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					began := time.Now()
					errs := p.wave(ctx, 20, "large", tt.wait)
					tt.end(p, cancel)
					reasons := map[transport.Reason]int{}
					for range cap(errs) {
						var f *transport.Failure
						require.ErrorAs(t, <-errs, &f)
						reasons[f.Reason]++
						require.False(t, f.NotSent)
						if f.Reason == transport.ReasonNoRoom && !strings.Contains(f.Error(), "stopped in the middle") {
							require.True(t, f.Answered, "its id has come")
							require.ErrorContains(t, f, "there is no room for the answer")
						}
					}
					require.Equal(t, tt.passed, time.Since(began))
					require.Positive(t, reasons[tt.waited])
					require.Positive(t, reasons[tt.late])
					delete(reasons, tt.waited)
					delete(reasons, tt.late)
					require.Empty(t, reasons)
					require.Zero(t, s.budget.Held())
				})
			})
		}
	}
}

// While an answer waits for space the server is not silent: it could send more than is read. The
// idle timeout does not end the call, and the received count grows. With space, the timeout
// restarts.
func TestWaitForRoomIsNoSilence(t *testing.T) {
	t.Parallel()
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			inBubbleOfLarge(t, form, func(t *testing.T, p *page, s *largeServer) {
				require.True(t, s.budget.Take(roomLimit))
				slow := p.wave(t.Context(), 1, "large, slow", jsonrpc.Wait{})
				errs := p.wave(t.Context(), 5, "large", jsonrpc.Wait{Idle: time.Minute, Max: time.Hour})
				counter := p.Conn.(counter)
				for range 90 {
					before := counter.Received()
					time.Sleep(100 * time.Millisecond)
					require.Greater(t, counter.Received(), before)
					time.Sleep(10 * time.Second)
				}
				require.Empty(t, errs)
				require.Empty(t, slow, "it goes on, if slowly")
				s.budget.Give(roomLimit)
				synctest.Wait()
				before := counter.Received()
				time.Sleep(500 * time.Millisecond)
				require.Equal(t, before, counter.Received(), "nothing waits and nothing comes")
				time.Sleep(time.Minute - 501*time.Millisecond)
				require.Empty(t, errs)
				time.Sleep(time.Millisecond)
				synctest.Wait()
				for range cap(errs) {
					require.ErrorIs(t, failure(t, <-errs, transport.ReasonTimeout), jsonrpc.ErrIdle)
				}
			})
		})
	}
}

// The answer beyond the limit blocks all that wait: if nothing of it arrives for five seconds, it
// fails. While no other waits, it has its whole time.
func TestStalledAnswerMakesWay(t *testing.T) {
	t.Parallel()
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			inBubbleOfLarge(t, form, func(t *testing.T, p *page, s *largeServer) {
				require.True(t, s.budget.Take(roomLimit))
				wait := jsonrpc.Wait{Idle: 10 * time.Minute}
				stalled := p.wave(t.Context(), 1, "large", wait)
				time.Sleep(9 * time.Minute)
				require.Empty(t, stalled)
				began := time.Now()
				slow := p.wave(t.Context(), 1, "large, slow", wait)
				err := failure(t, <-stalled, transport.ReasonNoRoom)
				require.ErrorContains(t, err, "stopped in the middle of an answer")
				require.LessOrEqual(t, time.Since(began), 5*time.Second)
				require.False(t, err.NotSent)
				errs := p.wave(t.Context(), 3, "large", wait)
				time.Sleep(9 * time.Minute)
				require.Empty(t, slow)
				require.Empty(t, errs)
				close(s.rest)
				require.NoError(t, <-slow)
				for range cap(errs) {
					require.NoError(t, <-errs)
				}
				s.budget.Give(roomLimit)
			})
		})
	}
}

// Incomplete answers release space when their time is over, complete ones arrive after them, and
// small ones never wait.
func TestUnfinishedAnswersMakeRoom(t *testing.T) {
	t.Parallel()
	for _, form := range forms {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var budget transport.Budget
				budget.SetLimit(roomLimit)
				never, whole := &largeServer{form: form, rest: make(chan struct{})}, &largeServer{form: form, rest: make(chan struct{})}
				close(whole.rest)
				srv := memhttp.New((&web{}).handlerOf(func(w http.ResponseWriter, r *http.Request, p posted) {
					if p.method() == "large, half" {
						never.reply(w, r, p)
						return
					}
					whole.reply(w, r, p)
				}))
				t.Cleanup(srv.Close)
				h := &transport.HTTP{URL: memhttp.URL, RoundTripper: srv.Transport(), Limits: transport.Limits{MessageBytes: roomMessage}}
				p := dialWithin(t, h, &budget)
				wait := jsonrpc.Wait{Idle: time.Minute, Max: 10 * time.Minute}
				began := time.Now()
				halves := p.wave(t.Context(), 32, "large, half", wait)
				errs := p.wave(t.Context(), 32, "large", wait)
				p.answers("small")
				require.Zero(t, time.Since(began))
				for range cap(errs) {
					require.NoError(t, <-errs)
				}
				t.Logf("after %v", time.Since(began))
				for range cap(halves) {
					require.Error(t, <-halves)
				}
				require.Zero(t, budget.Held())
			})
		})
	}
}

// A stream without a time limit does not wait for space, since nothing would end the wait.
// Messages without space are lost, and the stream continues.
func TestStreamsWithoutEndDoNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &largeServer{form: "pieces", rest: make(chan struct{})}
		s.budget.SetLimit(roomLimit)
		said := make(chan string)
		srv := memhttp.New((&web{}).handlerOf(func(w http.ResponseWriter, r *http.Request, p posted) {
			if p.verb != http.MethodGet {
				if p.method() == "initialize" {
					w.Header().Set("Mcp-Session-Id", "s1")
				}
				s.reply(w, r, p)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			write(w, "")
			for {
				select {
				case text := <-said:
					write(w, text)
				case <-r.Context().Done():
					return
				}
			}
		}))
		t.Cleanup(srv.Close)
		h := &transport.HTTP{URL: memhttp.URL, RoundTripper: srv.Transport(), Limits: transport.Limits{MessageBytes: roomMessage}}
		p := dialWithin(t, h, &s.budget)
		p.answers("initialize")
		<-p.Conn.(streamer).OpenStream()
		errs := p.wave(t.Context(), 20, "large", jsonrpc.Wait{})
		note := func(n int) string {
			return fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"method\":\"note\",\"params\":{\"x\":\"%s\"}}\n\n", strings.Repeat("x", n))
		}
		said <- note(roomMessage - 100)
		said <- note(1)
		synctest.Wait()
		faults, notes, _ := p.count()
		require.Equal(t, 1, faults)
		require.Equal(t, 1, notes)
		require.Empty(t, errs)
		close(s.rest)
		for range cap(errs) {
			require.NoError(t, <-errs)
		}
		require.NoError(t, p.Close())
		require.Zero(t, s.budget.Held())
	})
}
