package span_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/span"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

type nameKey struct{}

// The context ends with the call, with the client and with the time, whether or not
// anybody waits for that, and a context that is made of it does too.
func TestWithin(t *testing.T) {
	t.Parallel()
	type ends struct{ call, life context.CancelFunc }
	for name, tt := range map[string]struct {
		end        func(w *span.Within, e ends)
		err, cause error
	}{
		"nothing":    {end: func(*span.Within, ends) {}},
		"the call":   {end: func(_ *span.Within, e ends) { e.call() }, err: context.Canceled},
		"the client": {end: func(_ *span.Within, e ends) { e.life() }, err: context.Canceled, cause: jsonrpc.ErrClosed},
		"the time":   {end: func(*span.Within, ends) { time.Sleep(time.Minute) }, err: context.DeadlineExceeded, cause: jsonrpc.ErrMaxWait},
		"its end":    {end: func(w *span.Within, _ ends) { w.End() }, err: context.Canceled},
	} {
		for _, waits := range []string{"nobody waits", "somebody waits", "somebody waits for a child"} {
			t.Run(name+", "+waits, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					call, endCall := context.WithCancel(context.WithValue(t.Context(), nameKey{}, "ann"))
					life, endLife := context.WithCancel(t.Context())
					defer endCall()
					defer endLife()
					w := span.NewWithin(call, life, time.Minute)
					defer w.End()
					ctx := context.Context(w)
					if waits == "somebody waits for a child" {
						child, cancel := context.WithCancel(w)
						defer cancel()
						ctx = child
					}
					require.NoError(t, ctx.Err())
					ended := make(chan struct{})
					if waits != "nobody waits" {
						context.AfterFunc(ctx, func() { close(ended) })
					}
					tt.end(w, ends{endCall, endLife})
					synctest.Wait()
					require.Equal(t, "ann", ctx.Value(nameKey{}))
					require.ErrorIs(t, ctx.Err(), tt.err)
					require.Equal(t, tt.cause, w.Cause())
					select {
					case <-ended:
						require.Error(t, tt.err)
					default:
						require.True(t, tt.err == nil || waits == "nobody waits")
					}
					until, bounded := ctx.Deadline()
					require.True(t, bounded)
					require.False(t, until.After(time.Now().Add(time.Minute)))
				})
			})
		}
	}
}

// A context after its end is over, whenever somebody begins to wait for it.
func TestWithinAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := span.NewWithin(t.Context(), t.Context(), 0)
	_, bounded := w.Deadline()
	require.False(t, bounded)
	w.End()
	<-w.Done()
	require.ErrorIs(t, w.Err(), context.Canceled)
}

// A function that does not wait costs one allocation.
func TestCostOfWithin(t *testing.T) { //nolint:paralleltest // counts allocations of the whole process
	if testmain.Race {
		t.Skip("the race detector allocates")
	}
	ctx := context.WithValue(t.Context(), nameKey{}, "ann")
	require.InDelta(t, 1, testing.AllocsPerRun(100, func() {
		w := span.NewWithin(ctx, ctx, time.Minute)
		if w.Err() != nil || w.Value(nameKey{}) != "ann" {
			t.Error("it has ended, or lost its values")
		}
		w.End()
	}), 0.5)
}
