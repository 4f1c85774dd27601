package main

import (
	"context"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// readers are those who subscribed to the note. mcp-go keeps no such list: an
// application learns of subscriptions from hooks and sends the updates itself.
type readers struct {
	mu   sync.Mutex
	list []reader
}

type reader struct {
	session server.ClientSession
	listen  any // id of the request subscriptions/listen; nil in the session era
}

func (r *readers) hook(hooks *server.Hooks) {
	hooks.AddAfterSubscribe(func(ctx context.Context, _ any, req *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		if req.Params.URI == noteURI {
			r.add(reader{session: server.ClientSessionFromContext(ctx)})
		}
	})
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, id any, req *mcp.SubscriptionsListenRequest) {
		if slices.Contains(req.Params.Notifications.ResourceSubscriptions, noteURI) {
			r.add(reader{session: server.ClientSessionFromContext(ctx), listen: id})
		}
	})
}

func (r *readers) add(one reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, one)
}

func (r *readers) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.list {
		note := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
			Method: mcp.MethodNotificationResourceUpdated,
			Params: mcp.NotificationParams{AdditionalFields: map[string]any{"uri": noteURI}},
		}}
		if one.listen != nil {
			note.Params.Meta = map[string]any{mcp.MetaKeySubscriptionID: one.listen}
		}
		select {
		case one.session.NotificationChannel() <- note:
		default: // a reader that is gone
		}
	}
}
