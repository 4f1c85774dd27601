package workload

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/server"
)

// manyTools is how many tools each server of W9 lists; with 1,000 servers that is
// about 30 MB of text.
const manyTools = 25

// many is W9: N servers, a fifth of them programs, behind one handle. P50 is the
// time until all have listed their tools, PerSecond the rate when each is called
// once and all at the same time. What is held is the memory between the two.
func many(ctx context.Context, c Cell, self string) (Result, error) {
	t, err := aim(ctx, c, self, server.Options{Tools: manyTools})
	if err != nil {
		return Result{}, err
	}
	servers := make([]clients.Options, c.N)
	for i := range servers {
		servers[i] = t.oneOfMany(i, self)
	}
	before := holding()
	start := time.Now()
	pool, err := clients.DialMany(ctx, c.Client, servers)
	if err != nil {
		return Result{}, errors.Join(err, t.stop())
	}
	ready := time.Since(start)
	after := holding()
	r := Result{
		Calls: c.N, P50: micros(ready), Held: after.memory - before.memory, Memory: after.resident - before.resident,
		Goroutines: after.goroutines - before.goroutines,
	}
	at := time.Now()
	err = callAll(ctx, pool, c.N)
	r.PerSecond = float64(c.N) / time.Since(at).Seconds()
	closing(pool)
	return r, errors.Join(err, t.stop())
}

// oneOfMany says how to reach server i, which lists tools of its own.
func (t *target) oneOfMany(i int, self string) clients.Options {
	o, label := t.options, "s"+strconv.Itoa(i)
	if i%5 > 0 {
		o.URL = strings.TrimSuffix(o.URL, "/mcp") + "/many/" + label
		return o
	}
	own := server.Options{Modern: t.cell.Modern, Tools: manyTools, Label: label}
	o.URL, o.Argv = "", append([]string{self, ServeStdio}, own.Args()...)
	return o
}

// callAll calls every server once, all at the same time.
func callAll(ctx context.Context, pool clients.Many, n int) error {
	failures := make(chan error, n)
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			letters, err := pool.Call(ctx, i, "echo", map[string]any{"message": "hi"})
			if err == nil && letters < len(server.SmallText) {
				err = fmt.Errorf("server %d answered %d bytes of text", i, letters)
			}
			failures <- err
		})
	}
	done.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}
