// Command mcpgo is a server of mcp-go for the interop matrix. It speaks stdio, or
// HTTP at /mcp with --http ADDR; both eras in one place.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"

	"github.com/mark3labs/mcp-go/server"
)

func main() {
	addr := flag.String("http", "", "serve HTTP on this address")
	flag.Parse()
	if err := serve(context.Background(), *addr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, addr string) error {
	s := newServer()
	if addr == "" {
		return server.NewStdioServer(s).Listen(ctx, os.Stdin, os.Stdout)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(s, server.WithStateful(true)))
	return http.ListenAndServe(addr, mux)
}
