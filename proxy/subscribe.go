package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// maxSubscriptions bounds the resources that one session host subscribes to.
const maxSubscriptions = 1000

// watchLists subscribes a session host to the lists of a stateless server, again when the
// server ends the subscription. Session servers report changes without being asked. It returns
// when no change can be missed any more, or the server is slow to answer.
func (up *upstream) watchLists() {
	c := up.client
	filter := mcp.SubscriptionFilter{
		ToolsListChanged: c.HasCapability("tools.listChanged"), PromptsListChanged: c.HasCapability("prompts.listChanged"),
		ResourcesListChanged: c.HasCapability("resources.listChanged"),
	}
	if up.server() != mcp.EraStateless || nothing(filter) {
		return
	}
	begun := make(chan struct{})
	up.host.work.Go(func() {
		s := up.watch(filter)
		close(begun)
		for s != nil {
			select {
			case <-s.Done():
			case <-up.host.ending:
				return
			}
			up.host.within(slow, up.host.ending)
			if s = up.watch(filter); s != nil {
				up.changed(nil, filter)(up.host.ctx, client.Change{Gap: true})
			}
		}
	})
	up.host.within(time.Second, begun)
}

// watch subscribes to lists. It returns nil if the server refuses.
func (up *upstream) watch(filter mcp.SubscriptionFilter) *client.Subscription {
	s, err := up.client.Subscribe(up.host.ctx, filter, up.changed(nil, filter))
	if err != nil {
		if up.host.ctx.Err() == nil {
			up.host.log.Warn("[MCP] the server's lists cannot be watched", "error", err)
		}
		return nil
	}
	return s
}

// changed returns what passes changes of a subscription to the host. id is that of the
// host's own subscription, nil in the session era.
func (up *upstream) changed(id json.RawMessage, filter mcp.SubscriptionFilter) func(context.Context, client.Change) {
	return func(ctx context.Context, ch client.Change) {
		select {
		case <-up.ready:
		case <-ctx.Done():
			return
		}
		if !ch.Gap {
			up.host.tell(jsonrpc.Notification{Method: ch.Method, Params: marked(ch.Params, id)})
			return
		}
		for method, wanted := range map[string]bool{
			mcp.MethodToolsListChanged: filter.ToolsListChanged, mcp.MethodPromptsListChanged: filter.PromptsListChanged,
			mcp.MethodResourcesListChanged: filter.ResourcesListChanged,
		} {
			if wanted {
				up.host.tell(jsonrpc.Notification{Method: method, Params: marked(nil, id)})
			}
		}
		for _, uri := range filter.ResourceSubscriptions {
			params := append(appendMember([]byte{'{'}, []byte("uri"), quoted(uri)), '}')
			up.host.tell(jsonrpc.Notification{Method: mcp.MethodResourcesUpdated, Params: marked(params, id)})
		}
	}
}

// marked returns the params of a notification with the subscription id in _meta that the
// host knows, instead of the one of the server.
func marked(params, id json.RawMessage) json.RawMessage {
	out, meta := []byte{'{'}, []byte{'{'}
	_ = jsonrpc.Members(params, func(name, value []byte) bool {
		if string(name) != "_meta" {
			out = appendMember(out, name, value)
			return true
		}
		_ = jsonrpc.Members(value, func(name, value []byte) bool {
			if string(name) != mcp.MetaSubscriptionID {
				meta = appendMember(meta, name, value)
			}
			return true
		})
		return true
	})
	if id != nil {
		meta = appendMember(meta, []byte(mcp.MetaSubscriptionID), id)
	}
	if len(meta) > 1 {
		out = appendMember(out, []byte("_meta"), append(meta, '}'))
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, '}')
}

// subscribe answers resources/subscribe. The client restores the subscription in each new
// session of the server.
func (up *upstream) subscribe(ctx context.Context, r *request) (json.RawMessage, error) {
	if r.uri == "" {
		return up.pass(ctx, r) // the server refuses it
	}
	up.mu.Lock()
	old, full := up.subscriptions[r.uri], len(up.subscriptions) >= maxSubscriptions
	up.mu.Unlock()
	if old != nil {
		return json.RawMessage(`{}`), nil
	}
	if full {
		return nil, overloaded("the host has too many subscriptions")
	}
	filter := mcp.SubscriptionFilter{ResourceSubscriptions: []string{r.uri}}
	tell := up.changed(nil, filter)
	s, err := up.client.Subscribe(ctx, filter, func(ctx context.Context, ch client.Change) {
		if ch.Gap || up.server() == mcp.EraStateless { // a session server's notification crosses unchanged
			tell(ctx, ch)
		}
	})
	if err != nil {
		return nil, err
	}
	up.mu.Lock()
	old = up.subscriptions[r.uri]
	if old == nil {
		up.subscriptions[r.uri] = s
	}
	up.mu.Unlock()
	if old != nil {
		return json.RawMessage(`{}`), s.Close()
	}
	up.host.work.Go(func() { up.forget(r.uri, s) })
	return json.RawMessage(`{}`), nil
}

