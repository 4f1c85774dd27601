package workload

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/server"
)

// connect is W5: connect, shake hands, and know N tools; over stdio the start
// of the process is in it.
func connect(ctx context.Context, c Cell, self string) (Result, error) {
	t, err := aim(ctx, c, self, server.Options{Tools: c.N})
	if err != nil {
		return Result{}, err
	}
	t.options.SkipList = c.Variant == Walk
	var total span
	var times []time.Duration
	for range pick(c, 7, 2) {
		runtime.GC()
		m := begin()
		client, err := t.dial(ctx)
		if err != nil {
			return Result{}, errors.Join(err, t.stop())
		}
		err = knowTools(ctx, c, client)
		s := m.end()
		closing(client)
		if err != nil {
			return Result{}, errors.Join(err, t.stop())
		}
		total.add(s)
		times = append(times, s.elapsed)
	}
	r := total.per(len(times))
	r.PerSecond = 0
	r.P50, r.P99 = percentiles(times)
	stats, err := t.stats(ctx)
	r.Lists = stats.Lists
	return r, errors.Join(err, t.stop())
}

// knowTools gets the list in the way the client has for it: one that fetches
// it while connecting is asked for the last tool, the others for all of it.
func knowTools(ctx context.Context, c Cell, client clients.Client) error {
	if keeper, ok := client.(clients.Keeper); ok && c.Variant != Walk {
		return keeper.Known(ctx, server.FilledTool(c.N-1))
	}
	n, err := client.List(ctx)
	if err == nil && n != c.N {
		err = fmt.Errorf("the list has %d tools instead of %d", n, c.N)
	}
	return err
}

// cached is W5 afterwards: a look at a tool of a list that is fresh.
func cached(ctx context.Context, c Cell, self string) (Result, error) {
	return with(ctx, c, self, server.Options{Tools: c.N}, nil, func(t *target, client clients.Client) (Result, error) {
		name := server.FilledTool(c.N - 1)
		keeper, ok := client.(clients.Keeper)
		if !ok {
			return Result{}, errors.New("the client keeps no list")
		}
		if err := keeper.Known(ctx, name); err != nil {
			return Result{}, err
		}
		before, err := t.stats(ctx)
		if err != nil {
			return Result{}, err
		}
		const looks = 10_000
		times := make([]time.Duration, 0, looks)
		m := begin()
		for range looks {
			at := time.Now()
			if err := keeper.Known(ctx, name); err != nil {
				return Result{}, err
			}
			times = append(times, time.Since(at))
		}
		r := m.end().per(looks)
		r.P50, r.P99 = percentiles(times)
		after, err := t.stats(ctx)
		r.Lists = after.Lists - before.Lists
		return r, err
	})
}
