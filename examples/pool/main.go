// Command pool connects to all servers of a file in the format of Claude Desktop, Cursor
// and VS Code, lists their tools and calls one:
//
//	go run ./examples/pool examples/pool/mcp.json
//	go run ./examples/pool examples/pool/mcp.json test_simple_text '{}'
//
// It reports a server that cannot be reached, and uses the others.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/pool"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // so that Close ends the programs
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pool:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 1 && len(args) != 3 {
		return errors.New("usage: pool FILE [TOOL ARGUMENTS]")
	}
	p, err := pool.Load(ctx, args[0],
		pool.WithStartupWait(30*time.Second), // `go run` compiles first
		pool.WithServerOptions(policy),
		pool.OnEvent(func(_ context.Context, e pool.Event) {
			if e.Event == nil && e.State == pool.Failed {
				fmt.Fprintln(os.Stderr, "pool:", e.Server, "failed:", e.Err)
			}
		}))
	if err != nil {
		return err
	}
	defer p.Close()

	list, err := p.Tools(ctx)
	if err != nil {
		return err
	}
	for _, tool := range list.Tools {
		fmt.Fprintf(out, "%s is %s of %s\n", tool.Name, tool.Tool.Name, tool.Server)
	}
	for _, server := range slices.Sorted(maps.Keys(list.Failures)) {
		fmt.Fprintf(out, "%s is not there\n", server)
	}
	if len(args) == 1 {
		return nil
	}
	result, err := p.CallTool(ctx, args[1], json.RawMessage(args[2]))
	if err == nil {
		err = p.ToolError(args[1], result)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, result.Text())
	return nil
}

// policy returns the limits of each server. Remote servers get shorter timeouts.
func policy(server string) []client.Option {
	if server != "remote" {
		return nil
	}
	patience := client.Resilience{IdleTimeout: 10 * time.Second, MaxTime: time.Minute}
	return []client.Option{client.WithResilience(patience)}
}