// forget waits for the end of a subscription. If the server has ended it, the host can
// subscribe again.
func (up *upstream) forget(uri string, s *client.Subscription) {
	select {
	case <-s.Done():
	case <-up.host.ending:
		return
	}
	up.mu.Lock()
	defer up.mu.Unlock()
	if up.subscriptions[uri] == s {
		delete(up.subscriptions, uri)
		up.host.log.Warn("[MCP] the server has ended a subscription", "uri", jsonrpc.Printable(uri, 200), "error", s.Err())
	}
}

// unsubscribe answers resources/unsubscribe. A session server answers it too: the client
// unsubscribes in the background, and no change may come after the answer.
func (up *upstream) unsubscribe(ctx context.Context, r *request) (json.RawMessage, error) {
	up.mu.Lock()
	s := up.subscriptions[r.uri]
	delete(up.subscriptions, r.uri)
	up.mu.Unlock()
	result, err := json.RawMessage(`{}`), error(nil)
	if s == nil || up.server() == mcp.EraSession {
		result, err = up.pass(ctx, r)
	}
	if s != nil {
		_ = s.Close() // it returns nil
	}
	return result, err
}

// listen answers subscriptions/listen of a stateless host when the subscription has ended.
func (up *upstream) listen(ctx context.Context, r *request) (json.RawMessage, error) {
	var params struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	if err := jsonrpc.Unmarshal(r.Params, &params); err != nil {
		return nil, invalidParams("notifications", err)
	}
	if params.Notifications.TaskIDs != nil && !up.declared.Has("extensions."+mcp.ExtensionTasks) {
		return nil, jsonrpc.NewError(mcp.CodeMissingRequiredClientCapability, "To listen to tasks, declare the extension "+mcp.ExtensionTasks,
			map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{mcp.ExtensionTasks: struct{}{}}}})
	}
	id := json.RawMessage(r.ID.AppendJSON(nil))
	// Nothing may come before the acknowledgement.
	acknowledged := make(chan struct{})
	tell := up.changed(id, params.Notifications)
	var s *client.Subscription
	var err error
	if !nothing(params.Notifications) {
		s, err = up.client.Subscribe(ctx, params.Notifications, func(ctx context.Context, ch client.Change) {
			select {
			case <-acknowledged:
				tell(ctx, ch)
			case <-ctx.Done():
			}
		})
	}
	var accepted mcp.SubscriptionFilter
	var ours *mcperrors.Error
	switch {
	case s != nil:
		defer func() { _ = s.Close() }()
		accepted = s.Accepted()
	case err == nil:
	case errors.As(err, &ours) && ours.Kind == mcperrors.KindUnsupported: // it may be asked, and nothing comes
	default:
		return nil, err
	}
	raw, err := mcp.Marshal(&accepted)
	if err != nil {
		return nil, err
	}
	body := append(appendMember([]byte{'{'}, []byte("notifications"), raw), '}')
	up.host.tell(jsonrpc.Notification{Method: mcp.MethodSubscriptionsAcknowledged, Params: marked(body, id)})
	close(acknowledged)
	var ended <-chan struct{}
	if s != nil {
		ended = s.Done()
	}
	select {
	case <-ended:
		return marked(nil, id), s.Err()
	case <-up.host.ending:
		return marked(nil, id), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func nothing(f mcp.SubscriptionFilter) bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged && len(f.ResourceSubscriptions) == 0 && len(f.TaskIDs) == 0
}

// setLevel answers logging/setLevel. The client repeats it in each new session.
func (up *upstream) setLevel(ctx context.Context, r *request) (json.RawMessage, error) {
	var params struct {
		Level mcp.LoggingLevel `json:"level"`
	}
	if jsonrpc.Unmarshal(r.Params, &params) != nil || !params.Level.Known() {
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: level is not one of debug, info, notice, warning, error, critical, alert, emergency", nil)
	}
	if err := up.client.SetLogLevel(ctx, params.Level); err != nil {
		return nil, err
	}
	up.logs.only(params.Level)
	return json.RawMessage(`{}`), nil
}
