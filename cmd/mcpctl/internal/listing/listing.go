// Package listing reads the lists of a server: tools, resources, templates and
// prompts.
package listing

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// List is one of the lists of a server.
type List struct {
	Name       string // as typed
	Method     string
	Member     string // of the result
	Capability string
	ID         string // the member that names an item
}

// Lists are all lists, tools first.
var Lists = []List{
	{"tools", mcp.MethodToolsList, "tools", "tools", "name"},
	{"resources", mcp.MethodResourcesList, "resources", "resources", "uri"},
	{"templates", mcp.MethodResourceTemplatesList, "resourceTemplates", "resources", "uriTemplate"},
	{"prompts", mcp.MethodPromptsList, "prompts", "prompts", "name"},
}

// mostPages and mostBytes bound a list, as they bound those of the client: a server may never come to
// an end.
const (
	mostPages = 1_000
	mostBytes = 64 << 20
)

// Walk reads a list page by page. It keeps the bytes received, so that one invalid
// item does not lose the rest. page gets each result unchanged; it may be nil.
func Walk(ctx context.Context, d *connect.Dialer, c *connect.Connection, l List, page func(raw json.RawMessage) error) ([]*doc.Value, error) {
	var items []*doc.Value
	var pages []json.RawMessage
	var cursor *doc.Value
	seen, size := map[string]bool{}, 0
	for {
		var params any
		if cursor != nil {
			object := doc.NewObject()
			object.Set("cursor", cursor)
			params = json.RawMessage(object.AppendJSON(nil))
		}
		raw, err := d.Request(ctx, c, connect.Sent{Method: l.Method}, params)
		if err != nil {
			return nil, err
		}
		result, err := doc.ParseValid(raw)
		if err != nil {
			return nil, c.Broken("the answer to %s is not valid: %v", l.Method, err)
		}
		if result.Get(l.Member).Kind() != doc.Array {
			return nil, c.Broken("the answer to %s has no list named %s", l.Method, l.Member)
		}
		if page != nil {
			if err := page(raw); err != nil {
				return nil, err
			}
		}
		pages = append(pages, raw)
		items = append(items, result.Get(l.Member).Items()...)
		cursor = result.Get("nextCursor")
		if cursor.Kind() != doc.String {
			if d.Listed != nil {
				d.Listed(ctx, c.Target, l.Name, items, pages)
			}
			return items, nil
		}
		size += len(raw)
		switch {
		case seen[cursor.Str()]:
			return nil, c.Broken("the pages of %s never end: the server sent the same cursor twice", l.Method)
		case len(pages) == mostPages:
			return nil, c.Broken("the pages of %s never end: there are more than %d", l.Method, mostPages)
		case size > max(mostBytes, int(d.Flags.MaxMessage)):
			return nil, c.Broken("the pages of %s have more than %d MiB", l.Method, size>>20)
		}
		seen[cursor.Str()] = true
	}
}

// find returns the item with a name, or nil and the names of all items.
func find(items []*doc.Value, id, name string) (found *doc.Value, names []string) {
	for _, item := range items {
		text := item.Get(id).Str()
		if text == name {
			return item, nil
		}
		names = append(names, text)
	}
	return nil, names
}

// Tool returns a tool of the server's list. If the server says meanwhile that its tools
// have changed, a list without the name is fetched again, once. The error for an unknown
// name suggests the nearest names; another tool is never used instead.
func Tool(ctx context.Context, d *connect.Dialer, c *connect.Connection, name string) (*doc.Value, error) {
	notFound := failure.New(failure.KindNotFound, mcperrors.NotSent, "no tool %s", name)
	notFound.Note = failure.NoteNothingSent
	if !c.May("tools") {
		notFound.Add("server", "%s declares no tools", c.ServerName())
		return nil, notFound
	}
	var names []string
	for again := false; ; again = true {
		changes := c.ToolChanges()
		items, err := Walk(ctx, d, c, Lists[0], nil)
		if err != nil {
			return nil, err
		}
		var tool *doc.Value
		if tool, names = find(items, "name", name); tool != nil {
			return tool, nil
		}
		if again || c.ToolChanges() == changes {
			break
		}
	}
	suggested(notFound, "tools", name, names)
	return nil, notFound
}

// Prompt returns a prompt of the server's list.
func Prompt(ctx context.Context, d *connect.Dialer, c *connect.Connection, name string) (*doc.Value, error) {
	notFound := failure.New(failure.KindNotFound, mcperrors.NotSent, "no prompt %s", name)
	notFound.Note = failure.NoteNothingSent
	list := Lists[slices.IndexFunc(Lists, func(l List) bool { return l.Method == mcp.MethodPromptsList })]
	if !c.May(list.Capability) {
		notFound.Add("server", "%s declares no prompts", c.ServerName())
		return nil, notFound
	}
	items, err := Walk(ctx, d, c, list, nil)
	if err != nil {
		return nil, err
	}
	prompt, names := find(items, list.ID, name)
	if prompt == nil {
		suggested(notFound, "prompts", name, names)
		return nil, notFound
	}
	return prompt, nil
}

// suggested adds the nearest of the known names to a failure, or the names.
func suggested(f *failure.Failure, label, name string, names []string) {
	if near := suggest.Nearest(name, names); len(near) > 0 {
		f.Message += "; did you mean " + strings.Join(near, ", ") + "?"
	} else {
		f.Add(label, "%s", visible.Cut(strings.Join(names, ", "), 200))
	}
}
