package refserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/family"
)

// guard stands before every method of every session. Its order is: panics
// become answers, then the handshake, then the tool's existence.
func (s *Server) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			// A panic in a handler's goroutine would end the process
			// (decisions 5), and with it every other session.
			if v := recover(); v != nil {
				s.log.LogAttrs(ctx, slog.LevelError, "panic", slog.String("method", method),
					slog.String("error", fmt.Sprint(v)), slog.String("stack", string(debug.Stack())))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "Internal error: unexpected failure, see the server's log"}
			}
			err = coded(err)
		}()
		s.log.LogAttrs(ctx, slog.LevelDebug, "message", slog.String("method", method))
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.life, cancel)()
		if err := s.gate(method, req); err != nil {
			return nil, err
		}
		switch method {
		case "tools/call":
			if err := s.knownTool(req); err != nil {
				return nil, err
			}
		case "resources/read":
			res, err = next(ctx, method, req)
			return res, resourceError(req, err)
		}
		return next(ctx, method, req)
	}
}

// gate keeps the order of the handshake (lifecycle page; tools.md §1.1):
// initialize once, then notifications/initialized, then everything else.
func (s *Server) gate(method string, req mcp.Request) error {
	session, ok := req.GetSession().(*mcp.ServerSession)
	if !ok || method == "ping" || strings.HasPrefix(method, "notifications/") {
		return nil
	}
	if method == "initialize" {
		if session.InitializeParams() != nil {
			return invalidRequest("already initialized", "already_initialized")
		}
		return nil
	}
	if !s.ready.has(session) {
		return invalidRequest("server not initialized", "not_initialized")
	}
	return nil
}

// knownTool answers an unknown tool as the specification says, with its name
// in data (decisions 29).
func (s *Server) knownTool(req mcp.Request) error {
	p, ok := req.GetParams().(*mcp.CallToolParamsRaw)
	if !ok {
		return nil
	}
	for _, f := range s.families {
		for i := range f.Tools {
			if f.Tools[i].Name == p.Name {
				return nil
			}
		}
	}
	data, err := json.Marshal(map[string]string{"tool": p.Name})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Unknown tool: " + p.Name, Data: data}
}

// resourceError gives an unknown resource the code of the session era
// (decisions 29): -32001 for mcp://resources/…, -32002 for the rest. go-sdk
// sends -32602 in every revision, with data that are not JSON for some URIs
// (it writes them with %q).
func resourceError(req mcp.Request, err error) error {
	p, ok := req.GetParams().(*mcp.ReadResourceParams)
	var e *jsonrpc.Error
	if !ok || !errors.As(err, &e) || e.Code != jsonrpc.CodeInvalidParams || e.Message != "Resource not found" {
		return err
	}
	data, merr := json.Marshal(map[string]string{"uri": p.URI})
	if merr != nil {
		return merr
	}
	out := &jsonrpc.Error{Code: -32002, Message: "Resource not found: " + p.URI, Data: data}
	if strings.HasPrefix(p.URI, "mcp://resources/") {
		out.Code = family.CodeNotFound
	}
	return out
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
func (s *Server) initialized(_ context.Context, req *mcp.InitializedRequest) {
	s.ready.add(req.Session)
}

// readySet holds the sessions whose handshake is complete. go-sdk keeps that
// state to itself, and tells nobody when a session ends but those who wait.
type readySet struct {
	mu       sync.RWMutex
	sessions map[*mcp.ServerSession]struct{}
	waiters  sync.WaitGroup
}

func (r *readySet) has(session *mcp.ServerSession) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ok := r.sessions[session]
	return ok
}

func (r *readySet) add(session *mcp.ServerSession) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions == nil {
		r.sessions = make(map[*mcp.ServerSession]struct{})
	}
	r.sessions[session] = struct{}{}
	r.waiters.Go(func() {
		_ = session.Wait() // only the end counts, whatever its reason
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.sessions, session)
	})
}

// wait returns once every session has ended.
func (r *readySet) wait() { r.waiters.Wait() }
