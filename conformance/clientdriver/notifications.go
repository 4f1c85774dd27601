package clientdriver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Notifications are what a client got while it held a subscription. The zero value is empty
// and ready to use. Safe for concurrent use.
//
// # Experimental
type Notifications struct {
	mu  sync.Mutex
	all []notification
}

type notification struct {
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

// Add adds a notification. A handler of the client calls it.
//
// # Experimental
func (n *Notifications) Add(method string, params any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, notification{method, params})
}

// Notified returns a handler of the client, which adds the params of each notification that
// it gets.
//
// # Experimental
func Notified[Q any](n *Notifications, method string, params func(Q) any) func(context.Context, Q) {
	return func(_ context.Context, q Q) { n.Add(method, params(q)) }
}

// take returns what was added, and forgets it.
func (n *Notifications) take() []notification {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := slices.Clone(n.all)
	n.all = nil
	return append([]notification{}, all...) // never null
}

// During is the Call that subscribes, waits for as long as the step says, and ends the
// subscription.
//
// # Experimental
func (n *Notifications) During(begin, end Call) Call {
	return func(ctx context.Context, s *Step) (any, error) {
		n.take()
		if _, err := begin(ctx, s); err != nil {
			return nil, err
		}
		over := time.NewTimer(time.Duration(s.ForMs) * time.Millisecond)
		defer over.Stop()
		select {
		case <-over.C:
		case <-ctx.Done():
		}
		_, err := end(ctx, s)
		return map[string]any{"notifications": n.take()}, errors.Join(err, ctx.Err())
	}
}
