package catalog

import (
	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Walk takes the pages of one walk over the list of tools.
type Walk struct {
	catalog *Catalog
	caller  string
	listed  map[string]bool // tools that were observed; nil if nobody wants to know
	whole   *wholeList      // nil if nothing is learnt
}

// Walk begins a walk. Every tool is compared with its earlier definition. If learn is
// set, later calls are checked against the tools of the walk once it is complete; do
// not set it for a list that only this caller gets.
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

// Page takes the page that a cursor led to and returns its tools that can be used.
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

// as notes whose request was answered: definitions are compared for each caller.
func (w *Walk) as(who *transport.Caller) {
	if w.listed != nil {
		w.caller = w.catalog.Lists.Key(who).Partition
	}
}

// observe reports tools that are not what the caller was shown before, or not the
// pinned ones. Of tools with the same name the first counts.
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

// withoutMisannotated drops the tools whose annotations are not valid, if annotations
// have a meaning.
func (c *Catalog) withoutMisannotated(tools []mcp.Tool) []mcp.Tool {
	if !c.Lists.Links.Load().StatelessHTTP() {
		return tools
	}
	kept := tools[:0]
	for _, tool := range tools {
		if !HasAnnotations(tool.InputSchema) {
			kept = append(kept, tool) // most tools: nothing to remember
			continue
		}
		schema, first := c.headers.Get(tool.Name, tool.InputSchema)
		if schema.Err() == nil {
			kept = append(kept, tool)
		} else if first {
			c.Lists.Log.Warn("[MCP] a tool is left out: its header annotations are not valid", "server", c.Lists.Server,
				"tool", jsonrpc.Printable(tool.Name, 100), "reason", schema.Err())
		}
	}
	return kept
}

// wholeList collects the pages of a walk of the application for the cache. Headers and
// results go by the definition of a tool that was seen last, whichever caller asked for it.
// Only a complete list counts.
type wholeList struct {
	catalog *Catalog
	key     cache.Key
	agreed  cache.Key // for no caller in particular
	tools   []mcp.Tool
	next    *string // cursor of the next page
	missing bool    // a page was left out
}

// page takes the page that a cursor led to. It keeps copies.
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
