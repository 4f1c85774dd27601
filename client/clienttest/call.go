package clienttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Call is a request that a [Handler] answers.
type Call struct {
	// Method is the MCP method. Name is the tool, prompt or URI of the request.
	Method, Name string
	// Params are the unchanged params. Arguments is their member "arguments".
	Params, Arguments json.RawMessage
	// Header has the headers of the HTTP request. It is nil without HTTP.
	Header http.Header

	s         *Server
	ctx       context.Context
	version   mcp.Version // in the stateless era, else ""
	push      func(jsonrpc.Message)
	token     json.RawMessage
	asks      int
	answers   map[string]json.RawMessage
	questions map[string]mcp.InputRequest
}

// Context returns a context that ends when the client cancels the request, and
// when the server closes.
func (c *Call) Context() context.Context { return c.ctx }

// Bind decodes the arguments. Names match exactly: give the fields json tags.
func (c *Call) Bind(into any) error { return jsonrpc.Unmarshal(c.Arguments, into) }

// Progress reports progress, if the client asked for it.
func (c *Call) Progress(progress float64, message string) {
	if c.token == nil {
		return
	}
	c.Notify(mcp.MethodProgress, map[string]any{"progressToken": c.token, "progress": progress, "message": message})
}

// Notify sends a notification that belongs to this request.
func (c *Call) Notify(method string, params any) {
	c.push(jsonrpc.Notification{Method: method, Params: c.s.encode(params)})
}

// errAsked ends a handler of the stateless era whose question has to reach the
// client first.
var errAsked = errors.New("clienttest: the handler must return this error, so that the server can ask the client first")

// Ask sends a request to the client, such as mcp.MethodElicitationCreate, and
// returns its answer.
//
// In the stateless era the server asks by its answer to the client's request,
// and the client then repeats that request. Ask therefore returns an error the
// first time, which the handler must return. When the handler runs for the
// second time, Ask returns the answer. Call Ask before the handler changes
// anything.
func (c *Call) Ask(method string, params any) (json.RawMessage, error) {
	if c.version == "" {
		return c.s.ask(c.ctx, c.push, method, params)
	}
	c.asks++
	key := fmt.Sprintf("ask-%d", c.asks)
	if answer := c.answers[key]; answer != nil {
		return answer, nil
	}
	c.questions = map[string]mcp.InputRequest{key: {Method: method, Params: c.s.encode(params)}}
	return nil, errAsked
}

// Ask sends a request to a connected client of the session era, outside any
// request of the client, and waits for the answer until ctx ends. Over HTTP it
// needs a client with an open stream.
func (s *Server) Ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	s.mu.Lock()
	var push func(jsonrpc.Message)
	for _, k := range s.sinks {
		if k.listen == nil {
			push = k.push
		}
	}
	s.mu.Unlock()
	if push == nil {
		return nil, errors.New("clienttest: no client of the session era can be asked now")
	}
	return s.ask(ctx, push, method, params)
}

func (s *Server) ask(ctx context.Context, push func(jsonrpc.Message), method string, params any) (json.RawMessage, error) {
	answer := make(chan jsonrpc.Response, 1)
	s.mu.Lock()
	s.lastAsked++
	id := jsonrpc.IntID(s.lastAsked)
	s.asked[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.asked, id)
		s.mu.Unlock()
	}()
	push(jsonrpc.Request{ID: id, Method: method, Params: s.encode(params)})
	select {
	case resp := <-answer:
		if resp.Error != nil {
			return nil, resp.Error
		}
		return resp.Result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// answered takes a client's answer to a question.
func (s *Server) answered(resp jsonrpc.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer := s.asked[resp.ID]; answer != nil {
		answer <- resp
		delete(s.asked, resp.ID)
	}
}

// encode encodes a value of the test; nil stays nil.
func (s *Server) encode(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	raw, err := mcp.Marshal(v)
	if err != nil {
		s.t.Errorf("clienttest: %T cannot be encoded: %v", v, err)
		return json.RawMessage(`{}`)
	}
	return raw
}
