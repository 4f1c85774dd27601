package main

import (
	"context"
	"encoding/json"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// listing is one of the lists a server has.
type listing struct {
	name       string // as typed
	method     string
	member     string // of the result
	capability string
	id         string // the member that names an item
}

var listings = []listing{
	{"tools", mcp.MethodToolsList, "tools", "tools", "name"},
	{"resources", mcp.MethodResourcesList, "resources", "resources", "uri"},
	{"templates", mcp.MethodResourceTemplatesList, "resourceTemplates", "resources", "uriTemplate"},
	{"prompts", mcp.MethodPromptsList, "prompts", "prompts", "name"},
}

// walk reads a list page by page, from the bytes received: an item that is not
// what the specification asks for costs nobody the list. page gets each result
// as it came; it may be nil.
func (a *app) walk(ctx context.Context, c *connection, l listing, page func(raw json.RawMessage) error) ([]*doc.Value, error) {
	var items []*doc.Value
	var cursor *doc.Value
	seen := map[string]bool{}
	for {
		var params any
		if cursor != nil {
			object := doc.NewObject()
			object.Set("cursor", cursor)
			params = json.RawMessage(object.AppendJSON(nil))
		}
		raw, err := a.request(ctx, c, sentRequest{method: l.method}, params)
		if err != nil {
			return nil, err
		}
		result, err := doc.Parse(raw)
		if err != nil {
			return nil, a.broken(c, "the answer to %s cannot be read: %v", l.method, err)
		}
		if result.Get(l.member).Kind() != doc.Array {
			return nil, a.broken(c, "the answer to %s has no list of %s", l.method, l.member)
		}
		if page != nil {
			if err := page(raw); err != nil {
				return nil, err
			}
		}
		items = append(items, result.Get(l.member).Items()...)
		cursor = result.Get("nextCursor")
		if cursor.Kind() != doc.String {
			return items, nil
		}
		if seen[cursor.Str()] {
			return nil, a.broken(c, "the pages of %s go in a circle: a cursor came twice", l.method)
		}
		seen[cursor.Str()] = true
	}
}

// broken is the failure of a server that breaks the protocol in a way that the
// client does not look at. It arises from an answer.
func (a *app) broken(c *connection, format string, args ...any) *failure {
	f := fail(kindProtocol, mcperrors.Answered, format, args...)
	if name := serverName(c); name != "" {
		f.add("server", "%s", name)
	}
	return f
}

func serverName(c *connection) string {
	info := c.ServerInfo()
	if info.Version == "" {
		return info.Name
	}
	return info.Name + " " + info.Version
}

// find returns the item called name; nil, and all names, when it is not there.
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
