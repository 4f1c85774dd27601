package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Config is one run. All fields must be set.
type Config struct {
	Seed    uint64
	Version mcp.Version
	// Servers is the number of servers, each with a client, Callers the number of goroutines that
	// call each of them.
	Servers, Callers int
	// Trouble is how long servers have faults. After that they are healthy, and their clients
	// must recover.
	Trouble time.Duration
}

// Run makes calls while servers have faults, then heals the servers and checks everything that
// happened.
func Run(ctx context.Context, cfg Config) (Report, error) {
	h := newHistory()
	var keys atomic.Int64
	var world sync.WaitGroup
	var unhealed atomic.Int32
	clients := make([]*client.Client, 0, cfg.Servers)
	for n := range cfg.Servers {
		seed := cfg.Seed*1000 + uint64(n)
		s := &server{
			name: fmt.Sprintf("sim-%d", n), version: cfg.Version, shape: shapeOf(n, seed, cfg.Version), history: h,
			schedule: newSchedule(seed, cfg.Trouble), began: time.Now(),
			half: map[uint64]int{}, under: map[int]int{}, given: map[string]bool{},
		}
		c, err := client.Connect(ctx, s, append(s.shape.options(), client.WithProtocolVersion(string(cfg.Version)))...)
		if err != nil {
			return Report{}, err
		}
		s.guard.Store(c.Breaker())
		clients = append(clients, c)
		var callers sync.WaitGroup
		for i := range cfg.Callers {
			callers.Go(func() {
				hurry(ctx, c, h, &keys, rand.New(rand.NewPCG(seed, uint64(i))), s.began.Add(cfg.Trouble)) //nolint:gosec // repeatable on purpose
			})
		}
		world.Go(func() {
			callers.Wait()
			if !heals(ctx, c, h, &keys, s.shape.recovery()) {
				unhealed.Add(1)
			}
		})
	}
	world.Wait()
	for _, c := range clients {
		if err := c.Close(); err != nil {
			return Report{}, err
		}
	}
	r := h.check()
	r.Unhealed = int(unhealed.Load())
	return r, nil
}

// hurry makes calls until the faults are over, with deadlines of all lengths.
func hurry(ctx context.Context, c *client.Client, h *history, keys *atomic.Int64, r *rand.Rand, until time.Time) {
	for time.Now().Before(until) {
		bound := time.Hour
		if r.IntN(4) == 0 {
			bound = time.Duration(r.Int64N(int64(12 * time.Second)))
		}
		_ = call(ctx, c, h, int(keys.Add(1)), r.IntN(3) > 0, bound)
		rest(ctx, time.Duration(r.Int64N(int64(200*time.Millisecond))))
	}
}

// heals reports whether calls are answered again soon enough, and stay so.
func heals(ctx context.Context, c *client.Client, h *history, keys *atomic.Int64, recovery time.Duration) bool {
	for healed := time.Now(); ; rest(ctx, 100*time.Millisecond) {
		if call(ctx, c, h, int(keys.Add(1)), true, time.Minute) == nil {
			break
		}
		if time.Since(healed) > recovery {
			return false
		}
	}
	for range 20 {
		if call(ctx, c, h, int(keys.Add(1)), true, time.Minute) != nil {
			return false
		}
	}
	return true
}

// call makes one call of an application: of a tool, which must not run twice, or of a resource,
// which may.
func call(ctx context.Context, c *client.Client, h *history, key int, unsafe bool, bound time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	h.begin(key, unsafe)
	var answer string
	var err error
	if unsafe {
		var res *mcp.CallToolResult
		if res, err = c.CallTool(ctx, "write", map[string]any{"key": key}); err == nil {
			answer = res.Content[0].(*mcp.TextContent).Text
		}
	} else {
		var res *mcp.ReadResourceResult
		if res, err = c.ReadResource(ctx, fmt.Sprintf("sim://%d", key)); err == nil {
			answer = *res.Contents[0].Text
		}
	}
	h.end(key, answer, err)
	return err
}

// rest waits.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
