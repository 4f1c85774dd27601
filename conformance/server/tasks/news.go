package tasks

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// News is what a transport hands over of a `subscriptions/listen` that asks for news
// of tasks: go-sdk reads no such filter, and sends no such notification.
type News struct {
	// IDs are the tasks.
	IDs []string
	// Subscription is the id of the request, as JSON.
	Subscription json.RawMessage
	// Send sends a notification on the stream of the request.
	Send func(notification []byte) error
}

type newsKey struct{}

// WithNews returns a context in which the request is served as n says.
func WithNews(ctx context.Context, n *News) context.Context {
	return context.WithValue(ctx, newsKey{}, n)
}

const (
	methodListen = "subscriptions/listen"
	methodAck    = "notifications/subscriptions/acknowledged"
	methodNews   = "notifications/tasks"
)

// maxWatched bounds the tasks of one subscription.
const maxWatched = 1024

// A watch notes which of some tasks have changed.
type watch struct {
	ids     []string
	changed map[string]bool // under the lock of the store
	bell    chan struct{}
}

// watch begins to watch those of the tasks that the user has. All count as changed:
// the user has not been told of any.
func (s *Store) watch(user string, ids []string) *watch {
	w := &watch{changed: map[string]bool{}, bell: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if t := s.tasks[id]; t != nil && t.User == user && !w.changed[id] && len(w.ids) < maxWatched {
			w.ids = append(w.ids, id)
			w.changed[id] = true
		}
	}
	s.watches[w] = true
	w.ring()
	return w
}

func (s *Store) unwatch(w *watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watches, w)
}

func (w *watch) ring() {
	select {
	case w.bell <- struct{}{}:
	default: // it rings already
	}
}

// tell notes a change for those who watch the task. The caller holds the lock.
func (s *Store) tell(id string) {
	for w := range s.watches {
		if slices.Contains(w.ids, id) {
			w.changed[id] = true
			w.ring()
		}
	}
}

// next returns a task that has changed, "" when there is none.
func (s *Store) next(w *watch) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range w.ids {
		if w.changed[id] {
			delete(w.changed, id)
			return id
		}
	}
	return ""
}

// notification is one that belongs to a subscription.
type notification struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

// news are the params of a notification about a task: the whole task.
type news struct {
	Meta map[string]any `json:"_meta"`
	shown
	Result        json.RawMessage     `json:"result,omitempty"`
	Error         *jsonrpc.Error      `json:"error,omitempty"`
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
}

// listen serves a subscription to tasks until ctx ends. It sends the state of each task
// first. Changes that follow each other closely may be merged.
func (s *Store) listen(ctx context.Context, caller Caller, n *News) (*mcp.SubscriptionsListenResult, error) {
	if !caller.Takes {
		return nil, ErrUndeclared()
	}
	meta := map[string]any{mcp.MetaKeySubscriptionID: n.Subscription}
	send := func(method string, params any) error {
		raw, err := json.Marshal(notification{"2.0", method, params})
		if err != nil {
			return err
		}
		return n.Send(raw)
	}
	w := s.watch(caller.User, n.IDs)
	defer s.unwatch(w)
	agreed := append([]string{}, w.ids...) // null is no list
	err := send(methodAck, map[string]any{"_meta": meta, "notifications": map[string]any{"taskIds": agreed}})
	for err == nil {
		id := s.next(w)
		if id == "" {
			select {
			case <-w.bell:
			case <-ctx.Done():
				return &mcp.SubscriptionsListenResult{Meta: meta}, nil
			}
			continue
		}
		if d, gone := s.get(caller.User, id); gone == nil {
			err = send(methodNews, news{meta, d.shown, d.Result, d.Error, d.InputRequests})
		}
	}
	return nil, err // nobody is left to be told
}
