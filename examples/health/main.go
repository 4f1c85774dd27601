// Command health connects to the MCP servers whose addresses it is given and
// shows how they are at /health: 200 when calls go to all of them ("degraded" where
// a tool's circuit is open), 503 when not, with the circuit, the connection and the
// list of tools of each. A server that is back is found by being asked about, so
// the address is fit for readiness checks. Several servers behind one handle have
// the same: pool.Pool's HealthHandler.
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

// run serves until ctx ends. listening is told the address.
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
