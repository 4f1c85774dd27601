// Command gosdk is a server of the official go-sdk for the interop matrix. It
// speaks stdio, or HTTP with --http ADDR: /mcp keeps sessions, /stateless does
// not, because go-sdk serves the two eras from two handlers.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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
	server := newServer()
	if addr == "" {
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	same := func(*http.Request) *mcp.Server { return server }
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(same, nil))
	mux.Handle("/stateless", mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, // without it a call does not see that its client is gone
	}))
	return http.ListenAndServe(addr, mux)
}
