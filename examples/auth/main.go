// Command auth logs a person in to an MCP server, lists the tools of that server and
// calls one. The tokens stay in a folder, so the next run needs no login.
//
//	go run ./examples/auth https://example.com/mcp greet '{"name": "Ada"}'
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := logIn(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "auth:", err)
		os.Exit(1)
	}
}

func logIn(ctx context.Context, args []string, out io.Writer) error {
	folder, err := os.UserConfigDir()
	if err != nil {
		return err
	}
	store, err := auth.OpenFiles(filepath.Join(folder, "mainstay-example", "tokens"))
	if err != nil {
		return err
	}
	return run(ctx, auth.Login(auth.WithStore(store)), args, out)
}

func run(ctx context.Context, login *auth.Authorizer, args []string, out io.Writer) error {
	if len(args) != 3 {
		return errors.New("usage: auth URL TOOL ARGUMENTS")
	}
	c, err := client.Dial(ctx, args[0], client.WithAuthorizer(login))
	if err != nil {
		return err
	}
	defer c.Close()
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		fmt.Fprintln(out, tool.Name)
	}
	result, err := c.CallTool(ctx, args[1], json.RawMessage(args[2]))
	if err == nil {
		err = c.ToolError(args[1], result)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, result.Text())
	return nil
}
