// Command fleet calls one tool of an MCP server repeatedly, as one of several processes
// that share hints about the server over Redis. Start it twice and stop the server: the
// circuit of the first process opens after five failures, that of the second after one,
// and one of them probes for both. Without Redis each process decides alone.
//
//	go run ./examples/fleet 127.0.0.1:6379 https://example.com/mcp greet
//
// Set FLEET_KEY to the same secret of at least 32 bytes in all of them if others
// can use that Redis.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	fleetredis "github.com/mainstay-mcp/mainstay/fleet/redis"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: fleet REDIS URL TOOL")
		return
	}
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3], time.Second, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// run calls the tool every so often until ctx ends.
func run(ctx context.Context, redis, url, tool string, every time.Duration, out io.Writer) error {
	settings := fleetredis.Settings{Logger: slog.New(slog.NewTextHandler(out, nil))}
	settings.Redis.Addrs = []string{redis}
	if key := os.Getenv("FLEET_KEY"); key != "" {
		settings.SigningKeys = [][]byte{[]byte(key)}
	}
	fleet, err := fleetredis.Join(ctx, settings)
	if err != nil {
		return err
	}
	defer fleet.Close()
	c, err := client.Dial(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := fleet.Attach(c.Breaker(), fleetredis.Share{Server: url, Gate: c}); err != nil {
		return err
	}
	for tick := time.Tick(every); ; {
		_, err := c.CallTool(ctx, tool, nil)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, mcperrors.ErrCircuitOpen):
			s := c.Breaker().Snapshot()
			fmt.Fprintf(out, "not sent: %s for %s more (%s)\n", s.State, s.RetryAfter.Round(time.Second), s.Reason)
		case err != nil:
			fmt.Fprintln(out, "failed:", err)
		default:
			fmt.Fprintln(out, "answered;", fleet.Stats().Nodes, "nodes")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}
