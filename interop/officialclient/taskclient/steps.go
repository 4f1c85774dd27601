package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

var errNotConnected = errors.New("there is no connection")

// line is the report of a step.
type line struct {
	Step     int    `json:"step"`
	N        int    `json:"n,omitempty"`
	Outcome  string `json:"outcome"`
	Code     int64  `json:"code,omitempty"`
	Result   any    `json:"result,omitempty"`
	Delivery string `json:"delivery,omitempty"`
	Message  string `json:"message,omitempty"`
}

// errUnsupported says that the client does not have what a step asks for.
var errUnsupported = errors.New("not part of this client")

// call does one of the calls.
func (p *player) call(ctx context.Context, s step) (any, error) {
	var options []client.CallOption
	if s.Progress {
		options = append(options, client.WithProgress(func(mcp.ProgressParams) {}))
	}
	switch s.Call {
	case mcp.MethodToolsList:
		return walk("tools", p.client.Tools(ctx, options...))
	case mcp.MethodResourcesList:
		return walk("resources", p.client.Resources(ctx, options...))
	case mcp.MethodPromptsList:
		return walk("prompts", p.client.Prompts(ctx, options...))
	case mcp.MethodToolsCall:
		var args any // none at all, not an empty object
		if s.Arguments != nil {
			args = s.Arguments
		}
		result, err := p.client.CallTool(ctx, s.Name, args, options...)
		if err != nil {
			return nil, err
		}
		return result, nil
	case mcp.MethodResourcesRead:
		return p.client.ReadResource(ctx, s.URI, options...)
	case mcp.MethodPromptsGet:
		var arguments map[string]string
		if s.Arguments != nil {
			if err := json.Unmarshal(s.Arguments, &arguments); err != nil {
				return nil, err
			}
		}
		return p.client.GetPrompt(ctx, s.Name, arguments, options...)
	case mcp.MethodCompletionComplete:
		return p.complete(ctx, s.Params)
	case mcp.MethodLoggingSetLevel:
		var params struct {
			Level mcp.LoggingLevel `json:"level"`
		}
		if err := json.Unmarshal(s.Params, &params); err != nil {
			return nil, err
		}
		return nil, p.client.SetLogLevel(ctx, params.Level)
	case mcp.MethodSubscriptionsListen, mcp.MethodResourcesSubscribe:
		return p.subscribe(ctx, s)
	case mcp.MethodPing:
		return nil, p.client.Ping(ctx)
	}
	return nil, fmt.Errorf("%s: %w", s.Call, errUnsupported)
}

// walk gathers all of a list.
func walk[T any](name string, all iter.Seq2[T, error]) (any, error) {
	items := []T{}
	for item, err := range all {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return map[string]any{name: items}, nil
}

// conclude says in the words of the protocol how a step ended.
func conclude(result any, err error) line {
	if err == nil {
		l := line{Outcome: "result", Result: result}
		if tool, ok := result.(*mcp.CallToolResult); ok && tool.IsError {
			l.Outcome = "tool-error"
		}
		return l
	}
	l := line{Outcome: "error", Message: err.Error(), Delivery: mcperrors.DeliveryOf(err).String()}
	var rpc *jsonrpc.Error
	switch {
	case errors.Is(err, errUnsupported):
		l.Outcome = "unsupported"
	case errors.As(err, &rpc):
		l.Code = rpc.Code
	default:
		switch mcperrors.KindOf(err) {
		case mcperrors.KindTimeout:
			l.Outcome = "timeout"
		case mcperrors.KindCanceled:
			l.Outcome = "canceled"
		case mcperrors.KindTransport, mcperrors.KindClosed, mcperrors.KindSessionLost:
			l.Outcome = "closed"
		default: // an error like any other
		}
	}
	return l
}
