package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/conformance/server/front"
)

// addTool registers t with go-sdk's untyped AddTool: the typed one would
// answer bad arguments with isError results instead of the family's errors.
func (e *endpoint) addTool(t tool) {
	e.mcp.AddTool(t.MCP(), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		out := e.run(ctx, t, arrived(t, req))
		if out.failure != nil {
			return nil, out.failure.Wire(t.family.Profile)
		}
		res := &mcp.CallToolResult{IsError: out.isError, Content: []mcp.Content{&mcp.TextContent{Text: out.text}}}
		// Earlier revisions do not have the member. It holds objects only.
		if p := req.Session.InitializeParams(); p != nil && p.ProtocolVersion >= version20250618 && bytes.HasPrefix(out.payload, []byte("{")) {
			res.StructuredContent = out.payload
		}
		return res, nil
	})
}

// arrived returns what the front found out about the call.
func arrived(t tool, req *mcp.CallToolRequest) *front.Call {
	c := &front.Call{Tool: t.Name, Arguments: req.Params.Arguments}
	if req.Extra == nil {
		return c
	}
	if ticket, ok := front.TicketOf(req.Extra.Header, req.Params.Meta); ok {
		c.Origin, c.Quota = ticket.Origin, ticket.Quota
	}
	return c
}

// outcome is what a call of a tool came to: a failure, or the text and the
// payload of its answer.
type outcome struct {
	payload json.RawMessage // nil for an answer of plain text alone
	text    string
	isError bool
	failure *family.Error
}

// run calls t, whichever way the call came, and logs its two lines.
func (e *endpoint) run(ctx context.Context, t tool, c *front.Call) (out outcome) {
	call := family.NewCall(t.Name, c.Arguments, e.srv.log)
	call.Origin = c.Origin
	defer func() {
		// guard would recover as well, but knows neither the profile nor
		// that the call still owes its last log line.
		if v := recover(); v != nil {
			out = outcome{failure: family.Internal(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))}
		}
		if out.isError {
			call.Failed()
		}
		call.Finish(ctx, out.failure)
	}()
	var result any
	var err error
	if c.Quota != nil && c.Quota.Refused {
		result, err = t.refuse(ctx, call, *c.Quota)
	} else {
		result, err = t.Handle(ctx, call)
	}
	if err != nil {
		return outcome{failure: t.family.Failure(err)}
	}
	answer, ok := result.(*family.Result)
	if !ok {
		answer = &family.Result{Payload: result}
	}
	out.text, out.isError = answer.Text, answer.IsError
	if answer.Payload == nil && answer.Text != "" {
		return out
	}
	if out.payload, err = family.Encode(answer.Payload); err != nil {
		return outcome{failure: family.Internal(err)}
	}
	if out.text == "" && !answer.Verbatim {
		out.text = string(out.payload)
	}
	return out
}

// refuse answers a call over the rate limit, in the words of the family if it
// has some.
func (t tool) refuse(ctx context.Context, call *family.Call, q family.Quota) (any, error) {
	if t.family.Refuse != nil {
		return t.family.Refuse(ctx, call, q)
	}
	return nil, &family.Error{Code: family.CodeServer, Message: "Too many requests", Data: map[string]any{
		"reason": "rate_limit", "scope": q.Scope, "limit": q.Limit, "retry_after_seconds": q.RetryAfter.Seconds(),
	}}
}

func (e *endpoint) addResource(f *family.Family, r *family.Resource) {
	e.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: r.Name, Description: r.Description, URITemplate: r.URITemplate, MIMEType: r.MIMEType,
	}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text, err := r.Read(ctx, req.Params.URI)
		if err != nil {
			return nil, f.Failure(err).Wire(f.Profile)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: r.MIMEType, Text: text}}}, nil
	})
}
