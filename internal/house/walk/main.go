// Command walk makes one call of a tool over stdio and prints the files that the
// calling goroutine passes, a line each, in order. It prints nothing unless the
// command house has built it with its marks in the source.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/house/walk/trace"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const version = mcp.Version2025_11_25

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		serve()
		return
	}
	if err := call(); err != nil {
		fmt.Fprintln(os.Stderr, "walk:", err)
		os.Exit(1)
	}
}

// call makes calls until nothing is left to be learned or made, and records one more.
func call() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.DialCommand(ctx, []string{os.Args[0], "serve"}, client.WithProtocolVersion(string(version)))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // the call is what matters
	args := map[string]any{"text": "hi"}
	for range 3 {
		if _, err := c.CallTool(ctx, "echo", args); err != nil {
			return err
		}
	}
	trace.Start()
	_, err = c.CallTool(ctx, "echo", args)
	files := trace.Stop()
	for _, file := range files {
		_, _ = fmt.Fprintln(os.Stdout, file)
	}
	return err
}

// serve is a server with one tool.
func serve() {
	answers := map[string]string{
		"initialize": `{"protocolVersion":"` + string(version) + `","capabilities":{"tools":{}},"serverInfo":{"name":"walk","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"hi"}]}`,
		"ping":       `{}`,
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &m) == nil && m.ID != nil {
			_, _ = fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, answers[m.Method])
		}
	}
}
