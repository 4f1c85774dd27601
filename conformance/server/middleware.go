package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/conformance/server/front"
	"github.com/mainstay-mcp/mainstay/conformance/server/tasks"
)

// guard is the middleware of every method of every session. Its order is: panics
// become answers, then the handshake, then the tool's existence.
func (e *endpoint) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			// A panic in a handler's goroutine would end the process, and with it every
			// other session.
			if v := recover(); v != nil {
				e.srv.log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("method", method),
					slog.String("error", fmt.Sprint(v)), slog.String("stack", string(debug.Stack())))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "Internal error: unexpected failure, see the server's log"}
			}
			err = coded(err)
		}()
		e.srv.log.LogAttrs(ctx, slog.LevelDebug, "message", slog.String("method", method))
		ctx, cancel := e.srv.lives(ctx)
		defer cancel()
		if err := e.gate(method, req); err != nil {
			return nil, err
		}
		if err := knownLogLevel(req); err != nil {
			return nil, err
		}
		switch method {
		case "tools/call":
			if err := e.knownTool(req); err != nil {
				return nil, err
			}
			working, stop := report(ctx, req)
			defer stop()
			return next(working, method, req)
		case "resources/read":
			res, err = next(ctx, method, req)
			return res, resourceError(req, err)
		case "initialize":
			res, err = next(ctx, method, req)
			return withoutTasks(res), err
		}
		return next(ctx, method, req)
	}
}

// withoutTasks takes from the answer to `initialize` an extension that there is only
// in the stateless era.
func withoutTasks(res mcp.Result) mcp.Result {
	if hello, ok := res.(*mcp.InitializeResult); ok && hello != nil && hello.Capabilities != nil {
		delete(hello.Capabilities.Extensions, tasks.Extension) // the map is a copy of go-sdk's
	}
	return res
}

// knownLogLevel refuses a log level nobody knows, which go-sdk takes for one of its own.
func knownLogLevel(req mcp.Request) error {
	levels := []any{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	level, there := any(nil), false
	if set, ok := req.GetParams().(*mcp.SetLoggingLevelParams); ok { //nolint:staticcheck // in force in every revision before the last
		level, there = string(set.Level), true
	} else if stateless(req) {
		level, there = req.GetParams().GetMeta()[logLevelKey]
	}
	if !there || slices.Contains(levels, level) {
		return nil
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid params: unknown log level"}
}

// logLevelKey has the log level that a request of the stateless era wants.
const logLevelKey = "io.modelcontextprotocol/logLevel"

// gate keeps the order of the handshake: initialize once, then notifications/initialized,
// then everything else. Over stdio each initialize comes on a session of its own, see
// package front; over HTTP each client has its own session, and a second initialize on it
// is a mistake.
func (e *endpoint) gate(method string, req mcp.Request) error {
	session, ok := req.GetSession().(*mcp.ServerSession)
	if !ok || method == "ping" || strings.HasPrefix(method, "notifications/") || stateless(req) {
		return nil
	}
	if p, ok := req.GetParams().(*mcp.InitializeParams); ok {
		if session.InitializeParams() != nil {
			return invalidRequest("already initialized", "already_initialized")
		}
		// What go-sdk keeps is what was asked for. From here on it is what
		// the client gets.
		p.ProtocolVersion = negotiated(p.ProtocolVersion)
		e.sessions.add(session, p.ProtocolVersion, e.slot(req))
		return nil
	}
	if !e.sessions.ready(session) {
		return invalidRequest("server not initialized", "not_initialized")
	}
	return nil
}

// slot returns the place that the front reserved for the session that req opens, nil
// when it is no HTTP session.
func (e *endpoint) slot(req mcp.Request) *slot {
	if extra := req.GetExtra(); extra != nil && extra.Header != nil {
		return e.srv.limit.find(front.SlotOf(extra.Header))
	}
	return nil
}

// knownTool answers an unknown tool as the specification says, with its name in data.
func (e *endpoint) knownTool(req mcp.Request) error {
	p, ok := req.GetParams().(*mcp.CallToolParamsRaw)
	if !ok {
		return nil
	}
	if _, known := e.tools[p.Name]; known {
		return nil
	}
	name := echo(p.Name)
	data, err := json.Marshal(map[string]string{"tool": name})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Unknown tool: " + name, Data: data}
}

// resourceError gives an unknown resource the code of its era: -32602 in the stateless one;
// before that -32001 for mcp://resources/…, -32002 for the rest. go-sdk sends -32602 in
// every revision, with data that are not JSON for some URIs (it writes them with %q).
func resourceError(req mcp.Request, err error) error {
	p, ok := req.GetParams().(*mcp.ReadResourceParams)
	var e *jsonrpc.Error
	if !ok || !errors.As(err, &e) {
		return err
	}
	foreign := e.Code == jsonrpc.CodeInvalidParams && e.Message == "Resource not found"
	if !foreign && e.Code != family.CodeNotFound {
		return err
	}
	out := &jsonrpc.Error{Code: -32002, Message: e.Message, Data: e.Data}
	switch {
	case stateless(req):
		out.Code = jsonrpc.CodeInvalidParams
	case !foreign || strings.HasPrefix(p.URI, "mcp://resources/"):
		out.Code = family.CodeNotFound
	}
	uri := echo(p.URI)
	if foreign {
		out.Message, out.Data = "Resource not found: "+uri, nil
	}
	var data map[string]any
	if json.Unmarshal(out.Data, &data) != nil || data == nil {
		data = map[string]any{}
	}
	data["uri"] = uri
	if out.Data, err = json.Marshal(data); err != nil {
		return err
	}
	return out
}

// maxEcho bounds what of a request an error repeats: names and URIs that anybody
// means are shorter.
const maxEcho = 1024

// echo returns as much of s as an error repeats.
func echo(s string) string {
	if len(s) <= maxEcho {
		return s
	}
	return strings.ToValidUTF8(s[:maxEcho], "") + "…"
}

// coded makes sure that err carries a code: go-sdk writes 0 otherwise.
func coded(err error) error {
	var e *jsonrpc.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "Internal error: " + err.Error()}
}

func invalidRequest(text, reason string) error {
	data, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Invalid Request: " + text, Data: data}
}

// initialized is called by go-sdk on the first notifications/initialized of a
// session that has been initialized.
func (e *endpoint) initialized(_ context.Context, req *mcp.InitializedRequest) {
	e.sessions.complete(req.Session)
}
