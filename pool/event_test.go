package pool_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/pool"
)

// A handler may close the pool, and one that hangs does not keep it open.
func TestPoolHandlers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p *pool.Pool
		opened, closed := make(chan struct{}), make(chan struct{})
		p, err := pool.Open(t.Context(), []pool.Server{serverAt("good", toolServer(t, "good", "echo").Transport())},
			pool.OnEvent(func(ctx context.Context, e pool.Event) {
				<-opened
				if ctx.Err() == nil {
					_ = p.Close()
					close(closed)
				}
			}))
		require.NoError(t, err)
		close(opened)
		<-closed
		require.NoError(t, p.Close())
	})
}

// The handlers of a pool are as safe as those of its clients.
func TestPoolCallbacks(t *testing.T) {
	t.Parallel()
	const bug = "a bug of the application"
	for how, fail := range map[string]func(){"panic": func() { panic(bug) }, "Goexit": runtime.Goexit} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := clienttest.NewServer(t)
			var bad atomic.Bool
			bad.Store(true)
			run := func() {
				if bad.Load() {
					fail()
				}
			}
			var seen atomic.Int64
			p, err := pool.Open(t.Context(), []pool.Server{{Name: "a", Transport: s.Transport()}},
				pool.WithLogger(slog.New(failingLog(run))),
				pool.OnEvent(func(context.Context, pool.Event) {
					seen.Add(1)
					run()
				}))
			require.NoError(t, err)
			for seen.Load() < 2 { // the second starts after the first has failed
				<-time.After(time.Millisecond)
			}
			bad.Store(false)
			require.Equal(t, pool.Connected, p.Health()[0].State)
			require.NoError(t, p.Close())
		})
	}
	_, err := pool.Open(t.Context(), []pool.Server{{Name: "a", Transport: clienttest.NewServer(t).Transport()}},
		pool.WithServerOptions(func(string) []client.Option { panic(bug) }))
	require.ErrorContains(t, err, "WithServerOptions panicked: "+bug)
}

// failingLog is a handler of log lines that runs a function for each.
type failingLog func()

func (failingLog) Enabled(context.Context, slog.Level) bool { return true }

func (f failingLog) Handle(context.Context, slog.Record) error {
	f()
	return nil
}

func (f failingLog) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f failingLog) WithGroup(string) slog.Handler { return f }
