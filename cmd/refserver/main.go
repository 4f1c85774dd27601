// Command refserver is Mainstay's reference MCP server. It speaks stdio by
// default and streamable HTTP with --http; see `refserver --help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == worker.Argument { // docling starts this program again to convert a document
		os.Exit(docling.WorkerMain(os.Stdin, os.Stdout))
	}
	// By default Go kills a program that writes to a closed stdout or stderr. With
	// SIGPIPE caught, that write returns an error: a lost log is ignored, and lost
	// answers end the server in order.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
