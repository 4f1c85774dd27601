package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// mirrors keeps what headers repeat of each tool's arguments, for as long as
// the text of its schema stays the same. It is made when needed.
type mirrors struct {
	make  sync.Once
	cache *lru.Cache[string, *mirrored]
}

// mirrored is what the schema of one tool says about headers.
type mirrored struct {
	text json.RawMessage
	// tree leads to the annotated properties; nil when there are none.
	tree *mirrorNode
	err  error // an annotation is not valid (HDR-06)
}

func (m *mirrors) tools() *lru.Cache[string, *mirrored] {
	m.make.Do(func() {
		const size = 1024
		m.cache, _ = lru.New[string, *mirrored](size) // fails for a negative size only
	})
	return m.cache
}

// get returns what a schema says. first is true when its text is new.
func (m *mirrors) get(tool string, text json.RawMessage) (s *mirrored, first bool) {
	if s, ok := m.tools().Get(tool); ok && s.text != nil && bytes.Equal(s.text, text) {
		return s, false
	}
	s = &mirrored{text: slices.Clone(text)} // a caller's page may be changed
	s.tree, s.err = findMirrors(text)
	m.tools().Add(tool, s)
	return s, true
}

// unlisted notes that the server was asked for a tool it does not list, and
// reports whether it had been before.
func (m *mirrors) unlisted(tool string) (before bool) {
	if m.tools().Contains(tool) {
		return true
	}
	m.tools().Add(tool, &mirrored{})
	return false
}

// aim finds out what raw params are about, for headers and errors (HTTP-31,
// HDR-12).
func (cl *call) aim(params json.RawMessage) {
	member := "name"
	switch cl.method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
	case mcp.MethodResourcesRead:
		member = "uri"
	case mcp.MethodTasksGet, mcp.MethodTasksUpdate, mcp.MethodTasksCancel:
		member = "taskId"
	default:
		return
	}
	var value json.RawMessage
	_ = jsonrpc.Members(params, func(name, v []byte) bool { // they were checked
		if string(name) == member {
			value = v
		}
		return value == nil
	})
	if jsonrpc.Unmarshal(value, &cl.name) == nil && cl.method == mcp.MethodToolsCall {
		cl.tool = cl.name
	}
}

// mirrorArguments finds the arguments of a tool call that headers repeat, by
// the schema seen last, whatever its age (HDR-09).
func (c *Client) mirrorArguments(ctx context.Context, cl *call) error {
	if cl.method != mcp.MethodToolsCall || cl.name == "" || !c.live.Load().StatelessHTTP() {
		return nil
	}
	schema := c.headerSchema(ctx, cl)
	if schema == nil || schema.tree == nil {
		cl.schema, cl.mirrored = schema, nil
		return nil
	}
	params, err := schema.params(cl.arguments())
	if err != nil {
		return c.about(cl.subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, err.Error(), err))
	}
	cl.schema, cl.mirrored = schema, params
	return nil
}

// headerSchema returns what is known of a tool's headers, nil for nothing. A
// tool that was never listed is looked for once; that it cannot be found does
// not keep the call from being made.
func (c *Client) headerSchema(ctx context.Context, cl *call) *mirrored {
	tool := cl.name
	t, _, ok := c.cache().Lookup(c.cacheKey(ctx), tool)
	if !ok {
		if agreed := c.live.Agreed(); !agreed.Declared || !agreed.Capabilities.Has("tools") || c.mirrors.get().unlisted(tool) {
			return nil
		}
		cl.waited = true
		ctx, cancel := c.inTime(ctx, cl)
		defer cancel()
		found, err := c.cache().Confirm(ctx, c.cacheKey(ctx), tool, c.fetcher())
		if err != nil {
			return nil
		}
		t = found
	}
	schema, _ := c.mirrors.get().get(tool, t.InputSchema)
	return schema
}

// arguments returns the arguments in the params of a tool call, nil for none.
func (cl *call) arguments() (args json.RawMessage) {
	// Only the closing brace is missing, which stands behind what is looked for.
	_ = jsonrpc.Walk(cl.open, func(name, value []byte) bool {
		if string(name) == "arguments" {
			args = value
		}
		return args == nil
	})
	return args
}

