package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// dryRun shows the request that would be sent. Its id is made when it is sent.
func (a *app) dryRun(t target, method string, params *doc.Value) error {
	a.sent = notSent // whatever was sent to prepare it
	request := doc.NewObject()
	request.Set("jsonrpc", doc.Text("2.0"))
	request.Set("id", doc.Text("dry-run"))
	request.Set("method", doc.Text(method))
	request.Set("params", params)
	body := request.AppendJSON(nil)
	switch a.flags.output {
	case formatJSON:
		return a.printJSON(body)
	case formatNDJSON, formatRaw:
		return a.printRaw(body)
	}
	if t.argv == nil {
		head, err := a.dryHead(t)
		if err != nil {
			return err
		}
		if err := a.say(head); err != nil {
			return err
		}
	}
	return a.printRaw(body)
}

// dryHead is what stands before the body over HTTP. Values of headers that hold
// secrets are not shown.
func (a *app) dryHead(t target) (string, error) {
	header, err := a.header()
	if err != nil {
		return "", err
	}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	var b strings.Builder
	b.WriteString("POST " + visible.Line(withoutSecrets(t.url)) + "\n")
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			if secret(name) {
				value = "••••"
			}
			b.WriteString(name + ": " + visible.Line(value) + "\n")
		}
	}
	return b.String() + "\n", nil
}

// secret reports whether a header is likely to hold a credential.
func secret(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"auth", "cookie", "token", "key", "secret", "password", "session"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
