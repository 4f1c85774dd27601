package workload

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/server"
)

// largeResult is W3: N bytes of text in one result.
func largeResult(ctx context.Context, c Cell, self string) (Result, error) {
	lift := func(o *clients.Options) { o.Lift = true }
	return with(ctx, c, self, server.Options{Prepare: c.N}, lift, func(_ *target, client clients.Client) (Result, error) {
		args := map[string]any{"size": c.N}
		return transfer(ctx, c, client, func() error {
			n, err := client.Call(ctx, "large", args)
			if err == nil && n < c.N {
				err = fmt.Errorf("%d bytes of text arrived instead of %d", n, c.N)
			}
			return err
		})
	})
}

// largeArguments is W4: N bytes of text as an argument.
func largeArguments(ctx context.Context, c Cell, self string) (Result, error) {
	lift := func(o *clients.Options) { o.Lift = true }
	return with(ctx, c, self, server.Options{}, lift, func(_ *target, client clients.Client) (Result, error) {
		args := map[string]any{"payload": server.Text(c.N)}
		if c.Client == clients.Floor {
			// The floor sends ready bytes; they are made here.
			if err := call(ctx, client, "sink", args); err != nil {
				return Result{}, err
			}
		}
		return transfer(ctx, c, client, func() error { return call(ctx, client, "sink", args) })
	})
}

// transfer measures calls that carry c.N bytes: memory and allocations of the
// first one, before any memory can be used again, and the speed of the best one.
func transfer(ctx context.Context, c Cell, client clients.Client, once func() error) (Result, error) {
	if err := call(ctx, client, "echo", map[string]any{"message": "hi"}); err != nil {
		return Result{}, err
	}
	settle()
	before := resident()
	resetPeak()
	m := begin()
	if err := once(); err != nil {
		return Result{}, err
	}
	first := m.end()
	r := first.per(1)
	r.Memory = max(peak()-before, 0)
	best := first
	more := pick(c, 2, 0)
	if c.N <= 1<<20 {
		more = pick(c, 30, 2)
	}
	times := []time.Duration{first.elapsed}
	for range more {
		runtime.GC()
		m := begin()
		if err := once(); err != nil {
			return Result{}, err
		}
		s := m.end()
		times = append(times, s.elapsed)
		if s.elapsed < best.elapsed {
			best = s
		}
	}
	r.Calls = len(times)
	r.CPU = micros(best.cpu)
	r.PerSecond = 0
	r.MBPerSecond = float64(c.N) / 1e6 / best.elapsed.Seconds()
	r.P50, r.P99 = percentiles(times)
	return r, nil
}
