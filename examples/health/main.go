// Command health connects to the MCP servers at the given addresses and reports their
// health at /health, with the circuit, the connection and the list of tools of each. The
// status is 200 while all servers accept calls ("degraded" if the circuit of a tool is
// open), and 503 otherwise. A request to /health also probes a server that was down, so
// it is fit for readiness checks. For several servers behind one handle, use the
// HealthHandler of pool.Pool.
//
//	go run ./examples/health :8080 https://example.com/mcp https://example.org/mcp
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: health ADDRESS URL...")
		return
	}
	if err := run(ctx, os.Args[1], os.Args[2:], func(net.Addr) {}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// run serves until ctx ends. listening receives the address.
func run(ctx context.Context, address string, urls []string, listening func(net.Addr)) error {
	var clients []*client.Client
	defer func() {
		for _, c := range clients {
			_ = c.Close()
		}
	}()
	for _, url := range urls {
		c, err := client.Dial(ctx, url)
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	mux := http.NewServeMux()
	mux.Handle("/health", client.HealthHandler(clients...))
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	listening(l.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}
