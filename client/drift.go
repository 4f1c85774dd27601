package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/footprint"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// PinPolicy says what becomes of a tool whose definition is not the pinned one.
type PinPolicy uint8

const (
	// PinWarn emits [ToolDrift] and logs.
	PinWarn PinPolicy = iota
	// PinBlock does so too, and refuses calls of the tool with a [*PinError], also
	// those made with [Client.Call].
	PinBlock
)

// WithToolPins sets the fingerprints that tools must have, by name, as
// [mcp.Tool.Fingerprint] returns them. Tools without a pin are not held to one:
// what to trust on first use is for the application to decide.
func WithToolPins(pins map[string]string, policy PinPolicy) Option {
	return optionFunc(func(c *config) { c.pins, c.pinPolicy = maps.Clone(pins), policy })
}

func (c *config) checkPins() error {
	if c.pinPolicy > PinBlock {
		return fmt.Errorf("unknown pin policy %d", c.pinPolicy)
	}
	for name, pin := range c.pins {
		if !strings.HasPrefix(pin, mcp.FingerprintPrefix) {
			return fmt.Errorf("the pin of tool %q is not a fingerprint: want %sHEX", name, mcp.FingerprintPrefix)
		}
	}
	return nil
}

// PinError says that a tool is not what it was when it was pinned. It is the
// cause of an error of kind unsupported.
type PinError struct {
	Tool string
	// Pinned and Current are fingerprints.
	Pinned, Current string
}

func (e *PinError) Error() string {
	return fmt.Sprintf("the definition of tool %s is not the pinned one: look at it, and pin %s to allow it",
		jsonrpc.Printable(e.Tool, 100), e.Current)
}

// definitions remembers the tools a server has listed, so that one which changes
// under its name is noticed. The zero value is ready.
type definitions struct {
	mu    sync.Mutex
	seen  map[shownTool]*definition
	bytes int
}

// shownTool is a tool as one caller sees it.
type shownTool struct{ caller, name string }

type definition struct {
	tool  mcp.Tool
	print string // made when it is needed
}

func (d *definition) fingerprint() string {
	if d.print == "" {
		d.print = d.tool.Fingerprint()
	}
	return d.print
}

// observeTools returns a function that looks at each tool of one list, nil when
// nobody wants to know. Of tools with the same name the first counts (TOOL-02).
func (c *Client) observeTools(ctx context.Context) func([]mcp.Tool) {
	if c.cfg.onEvent == nil && c.cfg.pins == nil {
		return nil
	}
	listed, caller := map[string]bool{}, c.cacheKey(ctx).Partition
	return func(tools []mcp.Tool) {
		for i := range tools {
			if name := tools[i].Name; !listed[name] {
				listed[name] = true
				c.observe(caller, &tools[i])
			}
		}
	}
}

// observe compares a tool with what a caller was shown before, and with its pin.
// When nothing has changed, nothing is computed.
func (c *Client) observe(caller string, tool *mcp.Tool) {
	name := shownTool{caller, tool.Name}
	d := c.definitions.get()
	d.mu.Lock()
	was := d.seen[name]
	if was != nil && reflect.DeepEqual(was.tool, *tool) {
		d.mu.Unlock()
		return
	}
	is := &definition{tool: *tool.Clone()} // the list is the caller's to change
	pin, pinned := c.cfg.pins[tool.Name]
	drift := ToolDrift{Tool: tool.Name, After: *tool}
	if was != nil {
		drift.Old, drift.New, drift.Before = was.fingerprint(), is.fingerprint(), &was.tool
	}
	if pinned {
		drift.New = is.fingerprint()
		drift.Pinned = drift.New != pin
		if was == nil {
			drift.Old = pin
		}
	}
	d.keep(name, is, was)
	d.mu.Unlock()
	if drift.Old == drift.New {
		return
	}
	if drift.Before != nil {
		drift.Changed = changes(drift.Before, tool)
	}
	c.log.Warn("[MCP] a tool's definition has changed", "server", c.server, "tool", jsonrpc.Printable(tool.Name, 100),
		"changed", drift.Changed, "pinned", drift.Pinned)
	c.emit(drift)
}

// keep remembers a definition within bounds: a server whose names change with
// every list does not fill the memory. Requires d.mu.
func (d *definitions) keep(name shownTool, is, was *definition) {
	size := footprint.Tool(&is.tool)
	if was != nil {
		d.bytes -= footprint.Tool(&was.tool)
	} else if len(d.seen) >= maxItems {
		return
	}
	if d.bytes+size > maxBytes {
		delete(d.seen, name)
		return
	}
	if d.seen == nil {
		d.seen = map[shownTool]*definition{}
	}
	d.bytes += size
	d.seen[name] = is
}

// changes names the members in which two definitions differ.
func changes(before, after *mcp.Tool) []string {
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
	// It was just encoded.
	_ = jsonrpc.Members(definition, func(name, value []byte) bool {
		out[string(name)] = value
		return true
	})
	return out
}

// checkPin refuses a call of a tool that is not the pinned one. What the list
// says now counts, so that a tool cannot change between two looks at it.
func (c *Client) checkPin(ctx context.Context, cl *call) error {
	pin, pinned := c.cfg.pins[cl.tool]
	if !pinned || c.cfg.pinPolicy != PinBlock {
		return nil
	}
	tool, err := c.cachedTool(ctx, cl.tool)
	if err != nil {
		return err
	}
	current := c.definitions.get().fingerprint(shownTool{c.cacheKey(ctx).Partition, tool.Name}, tool)
	if current == pin {
		return nil
	}
	fault := &PinError{Tool: cl.tool, Pinned: pin, Current: current}
	return c.about(cl.subject(), mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent, fault.Error(), fault))
}

// fingerprint is the tool's, from memory when it was listed like this.
func (d *definitions) fingerprint(name shownTool, tool *mcp.Tool) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.seen[name]; known != nil && reflect.DeepEqual(known.tool, *tool) {
		return known.fingerprint()
	}
	return tool.Fingerprint()
}
