package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
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
	watching := up.host.background(func() {
		s := up.watch(filter)
		close(begun)
		for s != nil && until(up, s.Done()) && until(up, time.After(slow)) {
			if s = up.watch(filter); s != nil {
				up.changed(up.host.line, nil, filter)(up.host.ctx, client.Change{Gap: true})
			}
		}
		if s != nil {
			_ = s.Close() // it returns nil
		}
	})
	if watching {
		up.host.within(time.Second, begun)
	}
}

// until waits for done. It returns false if the server or the conversation with the host ends first.
func until[T any](up *upstream, done <-chan T) bool {
	select {
	case <-done:
		return true
	case <-up.host.ending:
	case <-up.ctx.Done():
	}
	return false
}

// watch subscribes to lists. It returns nil if the server refuses.
func (up *upstream) watch(filter mcp.SubscriptionFilter) *client.Subscription {
	s, err := up.client.Subscribe(up.host.ctx, filter, up.changed(up.host.line, nil, filter))
	if err != nil {
		if up.ctx.Err() == nil {
			up.host.log.Warn("[MCP] the server's lists cannot be watched", "error", err)
		}
		return nil
	}
	return s
}

// changed returns what passes changes of a subscription to the host, over on. id is that of the
// host's own subscription, nil in the session era.
func (up *upstream) changed(on line, id json.RawMessage, filter mcp.SubscriptionFilter) func(context.Context, client.Change) {
	return func(ctx context.Context, ch client.Change) {
		if up.reached(ctx) != nil {
			return
		}
		if !ch.Gap {
			up.host.tell(on, jsonrpc.Notification{Method: ch.Method, Params: marked(ch.Params, id)})
			return
		}
		for method, wanted := range map[string]bool{
			mcp.MethodToolsListChanged: filter.ToolsListChanged, mcp.MethodPromptsListChanged: filter.PromptsListChanged,
			mcp.MethodResourcesListChanged: filter.ResourcesListChanged,
		} {
			if wanted {
				up.host.tell(on, jsonrpc.Notification{Method: method, Params: marked(nil, id)})
			}
		}
		for _, uri := range filter.ResourceSubscriptions {
			params := append(appendMember([]byte{'{'}, []byte("uri"), quoted(uri)), '}')
			up.host.tell(on, jsonrpc.Notification{Method: mcp.MethodResourcesUpdated, Params: marked(params, id)})
		}
	}
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
	tell := up.changed(up.host.line, nil, filter)
	s, err := up.client.Subscribe(ctx, filter, func(ctx context.Context, ch client.Change) {
		if ch.Gap || up.server() == mcp.EraStateless || up.shared != nil { // that of a session server crosses unchanged
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
	up.host.background(func() { up.forget(r.uri, s) })
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
	if up.subscriptions[uri] == s && up.ctx.Err() == nil { // else the proxy has ended the server
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
	if up.shared == nil && (s == nil || up.server() == mcp.EraSession) { // other hosts may be subscribed
		result, err = up.pass(ctx, r)
	}
	if s != nil {
		_ = s.Close() // it returns nil
	}
	return result, err
}

// listen answers subscriptions/listen of a stateless host when the subscription has ended.
func (up *upstream) listen(ctx context.Context, r *request) (json.RawMessage, error) {
	filter, err := up.filterOf(r)
	if err != nil {
		return nil, err
	}
	id := json.RawMessage(r.ID.AppendJSON(nil))
	// Nothing may come before the acknowledgement.
	acknowledged := make(chan struct{})
	tell := up.changed(r.line, id, filter)
	var s *client.Subscription
	if !nothing(filter) {
		s, err = up.client.Subscribe(ctx, filter, func(ctx context.Context, ch client.Change) {
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
	up.host.tell(r.line, jsonrpc.Notification{Method: mcp.MethodSubscriptionsAcknowledged, Params: marked(body, id)})
	close(acknowledged)
	var ended <-chan struct{}
	if s != nil {
		ended = s.Done()
	}
	for compared := up.cached.compared; ; compared = nil {
		select {
		case <-compared:
			up.announce(ctx, r.line, id, accepted)
			continue
		case <-ended:
			return marked(nil, id), s.Err()
		case <-up.host.ending:
			return marked(nil, id), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// filterOf returns what a host wants to listen to.
func (s *hostSide) filterOf(r *request) (mcp.SubscriptionFilter, error) {
	var params struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	if err := jsonrpc.Unmarshal(r.Params, &params); err != nil {
		return mcp.SubscriptionFilter{}, invalidParams("notifications", err)
	}
	if s.host.share {
		params.Notifications.TaskIDs = nil // there are none
	}
	if params.Notifications.TaskIDs != nil && !s.declared.Has("extensions."+mcp.ExtensionTasks) {
		return mcp.SubscriptionFilter{}, jsonrpc.NewError(mcp.CodeMissingRequiredClientCapability, "To listen to tasks, declare the extension "+mcp.ExtensionTasks,
			map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{mcp.ExtensionTasks: struct{}{}}}})
	}
	return params.Notifications, nil
}

func nothing(f mcp.SubscriptionFilter) bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged && len(f.ResourceSubscriptions) == 0 && len(f.TaskIDs) == 0
}

// setLevel answers logging/setLevel. The client repeats it in each new session.
func (up *upstream) setLevel(ctx context.Context, r *request) (json.RawMessage, error) {
	level, err := levelOf(r)
	if err != nil {
		return nil, err
	}
	if up.shared != nil {
		err = up.shared.levels.want(ctx, up, level)
	} else {
		err = up.client.SetLogLevel(ctx, level)
	}
	if err != nil {
		return nil, err
	}
	up.logs.only(level)
	up.mu.Lock()
	defer up.mu.Unlock()
	up.level = level
	return json.RawMessage(`{}`), nil
}

func levelOf(r *request) (mcp.LoggingLevel, error) {
	var params struct {
		Level mcp.LoggingLevel `json:"level"`
	}
	if jsonrpc.Unmarshal(r.Params, &params) != nil || !params.Level.Known() {
		return "", jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: level is not one of debug, info, notice, warning, error, critical, alert, emergency", nil)
	}
	return params.Level, nil
}

// inherit makes the server what another one was to the host, with its log level and its
// subscriptions.
func (up *upstream) inherit(from backend) {
	old, _ := from.(*upstream)
	if old == nil {
		return
	}
	old.mu.Lock()
	up.level, up.owed = old.level, slices.AppendSeq(old.owed, maps.Keys(old.subscriptions))
	old.mu.Unlock()
	up.logs.limit = old.logs.limit
	up.settled = func(ctx context.Context) {
		up.watchLists()
		up.restore(ctx)
		up.renewed()
		up.catchUp(ctx)
	}
}

// restore sets the inherited log level and subscriptions.
func (up *upstream) restore(ctx context.Context) {
	up.mu.Lock()
	level, owed := up.level, up.owed
	up.mu.Unlock()
	if level != "" && up.client.HasCapability("logging") {
		if err := up.client.SetLogLevel(ctx, level); err != nil {
			up.host.log.Warn("[MCP] the log level could not be set again", "error", err)
		}
	}
	for _, uri := range owed {
		r := &request{Request: jsonrpc.Request{Method: mcp.MethodResourcesSubscribe}, version: up.version, uri: uri}
		if _, err := up.subscribe(ctx, r); err != nil {
			up.host.log.Warn("[MCP] a subscription was lost", "uri", jsonrpc.Printable(uri, 200), "error", err)
		}
	}
	up.mu.Lock()
	up.owed = nil
	up.mu.Unlock()
}
