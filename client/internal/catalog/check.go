package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Known has the parts of a tool's definition that calls need. Listed is false if it was not
// looked up, or the server has not listed the tool.
type Known struct {
	Listed    bool
	Output    json.RawMessage // schema of results, nil for none
	Execution *mcp.ToolExecution
}

func knownOf(t *mcp.Tool) Known { return Known{true, t.OutputSchema, t.Execution} }

// TaskSupport returns whether calls can or must run as tasks, "" if the definition does not
// specify it.
func (k Known) TaskSupport() string {
	if k.Execution == nil {
		return ""
	}
	return k.Execution.TaskSupport
}

// CheckArguments validates the arguments of a call before it is sent. A stale list rejects
// nothing: arguments that do not match are validated again with the server's current list, and
// sent if that is not available. If repaired is not nil, send it instead of args. unchecked
// disables the validation.
func (c *View) CheckArguments(ctx context.Context, name string, args json.RawMessage, unchecked bool) (known Known, repaired json.RawMessage, err error) {
	last, fresh, ok := c.Lists.Kept.Lookup(c.Lists.Key(c.who), name)
	if c.Arguments == Off || unchecked {
		if ok && !fresh {
			c.renew(ctx)
		}
		return Known{}, nil, nil
	}
	if ok {
		// A stale schema is good enough to accept arguments.
		if repaired, err = c.judge(name, last.InputSchema, args); err == nil {
			if !fresh {
				c.renew(ctx)
			}
			return knownOf(last), repaired, nil
		}
		known = knownOf(last)
	} else if !c.Eager {
		return Known{}, nil, nil
	}
	now, failure := c.confirm(ctx, name)
	if failure != nil || now == nil {
		return known, nil, failure
	}
	if repaired, err = c.judge(name, now.InputSchema, args); err != nil {
		err = c.misfit(name, err)
	}
	return knownOf(now), repaired, err
}

// misfit returns the error of arguments that do not match, nil if they are sent anyway.
func (c *Catalog) misfit(name string, reason error) error {
	if c.Arguments == Warn {
		c.Lists.Log.Warn("[MCP] arguments do not fit the tool's schema", "server", c.Lists.Server, "tool", name, "error", reason)
		return nil
	}
	return c.aboutTool(name, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
		fmt.Sprintf("the arguments do not match %s: %s", jsonrpc.Printable(name, 100), reason), reason))
}

// judge returns why arguments do not match a schema. It returns nil if they match, if the schema
// cannot be used, or if the repaired arguments match.
func (c *Catalog) judge(name string, schema, args json.RawMessage) (repaired json.RawMessage, err error) {
	if schema == nil {
		return nil, nil
	}
	compiled, first := c.arguments.Get(name, schema)
	if err := compiled.Err(); err != nil {
		if first {
			c.Lists.Log.Warn("[MCP] the tool's input schema cannot be used to check arguments", "server", c.Lists.Server,
				"tool", name, "error", err)
		}
		return nil, nil
	}
	verdict := compiled.Judge(args)
	if verdict == nil {
		return nil, nil
	}
	if c.DropNulls {
		if repaired = compiled.WithoutNulls(args); repaired != nil {
			return repaired, nil
		}
	}
	return nil, errors.New(compiled.ExplainArguments(name, args, verdict))
}

// errNoContent is the error of a result without structured content.
var errNoContent = errors.New("it has no structured content")

// CheckResult returns why a result does not match the output schema of its tool, nil if it
// matches or if that is not known. It logs a mismatch once per schema, unless calls fail because
// of it. known is what the arguments were validated with. Output schemas exist since 2025-06-18.
func (c *View) CheckResult(ctx context.Context, name string, known Known, agreed *link.Agreement, res *mcp.CallToolResult) error {
	if c.Results == Off || res.IsError || !agreed.Version.AtLeast(mcp.Version2025_06_18) {
		return nil
	}
	if !known.Listed {
		known = c.Last(name)
	}
	if _, misfit := c.outputMisfit(name, known.Output, agreed.Era, res.StructuredContent); misfit == nil {
		return nil
	}
	// The tool may have changed since it was listed. If its current definition is not available,
	// the result is accepted.
	now, err := c.confirm(ctx, name)
	if err != nil || now == nil {
		return nil //nolint:nilerr // the tool has answered
	}
	schema, misfit := c.outputMisfit(name, now.OutputSchema, agreed.Era, res.StructuredContent)
	if misfit != nil && c.Results == Warn && schema.reported.CompareAndSwap(false, true) {
		c.Lists.Log.Warn("[MCP] the tool's result does not fit its output schema", "server", c.Lists.Server, "tool", name, "error", misfit)
	}
	return misfit
}

// outputMisfit returns why structured content does not match an output schema, nil if it matches
// or if the schema cannot be used. Missing content is not null.
func (c *Catalog) outputMisfit(name string, output json.RawMessage, era mcp.Era, content json.RawMessage) (*Schema, error) {
	if output == nil {
		return nil, nil
	}
	schema, first := c.results.Get(name, output)
	switch {
	case schema.Err() != nil:
		if first {
			c.Lists.Log.Warn("[MCP] the tool's output schema cannot be used to check results", "server", c.Lists.Server,
				"tool", name, "error", schema.Err())
		}
		return schema, nil
	case content == nil:
		return schema, errNoContent
	case era == mcp.EraSession && doc.First(content) != '{':
		return schema, errors.New("its structured content is not an object") // required in the session era
	}
	return schema, schema.Check(content)
}

// PinMismatch is a tool that differs from its pin.
type PinMismatch struct {
	Tool string
	// Pinned and Current are fingerprints.
	Pinned, Current string
}

// CheckPin returns a mismatch if calls of a tool must be refused because it differs from its pin.
// It uses a fresh list, so that a tool cannot change between two checks.
func (c *View) CheckPin(ctx context.Context, name string) (*PinMismatch, error) {
	pin, pinned := c.Pins[name]
	if !pinned || !c.Block {
		return nil, nil //nolint:nilnil // most tools have no pin
	}
	if err := c.closed(); err != nil {
		return nil, err
	}
	key := c.Lists.Key(c.who)
	tool, err := c.Lists.Kept.Get(ctx, key, name, c.fetcher())
	if err != nil {
		return nil, c.errorOf(err, name)
	}
	if current := c.definitions.Fingerprint(key.Partition, tool); current != pin {
		return &PinMismatch{name, pin, current}, nil
	}
	return nil, nil //nolint:nilnil // the tool matches its pin
}
