package transporttest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

var errEnough = errors.New("enough")

// prompt limits the delay of an end after its cause. It is generous, for busy machines; in
// virtual time it is exact.
const prompt = 5 * time.Second

// A call ends with its context and the context's cause, and does not affect other calls.
func testCancel(h *harness) {
	other := h.start(h.Context(), h.request(MethodPark, `{"name":"a"}`))
	ctx, cancel := context.WithCancelCause(h.Context())
	done := h.start(ctx, h.request(MethodSilent, ""))
	began := time.Now()
	cancel(errEnough)
	f := h.failed(h.wait(done).err, transport.ReasonCanceled, false)
	if !errors.Is(f, errEnough) {
		h.Fatalf("got %v, want the context's cause", f)
	}
	h.within(began, prompt)
	h.works()
	h.call(MethodFree, `{"name":"a"}`)
	h.check(h.wait(other).err)

	if err := h.overdue(); !errors.Is(err, context.DeadlineExceeded) {
		h.Fatalf("got %v, want the deadline", err)
	}
	h.works()
}

// overdue returns the error of a call whose deadline passes after it was sent. A busy machine may
// take longer than the first deadline to send it.
func (h *harness) overdue() error {
	for pause := h.pause; ; pause *= 2 {
		ctx, stop := context.WithTimeout(h.Context(), pause)
		_, err := h.conn.Call(ctx, h.request(MethodSilent, ""))
		stop()
		if f := (*transport.Failure)(nil); pause < prompt && errors.As(err, &f) && f.NotSent {
			continue
		}
		return h.failed(err, transport.ReasonCanceled, false)
	}
}

// A context that has already ended sends nothing.
func testCancelledBefore(h *harness) {
	ctx, cancel := context.WithCancelCause(h.Context())
	cancel(errEnough)
	_, err := h.conn.Call(ctx, h.request(MethodEcho, ""))
	if f := h.failed(err, transport.ReasonCanceled, true); !errors.Is(f, errEnough) {
		h.Fatalf("got %v, want the context's cause", f)
	}
	_ = h.failed(h.conn.Notify(ctx, jsonrpc.Notification{Method: "noted"}), transport.ReasonCanceled, true)
	h.equal(h.seen(MethodEcho)+h.seen("noted"), 0)
}

// Silence ends a call after its idle timeout, and no other call.
func testIdle(h *harness) {
	began := time.Now()
	_, err := h.conn.Call(h.Context(), h.waiting(jsonrpc.Wait{Idle: h.pause}))
	if f := h.failed(err, transport.ReasonTimeout, false); !errors.Is(f, jsonrpc.ErrIdle) {
		h.Fatalf("got %v, want the idle timeout", f)
	}
	h.notBefore(began, h.pause)
	h.within(began, h.pause+prompt)
	h.works()
}

// The maximum time ends a call, with or without an idle timeout.
func testMax(h *harness) {
	for _, idle := range []time.Duration{0, -1, time.Hour} {
		began := time.Now()
		_, err := h.conn.Call(h.Context(), h.waiting(jsonrpc.Wait{Idle: idle, Max: h.pause}))
		if f := h.failed(err, transport.ReasonTimeout, false); !errors.Is(f, jsonrpc.ErrMaxWait) {
			h.Fatalf("got %v, want the maximum time", f)
		}
		h.notBefore(began, h.pause)
		h.within(began, h.pause+prompt)
	}
	// Negative limits mean no limit.
	ctx, cancel := context.WithTimeout(h.Context(), h.pause)
	defer cancel()
	_, err := h.conn.Call(ctx, h.waiting(jsonrpc.Wait{Idle: -1, Max: -1}))
	_ = h.failed(err, transport.ReasonCanceled, false)
}

func (h *harness) waiting(w jsonrpc.Wait) transport.Request {
	req := h.request(MethodSilent, "")
	req.Wait = w
	return req
}

// within checks that at most d has passed.
func (h *harness) within(began time.Time, d time.Duration) {
	h.Helper()
	if passed := time.Since(began); passed > d {
		h.Fatalf("took %v, want at most %v", passed, d)
	}
}

func (h *harness) notBefore(began time.Time, d time.Duration) {
	h.Helper()
	if passed := time.Since(began); passed < d {
		h.Fatalf("took %v, want at least %v", passed, d)
	}
}

// Close fails every call within a second and closes Done.
func testClose(h *harness) {
	var calls []<-chan outcome
	for range 8 {
		calls = append(calls, h.start(h.Context(), h.request(MethodSilent, "")))
	}
	began := time.Now()
	closed := make(chan error, 1)
	go func() { closed <- h.conn.Close() }()
	for _, done := range calls {
		f := h.failed(h.wait(done).err, transport.ReasonClosed, false)
		if !errors.Is(f, jsonrpc.ErrClosed) {
			h.Fatalf("got %v, want %v", f, jsonrpc.ErrClosed)
		}
	}
	h.within(began, time.Second)
	h.check(<-closed)
	h.check(h.conn.Close())
	select {
	case <-h.conn.Done():
	default:
		h.Fatal("Done is open after Close")
	}
}

// Close during many calls ends each of them.
func testCloseRace(h *harness) {
	var work sync.WaitGroup
	for range 16 {
		work.Go(func() {
			for {
				_, err := h.conn.Call(h.Context(), h.request(MethodEcho, `{}`))
				var f *transport.Failure
				switch {
				case err == nil:
					continue
				case !errors.As(err, &f) || f.Reason != transport.ReasonClosed:
					h.Errorf("got %v, want ReasonClosed", err)
				}
				return
			}
		})
	}
	for range 4 {
		work.Go(func() {
			if err := h.conn.Close(); err != nil {
				h.Errorf("Close: %v", err)
			}
		})
	}
	work.Wait()
}

// Nothing is sent after Close.
func testAfterClose(h *harness) {
	h.check(h.conn.Close())
	_, err := h.conn.Call(h.Context(), h.request(MethodEcho, ""))
	_ = h.failed(err, transport.ReasonClosed, true)
	_ = h.failed(h.conn.Notify(h.Context(), jsonrpc.Notification{Method: "noted"}), transport.ReasonClosed, true)
	var f *transport.Failure
	if err := h.conn.Respond(h.Context(), jsonrpc.Response{ID: jsonrpc.IntID(1)}); !errors.As(err, &f) || f.Reason != transport.ReasonClosed {
		h.Fatalf("got %v, want ReasonClosed", err)
	}
	h.conn.Touch(jsonrpc.IntID(1))
	h.conn.UseVersion("1")
}
