package main

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/conformance/clientdriver"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// complete asks for values of an argument; the result is that of the method.
func complete(ctx context.Context, c *client.Client, raw json.RawMessage) (any, error) {
	var params struct {
		Ref struct {
			Type, Name, URI string
		} `json:"ref"`
		Argument struct {
			Name, Value string
		} `json:"argument"`
		Context struct {
			Arguments map[string]string `json:"arguments"`
		} `json:"context"`
	}
	if err := json.Unmarshal(raw, &params); err != nil {
		return nil, err
	}
	found, err := c.Complete(ctx, mcp.CompletionReference{Type: params.Ref.Type, Name: params.Ref.Name, URI: params.Ref.URI},
		mcp.CompletionArgument{Name: params.Argument.Name, Value: params.Argument.Value}, params.Context.Arguments)
	if err != nil {
		return nil, err
	}
	return map[string]any{"completion": map[string]any{"values": found.Values}}, nil
}

// note is a notification as it is reported.
type note struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// settleTime is how long the client lives after a subscription has been closed.
const settleTime = 250 * time.Millisecond

// subscribe holds a subscription for as long as the step says; the result has what
// came.
func subscribe(ctx context.Context, c *client.Client, s *clientdriver.Step) (any, error) {
	filter := mcp.SubscriptionFilter{ResourceSubscriptions: []string{s.URI}}
	if s.Call == mcp.MethodSubscriptionsListen {
		var params struct {
			Notifications mcp.SubscriptionFilter `json:"notifications"`
		}
		if err := json.Unmarshal(s.Params, &params); err != nil {
			return nil, err
		}
		filter = params.Notifications
	}
	var mu sync.Mutex
	notes := []note{}
	held, err := c.Subscribe(ctx, filter, func(_ context.Context, ch client.Change) {
		mu.Lock()
		defer mu.Unlock()
		if !ch.Gap {
			notes = append(notes, note{ch.Method, ch.Params})
		}
	})
	if err != nil {
		return nil, err
	}
	end := time.NewTimer(time.Duration(s.ForMs) * time.Millisecond)
	defer end.Stop()
	select {
	case <-end.C:
	case <-held.Done():
	case <-ctx.Done():
	}
	if err := held.Close(); err != nil {
		return nil, err
	}
	// The client tells the server in the background. An application keeps running; this one may
	// be over in a moment, and would end that with it.
	settled := time.NewTimer(settleTime)
	defer settled.Stop()
	select {
	case <-settled.C:
	case <-ctx.Done():
	}
	mu.Lock()
	defer mu.Unlock()
	return map[string]any{"notifications": notes}, nil
}
