// Command host runs reference servers for the tests of other modules (package
// internal/reference of the root module starts it). It prints its address, serves
// one connection for each server and one for each stdio conversation, and ends when
// its standard input does.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == worker.Argument { // docling starts itself so to convert a document
		os.Exit(docling.WorkerMain(os.Stdin, os.Stdout))
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Println(l.Addr()); err != nil { //nolint:forbidigo // a program's answer to the one that started it
		return err
	}
	h := newHost(context.Background())
	go h.accept(l)
	_, _ = io.Copy(io.Discard, os.Stdin) // the tests have ended, whatever the reason
	h.close()
	return nil
}
