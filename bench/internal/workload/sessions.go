package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/server"
)

// held is what the process holds.
type held struct{ memory, resident, goroutines float64 }

func holding() held {
	settle()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return held{float64(m.HeapAlloc + m.StackInuse), resident(), float64(runtime.NumGoroutine())}
}

// sessions is W6: N connected HTTP sessions that do nothing, with or without a
// stream of the server's own.
func sessions(ctx context.Context, c Cell, self string) (Result, error) {
	listening := c.Variant == Listening || c.Variant == ListeningShared
	shared := c.Variant == SharedPool || c.Variant == ListeningShared
	tools := map[string]int{OneTool: 1, TwentyTools: 20}[c.Variant]
	t, err := aim(ctx, c, self, server.Options{Stream: listening, Tools: tools})
	if err != nil {
		return Result{}, err
	}
	t.options.Pool, t.options.Listen = false, listening
	t.options.SkipList = shared
	if c.Client == clients.Floor || shared {
		t.options.Shared = clients.NewPool()
	} else if c.Client != clients.Mainstay {
		// The default client of the peers is one for the whole process; it is
		// made here, so that no session pays for it.
		t.options.Shared = http.DefaultTransport
	}
	before := holding()
	open := make([]clients.Client, 0, c.N)
	for range c.N {
		client, err := t.dial(ctx)
		if err != nil {
			return Result{}, errors.Join(fmt.Errorf("session %d: %w", len(open), err), closeAll(open), t.stop())
		}
		open = append(open, client)
	}
	err = nil
	if listening {
		err = t.awaitStreams(ctx, int64(c.N))
	}
	after := holding()
	runtime.KeepAlive(open)
	n := float64(c.N)
	r := Result{
		Calls: c.N, Held: (after.memory - before.memory) / n, Memory: (after.resident - before.resident) / n,
		Goroutines: (after.goroutines - before.goroutines) / n,
	}
	return r, errors.Join(err, closeAll(open), t.stop())
}

// awaitStreams waits until the server sees n streams; some clients open them
// in the background.
func (t *target) awaitStreams(ctx context.Context, n int64) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for {
		stats, err := t.stats(ctx)
		if err != nil {
			return err
		}
		if stats.Streams == n {
			return nil
		}
		select {
		case <-tick.C:
		case <-limit:
			return fmt.Errorf("the server sees %d streams instead of %d", stats.Streams, n)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// closeAll is bounded, since Close of a client may not be.
func closeAll(open []clients.Client) error {
	var all sync.WaitGroup
	for _, c := range open {
		all.Go(func() { _ = c.Close() }) // what is measured has been
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(2 * patience):
		return errors.New("sessions did not close")
	}
}
