// Command program calls the tools of an MCP server that are named on its stdin, and logs
// in when the server demands it. A line is a tool and its arguments, or "logout".
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
)

func main() {
	ctx, url := context.Background(), os.Args[1]
	options := []auth.Option{auth.WithPrompt(func(_ context.Context, p auth.Prompt) error {
		_, err := fmt.Fprintln(os.Stderr, p.URL) // the person opens it
		return err
	})}
	if id := os.Getenv("CLIENT_ID"); id != "" {
		options = append(options, auth.WithClient(id, os.Getenv("CLIENT_SECRET"), os.Getenv("ISSUER")))
	}
	if document := os.Getenv("CLIENT_METADATA"); document != "" {
		options = append(options, auth.WithClientMetadata(document), auth.WithDPoP())
	}
	login := auth.Login(options...)
	c, err := client.Dial(ctx, url, client.WithAuthorizer(login))
	fmt.Fprintf(os.Stdout, "%q\n", fmt.Sprint(err))
	for in := bufio.NewScanner(os.Stdin); err == nil && in.Scan(); {
		if in.Text() == "logout" {
			_, failed := login.Logout(ctx, url)
			fmt.Fprintf(os.Stdout, "%q\n", fmt.Sprint(failed))
			continue
		}
		tool, arguments, _ := strings.Cut(in.Text(), " ")
		result, failed := c.CallTool(ctx, tool, json.RawMessage(arguments))
		if failed == nil {
			failed = c.ToolError(tool, result)
		}
		fmt.Fprintf(os.Stdout, "%q\n", fmt.Sprint(failed))
	}
}