// withoutMisannotated drops the tools whose annotations are not valid, where
// annotations have a meaning (HDR-07).
func (c *Client) withoutMisannotated(tools []mcp.Tool) []mcp.Tool {
	if !c.live.Load().StatelessHTTP() {
		return tools
	}
	kept := tools[:0]
	for _, tool := range tools {
		if tree, err := findMirrors(tool.InputSchema); tree == nil && err == nil {
			kept = append(kept, tool) // most tools: nothing to remember
			continue
		}
		schema, first := c.mirrors.get().get(tool.Name, tool.InputSchema)
		if schema.err == nil {
			kept = append(kept, tool)
		} else if first {
			c.log.Warn("[MCP] a tool is left out: its header annotations are not valid", "server", c.server,
				"tool", jsonrpc.Printable(tool.Name, 100), "reason", schema.err)
		}
	}
	return kept
}

// params returns what headers repeat of arguments, in the order of the
// arguments.
func (s *mirrored) params(args json.RawMessage) (params []transport.Param, err error) {
	if len(args) == 0 {
		return nil, nil
	}
	return s.tree.collect(nil, args)
}

// collect appends what headers repeat of one object.
func (n *mirrorNode) collect(params []transport.Param, object json.RawMessage) ([]transport.Param, error) {
	var fault error
	// What is no object has no properties: the server will say so.
	_ = jsonrpc.Members(object, func(name, value []byte) bool {
		child := n.children[string(name)]
		switch {
		case child == nil:
		case child.header != "":
			text, ok, err := headerText(value)
			if err != nil {
				fault = fmt.Errorf("argument %s cannot be repeated in a header: %w", jsonrpc.Printable(string(name), 100), err)
			} else if ok {
				params = append(params, transport.Param{Name: child.header, Value: text})
			}
		}
		if child != nil && child.children != nil && value[0] == '{' && fault == nil {
			params, fault = child.collect(params, value)
		}
		return fault == nil
	})
	return params, fault
}

// headerText returns the text form of an argument (HDR-02, HDR-03). ok is false
// for one that no header repeats: null, and what the schema's type does not
// allow, which is for the server to refuse.
func headerText(value []byte) (text string, ok bool, err error) {
	switch value[0] {
	case '"':
		err := jsonrpc.Unmarshal(value, &text)
		return text, err == nil, err
	case 't', 'f':
		return string(value), true, nil
	case 'n', '{', '[':
		return "", false, nil
	}
	return integerText(string(value))
}

// maxHeaderInteger is the largest integer that every JSON reader holds exactly.
const maxHeaderInteger = 1<<53 - 1

// integerText returns the decimal form of a JSON number: 42.0 and 4.2e1 are 42.
// ok is false for a number that is no integer. It works on the digits, so that
// none is lost and none is made up.
func integerText(number string) (text string, ok bool, err error) {
	number, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	digits, negative := strings.CutPrefix(number, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return "0", true, nil
	}
	scale := 0 // the power of ten that the significant digits are multiplied with
	if exponent != "" {
		if scale, err = strconv.Atoi(exponent); err != nil { // beyond all bounds
			if strings.HasPrefix(exponent, "-") {
				return "", false, nil
			}
			return "", false, errHeaderInteger
		}
	}
	scale += len(digits) - len(significant) - len(fraction)
	const most = 16 // digits of maxHeaderInteger
	switch {
	case scale < 0:
		return "", false, nil
	case scale > most || len(significant)+scale > most:
		return "", false, errHeaderInteger
	}
	text = significant + strings.Repeat("0", scale)
	if n, _ := strconv.ParseInt(text, 10, 64); n > maxHeaderInteger {
		return "", false, errHeaderInteger
	}
	if negative {
		text = "-" + text
	}
	return text, true, nil
}

var errHeaderInteger = fmt.Errorf("the integer is beyond ±%d", int64(maxHeaderInteger))
