package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/server"
)

func echoArgs(c Cell) any {
	if c.Variant == RawArgs {
		return json.RawMessage(`{"message":"hi"}`)
	}
	return map[string]any{"message": "hi"}
}

// call is one small call with a check that its answer arrived.
func call(ctx context.Context, c clients.Client, tool string, args any) error {
	n, err := c.Call(ctx, tool, args)
	if err != nil {
		return err
	}
	if n < len(server.SmallText) {
		return fmt.Errorf("%s answered %d bytes of text", tool, n)
	}
	return nil
}

// with runs f with a connected client and closes it afterwards.
func with(ctx context.Context, c Cell, self string, o server.Options, change func(*clients.Options),
	f func(*target, clients.Client) (Result, error),
) (Result, error) {
	t, err := aim(ctx, c, self, o)
	if err != nil {
		return Result{}, err
	}
	if change != nil {
		change(&t.options)
	}
	client, err := t.dial(ctx)
	if err != nil {
		return Result{}, errors.Join(err, t.stop())
	}
	r, err := f(t, client)
	closing(client)
	return r, errors.Join(err, t.stop())
}

// sequential is W1: small calls, one after the other.
func sequential(ctx context.Context, c Cell, self string) (Result, error) {
	return with(ctx, c, self, server.Options{}, nil, func(_ *target, client clients.Client) (Result, error) {
		args := echoArgs(c)
		for range pick(c, 500, 50) {
			if err := call(ctx, client, "echo", args); err != nil {
				return Result{}, err
			}
		}
		times, free, err := timesOffHeap(400_000)
		if err != nil {
			return Result{}, err
		}
		defer free()
		times = times[:0]
		length := pick(c, 600*time.Millisecond, 100*time.Millisecond)
		m := begin()
		last := m.start
		for len(times) < cap(times) && last.Sub(m.start) < length {
			if err := call(ctx, client, "echo", args); err != nil {
				return Result{}, err
			}
			now := time.Now()
			times = append(times, now.Sub(last))
			last = now
		}
		r := m.end().per(len(times))
		r.P50, r.P99 = percentiles(times)
		return r, nil
	})
}

// concurrent is W2: N goroutines, each with one small call in flight always.
func concurrent(ctx context.Context, c Cell, self string) (Result, error) {
	change := func(o *clients.Options) { o.Pool = c.Variant != DefaultPool }
	return with(ctx, c, self, server.Options{}, change, func(t *target, client clients.Client) (Result, error) {
		args := echoArgs(c)
		times, free, err := timesOffHeap(2_000_000)
		if err != nil {
			return Result{}, err
		}
		defer free()
		var used atomic.Int64
		var stop atomic.Bool
		var warm, done sync.WaitGroup
		failures := make(chan error, c.N)
		start := make(chan struct{})
		warm.Add(c.N)
		for range c.N {
			done.Go(func() {
				// The first calls open connections and grow stacks.
				err := call(ctx, client, "echo", args)
				warm.Done()
				<-start
				for err == nil && !stop.Load() {
					at := time.Now()
					if err = call(ctx, client, "echo", args); err != nil {
						break
					}
					if i := used.Add(1); i <= int64(len(times)) {
						times[i-1] = time.Since(at)
					}
				}
				if err != nil {
					stop.Store(true)
					failures <- err
				}
			})
		}
		warm.Wait()
		m := begin()
		close(start)
		timer := time.AfterFunc(pick(c, 800*time.Millisecond, 100*time.Millisecond), func() { stop.Store(true) })
		done.Wait()
		timer.Stop()
		calls := int(used.Load())
		r := m.end().per(calls)
		select {
		case err := <-failures:
			return Result{}, err
		default:
		}
		r.P50, r.P99 = percentiles(times[:min(calls, len(times))])
		stats, err := t.stats(ctx)
		r.Connections = stats.Connections
		return r, err
	})
}

// hold is W2 with a server that answers none of N calls until all are there:
// proof that they are all in flight.
func hold(ctx context.Context, c Cell, self string) (Result, error) {
	return with(ctx, c, self, server.Options{}, nil, func(t *target, client clients.Client) (Result, error) {
		if err := call(ctx, client, "echo", map[string]any{"message": "hi"}); err != nil {
			return Result{}, err
		}
		args := map[string]any{"n": c.N}
		failures := make(chan error, c.N)
		var done sync.WaitGroup
		m := begin()
		for range c.N {
			done.Go(func() { failures <- call(ctx, client, "hold", args) })
		}
		done.Wait()
		s := m.end()
		close(failures)
		for err := range failures {
			if err != nil {
				return Result{}, err
			}
		}
		r := s.per(c.N)
		r.P50 = micros(s.elapsed)
		stats, err := t.stats(ctx)
		r.Connections = stats.Connections
		return r, err
	})
}
