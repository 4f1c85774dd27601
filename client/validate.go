package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/inputschema"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Validation says what happens to arguments that do not fit a tool's schema.
type Validation uint8

const (
	// ValidateOff sends every argument as it is.
	ValidateOff Validation = iota
	// ValidateWarn logs what does not fit and sends it.
	ValidateWarn
	// ValidateStrict refuses what does not fit a schema that compiled; a
	// schema that does not compile is logged and judges nothing.
	ValidateStrict
)

// compiledSchemas keeps one compiled schema of each tool, for as long as its
// text stays the same. An idle client has none: they are made when needed.
type compiledSchemas struct {
	make  sync.Once
	cache *lru.Cache[string, *compiled]
}

type compiled struct {
	text   json.RawMessage
	schema *inputschema.Schema
	flat   *flatSchema // nil when the schema is not that simple
	names  []string    // of the top-level properties
	err    error
}

// get returns the compiled schema. fresh is true the first time.
func (s *compiledSchemas) get(tool string, text json.RawMessage) (c *compiled, fresh bool) {
	s.make.Do(func() {
		const size = 1024
		s.cache, _ = lru.New[string, *compiled](size) // fails for a negative size only
	})
	if c, ok := s.cache.Get(tool); ok && bytes.Equal(c.text, text) {
		return c, false
	}
	c = compile(text)
	s.cache.Add(tool, c)
	return c, true
}

func compile(text json.RawMessage) *compiled {
	c := &compiled{text: text}
	if c.schema, c.err = inputschema.Compile(text); c.err != nil {
		return c
	}
	c.names = slices.Sorted(maps.Keys(c.schema.Root.Properties))
	c.flat = flatten(c.schema.Root)
	return c
}

// checkArguments judges arguments before they are sent (decisions 11).
func (c *Client) checkArguments(ctx context.Context, cl *call, args json.RawMessage) error {
	if c.cfg.validation == ValidateOff || cl.opts.unverified {
		return nil
	}
	schema, fresh, err := c.inputSchema(ctx, cl)
	if err != nil || schema == nil {
		return err
	}
	misfit := c.misfit(cl.tool, schema, args)
	if misfit != nil && !fresh {
		// Nobody is refused by a list that may be out of date (AC-004.3).
		tool, err := c.GetToolSchema(ctx, cl.tool)
		if err != nil {
			return err
		}
		misfit = c.misfit(cl.tool, tool.InputSchema, args)
	}
	if err := misfit; err != nil {
		if c.cfg.validation == ValidateWarn {
			c.log.Warn("[MCP] arguments do not fit the tool's schema", "server", c.server, "tool", cl.tool, "error", err)
			return nil
		}
		return c.about(cl, mcperrors.New(mcperrors.E203, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			fmt.Sprintf("the arguments do not fit %s: %s", jsonrpc.Printable(cl.tool, 100), err), err))
	}
	return nil
}

// inputSchema returns the last schema seen of a tool, whatever its age, and
// whether it is fresh: an old one is good enough to let arguments pass
// (HDR-09). A name that the list does not have is looked up once more before it
// is refused. nil means nothing is known.
func (c *Client) inputSchema(ctx context.Context, cl *call) (schema json.RawMessage, fresh bool, err error) {
	if t, fresh, ok := c.cache().Lookup(c.cacheKey(), cl.tool); ok {
		cl.knows(t)
		return t.InputSchema, fresh, nil
	}
	if !c.cfg.preload {
		return nil, false, nil
	}
	t, err := c.GetToolSchema(ctx, cl.tool)
	if err != nil {
		return nil, false, err
	}
	cl.knows(t)
	return t.InputSchema, true, nil
}

// misfit says why arguments do not fit a schema, nil when they do or when the
// schema cannot judge.
func (c *Client) misfit(tool string, schema, args json.RawMessage) error {
	compiled, first := c.schemas.get().get(tool, schema)
	if compiled.err != nil {
		if first {
			c.log.Warn("[MCP] the tool's input schema cannot be used to check arguments", "server", c.server,
				"tool", tool, "error", compiled.err)
		}
		return nil
	}
	return compiled.judge(args)
}

// judge checks arguments against the schema. No arguments are an empty object
// to every server.
func (s *compiled) judge(args json.RawMessage) error {
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	if s.flat != nil && s.flat.fits(args) {
		return nil
	}
	err := s.schema.Judge(args)
	if err == nil {
		return nil
	}
	text := withoutValues(err.Error())
	if hint := repairHint(s.names, args); hint != "" {
		text += "; " + hint
	}
	return errors.New(text)
}

// withoutValues keeps the path and the rule of a validator's message. What the
// arguments hold is the caller's, and an error ends up in logs.
func withoutValues(message string) string {
	path, rest := "", message
	for strings.HasPrefix(rest, "validating ") {
		place, after, found := strings.Cut(strings.TrimPrefix(rest, "validating "), ": ")
		if !found {
			break
		}
		if rest = after; place != "root" {
			path = place + ": "
		}
	}
	rule, detail, _ := strings.Cut(rest, ": ")
	switch rule {
	case "required", "additionalProperties", "dependentRequired", "unevaluatedProperties":
		// These name members, not values.
		return jsonrpc.Printable(path+rest, maxReason)
	case "type":
		if at := strings.LastIndex(detail, " has type "); at >= 0 {
			return jsonrpc.Printable(path+"type:"+detail[at:], maxReason)
		}
	}
	return jsonrpc.Printable(path+"does not satisfy "+rule, maxReason)
}

// maxReason bounds the reason in an error, in characters.
const maxReason = 300
