package client

import (
	"context"
	"fmt"
	"maps"
	"strings"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
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

// observe reports a tool that is not what a caller was shown before, or not the
// pinned one.
func (c *Client) observe(caller string, tool *mcp.Tool) {
	change := c.catalog.get().Definitions.Observe(caller, tool, c.cfg.pins[tool.Name])
	if change == nil {
		return
	}
	c.log.Warn("[MCP] a tool's definition has changed", "server", c.server, "tool", jsonrpc.Printable(tool.Name, 100),
		"changed", change.Changed, "pinned", change.Pinned)
	c.emit(ToolDrift(*change))
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
	current := c.catalog.get().Definitions.Fingerprint(c.cacheKey(ctx).Partition, tool)
	if current == pin {
		return nil
	}
	fault := &PinError{Tool: cl.tool, Pinned: pin, Current: current}
	return c.about(cl.subject(), mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent, fault.Error(), fault))
}
