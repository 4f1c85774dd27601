package clienttest

import (
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// sink sends messages to a client that are no answers.
type sink struct {
	push func(jsonrpc.Message)
	// listen is what a client of the stateless era listens to, nil in the
	// session era; id is its request's.
	listen *mcp.SubscriptionFilter
	id     jsonrpc.ID
}

// Notify sends a notification to all clients that can receive it, and returns
// their number. These are connected clients of the session era (over HTTP with
// an open stream), and clients of the stateless era that listen to this kind.
func (s *Server) Notify(method string, params any) (reached int) {
	raw := s.encode(params)
	s.mu.Lock()
	sinks := slices.Clone(s.sinks)
	s.mu.Unlock()
	for _, k := range sinks {
		switch {
		case k.listen == nil:
			k.push(jsonrpc.Notification{Method: method, Params: raw})
			reached++
		case wanted(k.listen, method, raw):
			k.push(jsonrpc.Notification{Method: method, Params: withSubscription(raw, k.id)})
			reached++
		}
	}
	return reached
}

// Listening returns how many clients would receive a notification of this
// method now. A test can wait for it before it notifies.
func (s *Server) Listening(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, k := range s.sinks {
		if k.listen == nil || wanted(k.listen, method, nil) {
			n++
		}
	}
	return n
}

func wanted(f *mcp.SubscriptionFilter, method string, params json.RawMessage) bool {
	switch method {
	case mcp.MethodToolsListChanged:
		return f.ToolsListChanged
	case mcp.MethodPromptsListChanged:
		return f.PromptsListChanged
	case mcp.MethodResourcesListChanged:
		return f.ResourcesListChanged
	case mcp.MethodResourcesUpdated:
		var about struct {
			URI string `json:"uri"`
		}
		if params == nil {
			return len(f.ResourceSubscriptions) > 0
		}
		return jsonrpc.Unmarshal(params, &about) == nil && slices.Contains(f.ResourceSubscriptions, about.URI)
	}
	return false
}

// withSubscription adds the id of a subscription to the params of a notification.
func withSubscription(params json.RawMessage, id jsonrpc.ID) json.RawMessage {
	out := []byte(`{`)
	if len(params) > 2 {
		out = append(slices.Clone(params[:len(params)-1]), ',')
	}
	out = append(out, `"_meta":{`...)
	out = append(jsonrpc.AppendString(out, mcp.MetaSubscriptionID), ':')
	return append(id.AppendJSON(out), '}', '}')
}

// listen holds a subscription of the stateless era open until the client or the
// server ends it.
func (s *Server) listen(call *Call, req jsonrpc.Request) (any, error) {
	var params mcp.SubscriptionsListenParams
	if err := mcp.Unmarshal(slices.Clone(req.Params), &params); err != nil {
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, err.Error(), nil)
	}
	k := &sink{push: call.push, listen: &params.Notifications, id: req.ID}
	acknowledged := s.encode(&mcp.SubscriptionsAcknowledgedParams{Notifications: params.Notifications})
	call.push(jsonrpc.Notification{Method: mcp.MethodSubscriptionsAcknowledged, Params: withSubscription(acknowledged, req.ID)})
	defer s.open(k)()
	<-call.ctx.Done()
	return nil, call.ctx.Err()
}

// open adds a sink for notifications. done removes it.
func (s *Server) open(k *sink) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sinks = append(s.sinks, k)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sinks = slices.DeleteFunc(s.sinks, func(other *sink) bool { return other == k })
	}
}

// note records a notification and cancels the request that it names.
func (s *Server) note(n jsonrpc.Notification, from origin) {
	s.came(n.Method, n.Params, true, from)
	s.mu.Lock()
	defer s.mu.Unlock()
	var params mcp.CancelledParams
	if n.Method == mcp.MethodCancelled && mcp.Unmarshal(slices.Clone(n.Params), &params) == nil {
		if cancel := s.running[params.RequestID]; cancel != nil {
			cancel()
		}
	}
}
