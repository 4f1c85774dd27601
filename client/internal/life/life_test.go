package life_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// The context for work of a call has the values of the call's context, and ends with the client,
// not with the call.
func TestWith(t *testing.T) {
	t.Parallel()
	type key struct{}
	var l life.Life
	l.Begin()
	call, leave := context.WithCancel(context.WithValue(t.Context(), key{}, "ada"))
	ctx, end := l.With(call)
	defer end()
	leave()
	require.Equal(t, "ada", ctx.Value(key{}))
	require.NoError(t, ctx.Err())
	values := l.Values(call)
	require.Equal(t, "ada", values.Value(key{}))
	require.NoError(t, values.Err())
	l.End()
	<-ctx.Done()
	<-values.Done()
	done, end := l.With(call)
	end()
	require.Error(t, done.Err())
}

// Final states do not change, and Done is closed in them.
func TestMove(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path []life.State // requested states
		want []life.State // states that it leaves
		end  life.State
	}{
		"nothing":      {end: life.Connecting},
		"twice ready":  {path: []life.State{life.Ready, life.Ready}, want: []life.State{life.Connecting}, end: life.Ready},
		"back":         {path: []life.State{life.Ready, life.Restarting, life.Backoff, life.Ready}, want: []life.State{life.Connecting, life.Ready, life.Restarting, life.Backoff}, end: life.Ready},
		"ended stays":  {path: []life.State{life.Ended, life.Ready, life.Restarting}, want: []life.State{life.Connecting}, end: life.Ended},
		"then closed":  {path: []life.State{life.Ended, life.Closed, life.Ready}, want: []life.State{life.Connecting, life.Ended}, end: life.Closed},
		"closed stays": {path: []life.State{life.Closed, life.Ended}, want: []life.State{life.Connecting}, end: life.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l life.Life
			l.Begin()
			defer l.End()
			var left []life.State
			early := l.Done()
			for _, to := range c.path {
				l.Move(to, func(from life.State) { left = append(left, from) })
			}
			require.Equal(t, c.want, left)
			require.Equal(t, c.end, l.State())
			for _, done := range []<-chan struct{}{early, l.Done()} {
				select {
				case <-done:
					require.True(t, c.end == life.Ended || c.end == life.Closed)
				default:
					require.False(t, c.end == life.Ended || c.end == life.Closed)
				}
			}
			require.Equal(t, c.end == life.Closed, l.Closed())
			if c.end == life.Closed {
				require.Equal(t, mcperrors.KindClosed, l.Refusal().Kind)
				require.False(t, l.Refusal().Retryable)
				return
			}
			require.Nil(t, l.Refusal())
		})
	}
}

// A closed client starts nothing, and waits for running goroutines, each for its time.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l life.Life
		l.Begin()
		stuck := make(chan struct{})
		require.True(t, l.Go(func() { <-stuck }))
		l.Background(func(ctx context.Context) { <-ctx.Done() })
		l.Move(life.Closed, nil)
		require.False(t, l.Go(func() { t.Error("started") }))
		require.False(t, l.Unless(func() { t.Error("run") }))
		l.Background(func(context.Context) { t.Error("started") })
		queued := false
		l.Always(func() { queued = true })

		began := time.Now()
		l.AwaitBackground(time.Second)
		require.Equal(t, time.Second, time.Since(began))
		require.NoError(t, l.Context().Err())
		l.End()
		l.AwaitBackground(time.Second)
		require.Equal(t, time.Second, time.Since(began), "it ended with the context")
		require.False(t, l.Await(time.Second))
		close(stuck)
		require.True(t, l.Await(time.Second))
		require.True(t, queued)
	})
}

// Functions of AfterDone run once, at once in a final state, and no goroutine waits for it.
func TestAfterDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l life.Life
		l.Begin()
		ran := make(chan int, 10)
		l.AfterDone(func() { ran <- 1 })
		l.AfterDone(func() { ran <- 2 })
		l.Move(life.Ready, nil)
		synctest.Wait()
		require.Empty(t, ran)
		l.Move(life.Ended, nil)
		synctest.Wait()
		require.Len(t, ran, 2)
		l.Move(life.Closed, nil)
		synctest.Wait()
		require.Len(t, ran, 2)
		l.AfterDone(func() { ran <- 3 })
		synctest.Wait()
		require.Len(t, ran, 3)
		l.End()
	})
}
