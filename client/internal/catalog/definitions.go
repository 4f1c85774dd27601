package catalog

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/internal/footprint"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Definitions remembers the tools that a server has listed, to detect a changed definition. The
// zero value is ready for use. Its methods may be called from many goroutines at once.
type Definitions struct {
	mu    sync.Mutex
	seen  map[shownTool]*definition
	bytes int
}

// Limits of the memory: those of one walk of a list.
const (
	maxDefinitions     = 100_000
	maxDefinitionBytes = 64 << 20
)

// shownTool is a tool of one caller's list.
type shownTool struct{ caller, name string }

type definition struct {
	tool  mcp.Tool
	print string // fingerprint; computed on demand
}

func (d *definition) fingerprint() string {
	if d.print == "" {
		d.print = d.tool.Fingerprint()
	}
	return d.print
}

// Observe compares a tool with the definition that a caller was shown before, and with its pin,
// "" for none. It returns nil if nothing has changed, and computes no fingerprint then.
func (d *Definitions) Observe(caller string, tool *mcp.Tool, pin string) *event.ToolDrift {
	c := d.observe(caller, tool, pin)
	if c != nil && c.Before != nil {
		c.Changed = Changes(c.Before, tool)
	}
	return c
}

func (d *Definitions) observe(caller string, tool *mcp.Tool, pin string) *event.ToolDrift {
	name := shownTool{caller, tool.Name}
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.seen[name]
	if was != nil && reflect.DeepEqual(was.tool, *tool) {
		return nil
	}
	is := &definition{tool: *tool.Clone()} // the caller may change the list
	c := &event.ToolDrift{Tool: tool.Name, After: *tool}
	if was != nil {
		c.Old, c.New, c.Before = was.fingerprint(), is.fingerprint(), &was.tool
	}
	if pin != "" {
		c.New = is.fingerprint()
		c.Pinned = c.New != pin
		if was == nil {
			c.Old = pin
		}
	}
	d.keep(name, is, was)
	if c.Old == c.New {
		return nil
	}
	return c
}

// keep remembers a definition within the limits, even if a server changes all names in every
// list. Requires d.mu.
func (d *Definitions) keep(name shownTool, is, was *definition) {
	size := footprint.Tool(&is.tool)
	if was != nil {
		d.bytes -= footprint.Tool(&was.tool)
	} else if len(d.seen) >= maxDefinitions {
		return
	}
	if d.bytes+size > maxDefinitionBytes {
		delete(d.seen, name)
		return
	}
	if d.seen == nil {
		d.seen = map[shownTool]*definition{}
	}
	d.bytes += size
	d.seen[name] = is
}

// Changes returns the names of the members that differ between two definitions.
func Changes(before, after *mcp.Tool) []string {
	a, b := members(before), members(after)
	var names []string
	for name, value := range a {
		if !bytes.Equal(value, b[name]) {
			names = append(names, name)
		}
	}
	for name := range b {
		if a[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func members(t *mcp.Tool) map[string]json.RawMessage {
	definition, err := t.Definition()
	out := map[string]json.RawMessage{}
	if err != nil {
		return out
	}
	// It was just encoded, so it is valid.
	_ = jsonrpc.Members(definition, func(name, value []byte) bool {
		out[string(name)] = value
		return true
	})
	return out
}

// Fingerprint returns the fingerprint of a tool, from memory if it is unchanged.
func (d *Definitions) Fingerprint(caller string, tool *mcp.Tool) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.seen[shownTool{caller, tool.Name}]; known != nil && reflect.DeepEqual(known.tool, *tool) {
		return known.fingerprint()
	}
	return tool.Fingerprint()
}
