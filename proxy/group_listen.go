package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// listen answers subscriptions/listen of a stateless host when the host ends it: the proxy
// listens to each server, as soon and as often as it is connected.
func (g *group) listen(ctx context.Context, r *request) (json.RawMessage, error) {
	filter, err := g.filterOf(r)
	if err != nil {
		return nil, err
	}
	l := &listener{group: g, r: r, id: r.ID.AppendJSON(nil), filter: filter, acknowledged: make(chan struct{})}
	// The proxy itself reports changed lists.
	accepted := mcp.SubscriptionFilter{
		ToolsListChanged: filter.ToolsListChanged, PromptsListChanged: filter.PromptsListChanged, ResourcesListChanged: filter.ResourcesListChanged,
	}
	ctx, cancel := context.WithCancel(ctx)
	defer l.work.Wait()
	defer cancel()
	first := make(chan mcp.SubscriptionFilter, len(g.members))
	asked := 0
	for _, m := range g.members {
		up, changed := m.state()
		if up != nil {
			asked++
		}
		l.work.Go(func() { l.follow(ctx, m, up, changed, first) })
	}
	late, stop := context.WithTimeout(ctx, startWait)
	defer stop()
	for range asked {
		select {
		case f := <-first:
			accepted.ResourceSubscriptions = append(accepted.ResourceSubscriptions, f.ResourceSubscriptions...)
			accepted.TaskIDs = append(accepted.TaskIDs, f.TaskIDs...)
		case <-late.Done():
		}
	}
	accepted.ResourceSubscriptions, accepted.TaskIDs = distinct(accepted.ResourceSubscriptions), distinct(accepted.TaskIDs)
	l.acknowledge(accepted)
	select {
	case <-g.host.ending:
		return marked(nil, l.id), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// listener is a subscription of a stateless host.
type listener struct {
	group        *group
	r            *request
	id           json.RawMessage
	filter       mcp.SubscriptionFilter
	acknowledged chan struct{} // closed when the host may get changes
	work         sync.WaitGroup
}

func (l *listener) acknowledge(accepted mcp.SubscriptionFilter) {
	raw, _ := mcp.Marshal(&accepted) // of what was read from a message
	body := append(appendMember([]byte{'{'}, []byte("notifications"), raw), '}')
	l.group.host.tell(l.r.line, jsonrpc.Notification{Method: mcp.MethodSubscriptionsAcknowledged, Params: marked(body, l.id)})
	close(l.acknowledged)
}

// follow listens to a member until ctx ends. If up, which it is now, is not nil, first gets what
// it accepts.
func (l *listener) follow(ctx context.Context, m *member, up *upstream, changed <-chan struct{}, first chan<- mcp.SubscriptionFilter) {
	late := up == nil
	for ctx.Err() == nil {
		if up != nil {
			up, changed = l.watch(ctx, m, up, changed, func(accepted mcp.SubscriptionFilter) {
				if late { // it may have changed since the host began to listen
					l.changed(ctx, m, up)
					return
				}
				late = true
				first <- accepted
			})
			continue
		}
		select {
		case <-changed:
			up, changed = m.state()
		case <-ctx.Done():
		}
	}
}

// watch listens to a server until ctx or the subscription ends, or the member has another
// server. It calls begun with what the server accepts.
func (l *listener) watch(ctx context.Context, m *member, up *upstream, changed <-chan struct{}, begun func(mcp.SubscriptionFilter)) (*upstream, <-chan struct{}) {
	s, err := l.subscribe(ctx, m, up)
	var ended <-chan struct{}
	var accepted mcp.SubscriptionFilter
	switch {
	case s != nil:
		defer func() { _ = s.Close() }()
		ended, accepted = s.Done(), s.Accepted()
	case err != nil && ctx.Err() == nil && mcperrors.KindOf(err) != mcperrors.KindUnsupported:
		m.warn("the server's changes cannot be watched", err)
	}
	begun(accepted)
	for {
		select {
		case <-ctx.Done():
			return up, changed
		case <-ended:
			l.group.host.within(slow, ctx.Done())
			return m.state()
		case <-changed:
			now, next := m.state()
			if now != up || s == nil {
				return now, next
			}
			changed = next
			l.changed(ctx, m, up)
		}
	}
}

// subscribe subscribes to what a member may have of the filter, which may be nothing.
func (l *listener) subscribe(ctx context.Context, m *member, up *upstream) (*client.Subscription, error) {
	own := l.filter
	own.ResourceSubscriptions = slices.DeleteFunc(slices.Clone(own.ResourceSubscriptions), func(uri string) bool {
		return !slices.Contains(l.group.having(uri), m)
	})
	own.TaskIDs = slices.DeleteFunc(slices.Clone(own.TaskIDs), func(id string) bool { return !slices.Contains(l.group.working(id), m) })
	if nothing(own) {
		return nil, nil
	}
	tell := up.changed(l.r.line, l.id, own)
	return up.client.Subscribe(ctx, own, func(ctx context.Context, ch client.Change) {
		select {
		case <-l.acknowledged:
			tell(ctx, ch)
		case <-ctx.Done():
		}
	})
}

// changed tells the host that everything of a server may have changed.
func (l *listener) changed(ctx context.Context, m *member, up *upstream) {
	select {
	case <-l.acknowledged:
		own := l.filter
		own.ResourceSubscriptions = slices.DeleteFunc(slices.Clone(own.ResourceSubscriptions), func(uri string) bool {
			return !m.catalog.lists(mcp.MethodResourcesList, uri)
		})
		up.changed(l.r.line, l.id, own)(ctx, client.Change{Gap: true})
	case <-ctx.Done():
	}
}

// working returns the servers that may have a task.
func (g *group) working(id string) []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	if m := g.tasks[id]; m != nil {
		return []*member{m}
	}
	return g.members
}

// remember notes the server of a task.
func (g *group) remember(task string, m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	remember(&g.tasks, task, m)
}

// learn notes whose a result was, for requests that belong to it.
func (g *group) learn(m *member, r *request) {
	switch r.Method {
	case mcp.MethodResourcesRead:
		m.catalog.list(mcp.MethodResourcesList, r.uri)
	case mcp.MethodResourcesSubscribe:
		g.mu.Lock()
		defer g.mu.Unlock()
		remember(&g.subscribed, r.uri, m)
	}
}

// created notes the task that a call has made, if it has.
func (g *group) created(m *member, result json.RawMessage) {
	if !bytes.Contains(result, []byte(`"taskId"`)) {
		return
	}
	var made struct {
		Task struct {
			TaskID string `json:"taskId"`
		} `json:"task"`
	}
	if jsonrpc.Unmarshal(result, &made) == nil && made.Task.TaskID != "" {
		g.remember(made.Task.TaskID, m)
	}
}

// taskOf returns the task that a request is about, "" for none.
func taskOf(r *request) string {
	var params struct {
		TaskID string `json:"taskId"`
	}
	_ = jsonrpc.Unmarshal(r.Params, &params) // the servers judge what is no text
	return params.TaskID
}

// ownToken returns the params of a request of the server with a progress token that tells the
// servers of a group apart: they may have the same ones.
func (up *upstream) ownToken(params json.RawMessage) json.RawMessage {
	if up.from == nil {
		return params
	}
	_ = jsonrpc.Members(params, func(name, meta []byte) bool {
		if string(name) != "_meta" {
			return true
		}
		_ = jsonrpc.Members(meta, func(name, token []byte) bool {
			if string(name) == mcp.MetaProgressToken {
				params = with(params, "_meta", with(meta, mcp.MetaProgressToken, quoted(up.from.prefix+separator+string(token))))
				return false
			}
			return true
		})
		return false
	})
	return params
}

// asker returns the server that progress is for, and the params with its own token; nil if there
// is none.
func (g *group) asker(params json.RawMessage) (*member, json.RawMessage) {
	var progress struct {
		Token string `json:"progressToken"`
	}
	_ = jsonrpc.Unmarshal(params, &progress) // a token that is no text is none of ours
	prefix, token, _ := strings.Cut(progress.Token, separator)
	m := g.byPrefix[prefix]
	if m == nil || !json.Valid([]byte(token)) {
		return nil, nil
	}
	return m, with(params, "progressToken", []byte(token))
}

// withLogger returns the params of a log message with the name of its server.
func withLogger(params json.RawMessage, server string) json.RawMessage {
	logger := server
	_ = jsonrpc.Members(params, func(name, value []byte) bool {
		var own string
		if string(name) == "logger" && jsonrpc.Unmarshal(value, &own) == nil && own != "" {
			logger += "/" + own
		}
		return true
	})
	return with(params, "logger", quoted(logger))
}
