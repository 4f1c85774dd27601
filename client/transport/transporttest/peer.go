package transporttest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Methods of a [Peer]. It answers every other method with method not found.
const (
	// MethodEcho is answered with its params.
	MethodEcho = "echo"
	// MethodFail is answered with an error of code -32000 and its params as data.
	MethodFail = "fail"
	// MethodSilent is never answered.
	MethodSilent = "silent"
	// MethodPark {"name"} is answered after MethodFree with the same name.
	MethodPark = "park"
	MethodFree = "free"
	// MethodNotify {"count"} sends that many notifications "note" {"n"} before its answer.
	MethodNotify = "notify"
	// MethodAsk sends a request "question"; its answer is the client's response.
	MethodAsk = "ask"
	// MethodLarge {"bytes"} is answered with {"text"} of that length.
	MethodLarge = "large"
	// MethodDeep {"levels"} is answered with a result of that nesting depth.
	MethodDeep = "deep"
	// MethodSeen is answered with {"methods"}: the methods of all requests and notifications so
	// far, in order.
	MethodSeen = "seen"
)

// Peer is a scripted server for the suite, over any transport: see [Peer.ServeLines] and
// [Peer.Handler]. The zero Peer is ready for use.
type Peer struct {
	mu     sync.Mutex
	parked map[string]chan struct{}
	asked  map[jsonrpc.ID]chan jsonrpc.Response
	seen   []string
}

// take records a message and returns a function for its answer, nil for none. The function may
// block until its context ends, and push other messages before the answer.
func (p *Peer) take(m jsonrpc.Message) func(ctx context.Context, push func(jsonrpc.Message)) *jsonrpc.Response {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m := m.(type) {
	case jsonrpc.Notification:
		p.seen = append(p.seen, m.Method)
	case jsonrpc.Response:
		if waits := p.asked[m.ID]; waits != nil {
			delete(p.asked, m.ID)
			waits <- m
		}
	case jsonrpc.Request:
		p.seen = append(p.seen, m.Method)
		return func(ctx context.Context, push func(jsonrpc.Message)) *jsonrpc.Response {
			result, rpc := p.run(ctx, m, push)
			if ctx.Err() != nil {
				return nil
			}
			return &jsonrpc.Response{ID: m.ID, Result: result, Error: rpc}
		}
	}
	return nil
}

// run returns the answer to one request.
func (p *Peer) run(ctx context.Context, req jsonrpc.Request, push func(jsonrpc.Message)) (json.RawMessage, *jsonrpc.Error) {
	var args struct {
		Name                 string
		Count, Bytes, Levels int
	}
	if req.Params != nil {
		if err := json.Unmarshal(req.Params, &args); err != nil {
			return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, err.Error(), nil)
		}
	}
	switch req.Method {
	case MethodEcho:
		return req.Params, nil
	case MethodFail:
		return nil, &jsonrpc.Error{Code: -32000, Message: "as asked", Data: req.Params}
	case MethodSilent:
		<-ctx.Done()
	case MethodPark:
		select {
		case <-p.gate(args.Name):
		case <-ctx.Done():
		}
	case MethodFree:
		close(p.gate(args.Name))
	case MethodNotify:
		for n := range args.Count {
			push(jsonrpc.Notification{Method: "note", Params: fmt.Appendf(nil, `{"n":%d}`, n)})
		}
	case MethodAsk:
		return p.ask(ctx, req.ID, push)
	case MethodLarge:
		return fmt.Appendf(nil, `{"text":"%s"}`, strings.Repeat("x", args.Bytes)), nil
	case MethodDeep:
		return []byte(strings.Repeat(`{"a":`, args.Levels) + "1" + strings.Repeat("}", args.Levels)), nil
	case MethodSeen:
		p.mu.Lock()
		defer p.mu.Unlock()
		raw, _ := json.Marshal(map[string]any{"methods": p.seen}) // strings can always be encoded
		return raw, nil
	default:
		return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: "+req.Method, nil)
	}
	return []byte(`{}`), nil
}

// gate returns a channel that is closed to answer the parked request.
func (p *Peer) gate(name string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parked == nil {
		p.parked = make(map[string]chan struct{})
	}
	if p.parked[name] == nil {
		p.parked[name] = make(chan struct{})
	}
	return p.parked[name]
}

// ask sends a request to the client for the request with this id.
func (p *Peer) ask(ctx context.Context, on jsonrpc.ID, push func(jsonrpc.Message)) (json.RawMessage, *jsonrpc.Error) {
	id := jsonrpc.StringID("about " + on.String())
	answer := make(chan jsonrpc.Response, 1)
	p.mu.Lock()
	if p.asked == nil {
		p.asked = make(map[jsonrpc.ID]chan jsonrpc.Response)
	}
	p.asked[id] = answer
	p.mu.Unlock()
	push(jsonrpc.Request{ID: id, Method: "question", Params: []byte(`{"why":"because"}`)})
	select {
	case resp := <-answer:
		return resp.Result, resp.Error
	case <-ctx.Done():
		return nil, nil
	}
}
