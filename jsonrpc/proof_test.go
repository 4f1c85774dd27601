package jsonrpc

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// cutting accepts a number of bytes and then fails.
type cutting struct{ room int }

func (c *cutting) Write(b []byte) (int, error) {
	n := min(len(b), c.room)
	if c.room -= n; c.room == 0 {
		return n, errCut
	}
	return n, nil
}

func (*cutting) Close() error { return nil }

var errCut = errors.New("broken pipe")

// A peer that reads lines runs a last one without its newline. So only a frame that
// misses more than the newline is proved not to have arrived. Bytes of the write
// that failed count.
func TestAFrameWithoutItsNewlineMayHaveArrived(t *testing.T) {
	t.Parallel()
	for missing, notSent := range []bool{false, false, true} {
		for _, f := range []*frame{small(1, 10), large(1, inlineLimit)} {
			synctest.Test(t, func(t *testing.T) {
				in, peerOut := io.Pipe()
				conn := NewConn(in, &cutting{room: len(f.append(nil)) - missing}, Config{})
				p := &peer{T: t, conn: conn}
				done := p.callWith(t.Context(), Request{ID: f.id, Method: f.method, Params: f.params}, Wait{Max: time.Second})
				if notSent {
					(<-done).failed(t, errCut, true)
				} else { // the answer may still come
					(<-done).failed(t, ErrMaxWait, false)
				}
				require.NoError(t, peerOut.Close())
				require.NoError(t, conn.Close())
			})
		}
	}
}

// The same for a caller that gives up while the rest of its frame is being written.
func TestTakeBackOfAFrameWithoutItsNewline(t *testing.T) {
	t.Parallel()
	for missing, back := range []bool{false, false, true} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate()
			w := newWriter(g, 1<<20, func(error) {})
			defer endWriter(w, g)
			f := small(1, 10)
			at, err := w.acceptNow(f)
			require.NoError(t, err)
			synctest.Wait()
			g.room <- len(f.append(nil)) - missing
			synctest.Wait()
			if missing > 0 {
				g.fail <- errCut
				synctest.Wait()
			}
			require.Equal(t, back, w.takeBack(at))
			require.Equal(t, !back, left(w, at))
		})
	}
}

// After a hook has panicked, the id is free again.
func TestAPanicInTheTraceLeaksNothing(t *testing.T) {
	t.Parallel()
	angry := true
	p := newPeer(t, Config{OnSent: func([]byte) {
		if angry {
			panic("no")
		}
	}})
	require.PanicsWithValue(t, "no", func() {
		_, _ = p.conn.Call(t.Context(), Request{ID: IntID(1), Method: "m"}, Wait{})
	})
	require.Zero(t, p.conn.InFlight())
	angry = false
	done := p.call(t.Context(), IntID(1), Wait{})
	p.hear()
	p.say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	require.NoError(t, (<-done).err)
}

// The error matches the error of the context and its cause, however the context ends.
func TestTheEndOfAContextIsFoundWithItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("the user left")
	canceled := func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(ctx)
		return ctx, func() { cancel(cause) }
	}
	late := func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithTimeoutCause(ctx, time.Second, cause)
		return ctx, func() { <-time.After(time.Second); synctest.Wait(); cancel() }
	}
	for _, tt := range []struct {
		with func(context.Context) (context.Context, func())
		want error
	}{{canceled, context.Canceled}, {late, context.DeadlineExceeded}} {
		synctest.Test(t, func(t *testing.T) {
			is := func(err error) {
				require.ErrorIs(t, err, tt.want)
				require.ErrorIs(t, err, cause)
				require.Equal(t, cause.Error(), err.Error(), "one line")
			}
			p := newPeer(t, Config{MessageBytes: 1000})
			ctx, end := tt.with(t.Context())
			waiting := p.call(ctx, IntID(1), Wait{})
			p.hear()
			synctest.Wait()
			require.NoError(t, p.conn.Notify(t.Context(), Notification{Method: "n", Params: raw(`{"x":"` + strings.Repeat("x", 2000) + `"}`)}))
			queued := p.call(ctx, IntID(2), Wait{})
			synctest.Wait()
			end()
			is((<-waiting).err)
			is((<-queued).err)
			is((<-p.call(ctx, IntID(3), Wait{})).err)
			is(p.conn.Notify(ctx, Notification{Method: "n"}))
		})
	}
	plain, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, context.Canceled, ended(plain), "without a cause it is the plain error")
}

// An answer that has arrived when the caller gives up ends the call.
func TestAnsweredWhileGivingUp(t *testing.T) {
	t.Parallel()
	p := newPeer(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // both are ready, and select may choose either
		cl, err := p.conn.inflight.add(IntID(1), Wait{})
		require.NoError(t, err)
		_, found := p.conn.inflight.answer([]byte("1"), Response{Result: raw(`{}`)})
		require.True(t, found)
		resp, err := p.conn.await(ctx, cl, span{})
		require.NoError(t, err)
		require.Equal(t, Response{ID: IntID(1), Result: raw(`{}`)}, resp)
	}
}
