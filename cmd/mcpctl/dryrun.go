package main

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// dryRun prints the request that would be sent, but for its id, which is another one each
// time.
func (a *app) dryRun(ctx context.Context, c *connect.Connection, method string, params *doc.Value) error {
	rehearsed, err := a.dial.Rehearse(ctx, c, method, json.RawMessage(params.AppendJSON(nil)))
	a.dial.Sent = connect.Nothing // requests that prepared it do not count
	if err != nil {
		return err
	}
	request, err := doc.Parse(rehearsed.Body)
	if err != nil {
		return err
	}
	request.Set("id", doc.Text("dry-run"))
	body := request.AppendJSON(nil)
	switch a.console.Format {
	case console.JSON:
		return a.console.PrintJSON(body)
	case console.NDJSON, console.Raw:
		return a.console.PrintRaw(body)
	}
	if rehearsed.Header != nil {
		if err := a.console.Print(dryHead(c.Target, rehearsed.Header)); err != nil {
			return err
		}
	}
	return a.console.PrintRaw(body)
}

// dryHead is the request line and the headers over HTTP. It masks values of
// headers that may hold credentials.
func dryHead(t target.Target, header http.Header) string {
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
	return b.String() + "\n"
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
