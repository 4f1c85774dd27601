package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// dryRun prints the request that would be sent. The real id is made on sending.
func (a *app) dryRun(t target.Target, method string, params *doc.Value) error {
	a.dial.Sent = connect.Nothing // requests that prepared it do not count
	request := doc.NewObject()
	request.Set("jsonrpc", doc.Text("2.0"))
	request.Set("id", doc.Text("dry-run"))
	request.Set("method", doc.Text(method))
	request.Set("params", params)
	body := request.AppendJSON(nil)
	switch a.console.Format {
	case console.JSON:
		return a.console.PrintJSON(body)
	case console.NDJSON, console.Raw:
		return a.console.PrintRaw(body)
	}
	if t.Argv == nil {
		head, err := a.dryHead(t)
		if err != nil {
			return err
		}
		if err := a.console.Print(head); err != nil {
			return err
		}
	}
	return a.console.PrintRaw(body)
}

// dryHead is the request line and the headers over HTTP. It masks values of
// headers that may hold credentials.
func (a *app) dryHead(t target.Target) (string, error) {
	header, err := a.dial.Header()
	if err != nil {
		return "", err
	}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	var b strings.Builder
	b.WriteString("POST " + visible.Line(target.Shown(t.URL)) + "\n")
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			if credential(name) {
				value = "••••"
			}
			b.WriteString(name + ": " + visible.Line(value) + "\n")
		}
	}
	return b.String() + "\n", nil
}

// credential reports whether a header is likely to hold a credential.
func credential(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"auth", "cookie", "token", "key", "secret", "password", "session"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
