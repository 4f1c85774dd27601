package client

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// subscriptions are all that are open, and in the session era the resources
// they share: the server is asked once for each (RES-04).
type subscriptions struct {
	once sync.Once
	turn chan struct{} // taken by who asks the server for a resource, or takes it back

	mu      sync.Mutex
	open    map[*Subscription]struct{}
	users   map[string]int // of each URI, in the session era
	listens map[jsonrpc.ID]*listening
	strayed atomic.Bool // a notice that belongs to nobody was logged
}

// ready makes room for the first subscription: idle clients do without.
func (t *subscriptions) ready() {
	t.once.Do(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.turn = make(chan struct{}, 1)
		t.open, t.users, t.listens = map[*Subscription]struct{}{}, map[string]int{}, map[jsonrpc.ID]*listening{}
	})
}

func (t *subscriptions) add(s *Subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[s] = struct{}{}
}

func (t *subscriptions) all() []*Subscription {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.open))
}

// subscribed reports whether there is any subscription.
func (c *Client) subscribed() bool {
	t := c.subscriptions.peek()
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open) > 0
}

// remove forgets a subscription, and takes back what nobody else uses.
func (t *subscriptions) remove(s *Subscription) {
	t.mu.Lock()
	_, was := t.open[s]
	delete(t.open, s)
	t.mu.Unlock()
	if was {
		s.c.unwatch(s.Honored().ResourceSubscriptions)
	}
}

// end ends all of them with the client.
func (t *subscriptions) end() {
	for _, s := range t.all() {
		s.finish(errClosed())
	}
}

// openWatch opens the subscription in the session era.
func (s *Subscription) openWatch(ctx context.Context) error {
	if err := s.c.watch(ctx, s.asked.ResourceSubscriptions); err != nil {
		return err
	}
	s.honored = s.asked
	s.c.subscriptions.get().add(s)
	if s.c.isClosed() {
		return errClosed() // perhaps nobody would end it
	}
	s.c.openStream()
	return nil
}

// rewatch is Update in the session era. Requires s.turn.
func (s *Subscription) rewatch(ctx context.Context, filter mcp.SubscriptionFilter) error {
	before := s.Honored().ResourceSubscriptions
	if err := s.c.watch(ctx, without(filter.ResourceSubscriptions, before)); err != nil {
		return err
	}
	s.mu.Lock()
	s.asked, s.honored = filter, filter
	ended := s.ended
	s.mu.Unlock()
	gone := without(before, filter.ResourceSubscriptions)
	if ended { // meanwhile, with what was watched before
		gone = without(filter.ResourceSubscriptions, before)
	}
	s.c.unwatch(gone)
	return nil
}

func without(texts, others []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return slices.Contains(others, t) })
}

// watch asks the server for resources that nobody has asked for yet. All of them
// are watched then, or none.
func (c *Client) watch(ctx context.Context, uris []string) error {
	if len(uris) == 0 {
		return nil
	}
	t := c.subscriptions.get()
	if err := take(ctx, t.turn); err != nil {
		return c.local(err, mcp.MethodResourcesSubscribe)
	}
	defer give(t.turn)
	for i, uri := range uris {
		if t.use(uri) > 1 {
			continue
		}
		// It is in the table while it is asked for: should the session be
		// lost at this moment, the next one asks for it too.
		cl := watchCall(mcp.MethodResourcesSubscribe, uri)
		if _, err := c.converse(ctx, &cl); err != nil {
			t.drop(uri)
			c.unwatch(uris[:i])
			return err
		}
	}
	return nil
}

func watchCall(method, uri string) call {
	return call{request: request{method: method}, open: jsonrpc.AppendString([]byte(`{"uri":`), uri)}
}

func (t *subscriptions) use(uri string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users[uri]++
	return t.users[uri]
}

// drop reports whether nobody uses the URI any more.
func (t *subscriptions) drop(uri string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users[uri]--; t.users[uri] > 0 {
		return false
	}
	delete(t.users, uri)
	return true
}

// unwatch takes back, behind the caller's back, what nobody else uses. Whatever
// the server says to it, nobody listens any more.
func (c *Client) unwatch(uris []string) {
	if len(uris) == 0 || c.live.Agreed().Era != mcp.EraSession {
		return
	}
	c.behind(func(ctx context.Context) {
		t := c.subscriptions.get()
		if take(ctx, t.turn) != nil {
			return // closed: the session ends with all of it
		}
		defer give(t.turn)
		for _, uri := range uris {
			if t.drop(uri) {
				c.unwatchNow(ctx, uri)
			}
		}
	})
}

func (c *Client) unwatchNow(ctx context.Context, uri string) {
	ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	cl := watchCall(mcp.MethodResourcesUnsubscribe, uri)
	_, _ = c.converse(ctx, &cl)
}

// fail ends a subscription that cannot be had any more, and says so.
func (s *Subscription) fail(reason error) {
	s.finish(reason)
	s.c.log.Warn("[MCP] a subscription has ended", "server", s.c.server, "error", reason)
	s.c.emit(SubscriptionEnded{Reason: reason})
}

// tell hands a notice of the session era to whoever asked for it. List notices
// come without being asked for (CHG-01).
func (t *subscriptions) tell(ch Change) {
	for _, s := range t.all() {
		if covers(s.Honored(), ch) {
			s.offer(ch)
		}
	}
}

// gap tells every subscription that it may have missed something.
func (t *subscriptions) gap() {
	for _, s := range t.all() {
		s.offer(Change{Gap: true})
	}
}

// covers reports whether a change is what a filter asks for.
func covers(f mcp.SubscriptionFilter, ch Change) bool {
	switch ch.Method {
	case mcp.MethodToolsListChanged:
		return f.ToolsListChanged
	case mcp.MethodPromptsListChanged:
		return f.PromptsListChanged
	case mcp.MethodResourcesListChanged:
		return f.ResourcesListChanged
	case mcp.MethodResourcesUpdated:
		return slices.ContainsFunc(f.ResourceSubscriptions, func(uri string) bool { return within(ch.URI, uri) })
	}
	return false
}

// within reports whether a URI is a resource or one below it (RES-04).
func within(uri, resource string) bool {
	rest, ok := strings.CutPrefix(uri, resource)
	return ok && (rest == "" || strings.HasSuffix(resource, "/") || strings.ContainsAny(rest[:1], "/?#"))
}
