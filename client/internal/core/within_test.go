package core_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

type nameKey struct{}

// The context ends with the call, with the client and with the time, whether or not Done is
// called, and so does a derived context.
func TestWithin(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ err, cause error }{
		"nothing":    {},
		"the call":   {err: context.Canceled},
		"the client": {err: context.Canceled, cause: jsonrpc.ErrClosed},
		"the time":   {err: context.DeadlineExceeded, cause: jsonrpc.ErrMaxWait},
		"its end":    {err: context.Canceled},
	} {
		for _, waits := range []string{"nobody waits", "somebody waits", "somebody waits for a child"} {
			t.Run(name+", "+waits, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					call, endCall := context.WithCancel(context.WithValue(t.Context(), nameKey{}, "ann"))
					life, endLife := context.WithCancel(t.Context())
					defer endCall()
					defer endLife()
					w := core.NewWithin(call, life, time.Minute)
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
					switch name {
					case "the call":
						endCall()
					case "the client":
						endLife()
					case "the time":
						time.Sleep(time.Minute)
					case "its end":
						w.End()
					}
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

// An ended context is done, even if Done is called later.
func TestWithinAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := core.NewWithin(t.Context(), t.Context(), 0)
	_, bounded := w.Deadline()
	require.False(t, bounded)
	w.End()
	<-w.Done()
	require.ErrorIs(t, w.Err(), context.Canceled)
}

// A callback that does not call Done costs one allocation.
func TestCostOfWithin(t *testing.T) { //nolint:paralleltest // counts allocations of the whole process
	if testmain.Race {
		t.Skip("the race detector allocates")
	}
	ctx := context.WithValue(t.Context(), nameKey{}, "ann")
	require.InDelta(t, 1, testing.AllocsPerRun(100, func() {
		w := core.NewWithin(ctx, ctx, time.Minute)
		if w.Err() != nil || w.Value(nameKey{}) != "ann" {
			t.Error("it has ended, or lost its values")
		}
		w.End()
	}), 0.5)
}
