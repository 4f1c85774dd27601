package tasks

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Extension is the identifier of the extension.
const Extension = "io.modelcontextprotocol/tasks"

// Methods returns the methods of the extension.
func Methods() []string { return []string{methodGet, methodUpdate, methodCancel} }

const (
	methodGet    = "tasks/get"
	methodUpdate = "tasks/update"
	methodCancel = "tasks/cancel"
)

// A Caller is who sends a request, as far as tasks go.
type Caller struct {
	// User is whom the task is of; "" without authorization.
	User string
	// Takes says that the request declares the extension.
	Takes bool
}

type callerKey struct{}

// CallerOf returns who sent the request that is being served with ctx.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// callerOf reads who sends req. The capabilities of the stateless era are those of
// the request alone.
func callerOf(req mcp.Request) (c Caller) {
	if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
		c.User = extra.TokenInfo.UserID
	}
	session, ok := req.GetSession().(*mcp.ServerSession)
	if !ok {
		return c
	}
	if p := session.InitializeParams(); p != nil && p.Capabilities != nil && p.ProtocolVersion >= firstRevision {
		_, c.Takes = p.Capabilities.Extensions[Extension]
	}
	return c
}

// firstRevision is the first with the extension.
const firstRevision = "2026-07-28"

// createdKey is where the result of [Store.Start] has the task until
// [Store.Middleware] takes it: go-sdk lets a tool return no other kind of result.
const createdKey = "mainstay/created"

// Middleware lets handlers know their [Caller], answers with the tasks they start,
// and serves [News]. It is the middleware of every method of a server.
func (s *Store) Middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		caller := callerOf(req)
		if n, ok := ctx.Value(newsKey{}).(*News); ok && method == methodListen {
			return s.listen(ctx, caller, n)
		}
		res, err := next(context.WithValue(ctx, callerKey{}, caller), method, req)
		if call, ok := res.(*mcp.CallToolResult); ok && call != nil && err == nil {
			if task, ok := call.Meta[createdKey].(*created); ok {
				return task, nil
			}
		}
		return res, err
	}
}

// params are those of tasks/get and tasks/cancel.
type params struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

type updateParams struct {
	mcp.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
}

// Register adds the methods of the extension to a server.
func (s *Store) Register(server *mcp.Server) error {
	server.AddReceivingMiddleware(s.Middleware)
	if err := mcp.AddReceivingCustomMethod(server, methodGet, s.handleGet); err != nil {
		return err
	}
	if err := mcp.AddReceivingCustomMethod(server, methodUpdate, s.handleUpdate); err != nil {
		return err
	}
	return mcp.AddReceivingCustomMethod(server, methodCancel, s.handleCancel)
}

func (s *Store) handleGet(ctx context.Context, _ *mcp.ServerSession, p *params) (*detailed, error) {
	caller := CallerOf(ctx)
	switch {
	case !caller.Takes:
		return nil, ErrUndeclared()
	case p == nil:
		return nil, errNoParams()
	}
	return s.get(caller.User, p.TaskID)
}

func (s *Store) handleUpdate(ctx context.Context, _ *mcp.ServerSession, p *updateParams) (*acknowledged, error) {
	caller := CallerOf(ctx)
	switch {
	case !caller.Takes:
		return nil, ErrUndeclared()
	case p == nil || p.InputResponses == nil:
		return nil, errNoParams()
	}
	t, err := s.find(caller.User, p.TaskID)
	if err != nil {
		return nil, err
	}
	if err := t.update(p.InputResponses); err != nil {
		return nil, err
	}
	return &acknowledged{ResultType: typeComplete}, nil
}

func (s *Store) handleCancel(ctx context.Context, _ *mcp.ServerSession, p *params) (*acknowledged, error) {
	caller := CallerOf(ctx)
	switch {
	case !caller.Takes:
		return nil, ErrUndeclared()
	case p == nil:
		return nil, errNoParams()
	}
	t, err := s.find(caller.User, p.TaskID)
	if err != nil {
		return nil, err
	}
	t.giveUp()
	return &acknowledged{ResultType: typeComplete}, nil
}

// ErrUndeclared is the error for a request that needs a client which takes tasks.
func ErrUndeclared() *jsonrpc.Error {
	data, _ := json.Marshal(map[string]any{"requiredCapabilities": Required()}) // strings
	return &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "Missing required client capability: extensions." + Extension, Data: data,
	}
}

// Required is the capability of a client that takes tasks, in the form of
// ClientCapabilities.
func Required() map[string]any {
	return map[string]any{"extensions": map[string]any{Extension: struct{}{}}}
}

func errNoParams() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid params: taskId is required, and inputResponses for tasks/update"}
}
