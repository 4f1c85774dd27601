package catalog

import (
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Walk receives the pages of one walk over the list of tools.
type Walk struct {
	catalog *Catalog
	caller  string
	listed  map[string]bool // tools that were observed; nil if definitions are not compared
	whole   *wholeList      // nil if the list is not cached
}

// Walk starts a walk. Every tool is compared with its earlier definition. If learn is set, later
// calls are checked against the tools of the walk once it is complete; do not set it for a list
// that is only for this caller.
func (c *View) Walk(learn bool) *Walk {
	w := &Walk{catalog: c.Catalog}
	if c.Drift || c.Pins != nil {
		w.listed, w.caller = map[string]bool{}, c.Lists.Key(c.who).Partition
	}
	if learn {
		w.whole = &wholeList{catalog: c.Catalog, key: c.Lists.Key(c.who), agreed: c.Lists.AgreedKey(c.Lists.Links.Agreed())}
	}
	return w
}

// Page receives the page at a cursor and returns its usable tools.
func (w *Walk) Page(cursor *string, res *mcp.ListToolsResult) []mcp.Tool {
	if w.listed != nil {
		w.observe(res.Tools)
	}
	res.Tools = w.catalog.withoutMisannotated(res.Tools)
	if w.whole != nil {
		w.whole.page(cursor, res.Tools, res.NextCursor)
	}
	return res.Tools
}

// as sets the caller of the request that was answered: definitions are compared per caller.
func (w *Walk) as(who *transport.Caller) {
	if w.listed != nil {
		w.caller = w.catalog.Lists.Key(who).Partition
	}
}

// observe reports tools that have changed since the caller last saw them, or that differ from
// their pins. Of tools with the same name it observes the first.
func (w *Walk) observe(tools []mcp.Tool) {
	c := w.catalog
	for i := range tools {
		tool := &tools[i]
		if w.listed[tool.Name] {
			continue
		}
		w.listed[tool.Name] = true
		change := c.definitions.Observe(w.caller, tool, c.Pins[tool.Name])
		if change == nil {
			continue
		}
		c.Lists.Log.Warn("[MCP] a tool's definition has changed", "server", c.Lists.Server, "tool", jsonrpc.Printable(tool.Name, 100),
			"changed", change.Changed, "pinned", change.Pinned)
		if c.Drift {
			c.Emit(*change)
		}
	}
}

// withoutMisannotated drops the tools with invalid annotations, if headers repeat arguments.
func (c *Catalog) withoutMisannotated(tools []mcp.Tool) []mcp.Tool {
	if !c.Lists.Links.Load().StatelessHTTP() {
		return tools
	}
	kept := tools[:0]
	for _, tool := range tools {
		if !HasAnnotations(tool.InputSchema) {
			kept = append(kept, tool) // most tools; nothing to cache
			continue
		}
		schema, first := c.headers.Get(tool.Name, tool.InputSchema)
		if schema.Err() == nil {
			kept = append(kept, tool)
		} else if first {
			c.Lists.Log.Warn("[MCP] a tool is omitted: its header annotations are invalid", "server", c.Lists.Server,
				"tool", jsonrpc.Printable(tool.Name, 100), "reason", schema.Err())
		}
	}
	return kept
}

// Show takes a result of tools/list that the cache does not keep: headers of later calls repeat
// what its schemas annotate.
func (c *Catalog) Show(result json.RawMessage) {
	if c.headers.ShowPlain(result) {
		return
	}
	_ = jsonrpc.Members(result, func(name, value []byte) bool { // the transport has read it
		var tools []struct {
			Name        string          `json:"name"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if string(name) == "tools" && mcp.Unmarshal(value, &tools) == nil {
			for _, tool := range tools {
				c.headers.Show(tool.Name, tool.InputSchema)
			}
		}
		return string(name) != "tools"
	})
}

// Usable returns a result of tools/list without the tools whose annotations are invalid, if headers
// repeat arguments. Everything else in it is unchanged.
func (c *Catalog) Usable(result json.RawMessage) json.RawMessage {
	if !mayAnnotate(result) {
		return result
	}
	var tools []json.RawMessage
	all := 0
	out := []byte{'{'}
	_ = jsonrpc.Members(result, func(name, value []byte) bool { // the transport has read it
		if string(name) == "tools" && jsonrpc.Unmarshal(value, &tools) == nil {
			all = len(tools)
			tools = slices.DeleteFunc(tools, c.misannotated)
			value = []byte{'['}
			for i, tool := range tools {
				if i > 0 {
					value = append(value, ',')
				}
				value = append(value, tool...)
			}
			value = append(value, ']')
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(jsonrpc.AppendString(out, string(name)), ':'), value...)
		return true
	})
	if len(tools) == all {
		return result
	}
	return append(out, '}')
}

// misannotated reports whether a tool has invalid annotations. It records nothing about others:
// headers use the cached list.
func (c *Catalog) misannotated(raw json.RawMessage) bool {
	var tool mcp.Tool
	if mcp.Unmarshal(raw, &tool) != nil {
		return false
	}
	_, err := search(tool.InputSchema)
	return err != nil && len(c.withoutMisannotated([]mcp.Tool{tool})) == 0
}

// wholeList collects the pages of an application's walk for the cache. Headers and results use
// the last known definition of a tool, whichever caller listed it. Only a complete list is used.
type wholeList struct {
	catalog *Catalog
	key     cache.Key
	agreed  cache.Key // without a caller
	tools   []mcp.Tool
	next    *string // cursor of the next page
	missing bool    // a page was skipped
}

// page receives the page at a cursor. It keeps copies.
func (l *wholeList) page(cursor *string, tools []mcp.Tool, next *string) {
	if cursor == nil {
		l.tools, l.missing = l.tools[:0], false
	} else {
		l.missing = l.missing || l.next == nil || *cursor != *l.next
	}
	kept := l.catalog.Lists.Kept
	for i := range tools {
		known, _, ok := kept.Lookup(l.key, tools[i].Name)
		if !ok || !known.Equal(&tools[i]) {
			known = tools[i].Clone()
		}
		l.tools = append(l.tools, *known)
	}
	if l.next = next; next != nil {
		return
	}
	if !l.missing && l.agreed == l.catalog.Lists.AgreedKey(l.catalog.Lists.Links.Agreed()) {
		kept.Learn(l.key, l.tools)
	}
	l.tools = nil
}
