package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// member is one server of a group.
type member struct {
	source
	group         *group
	tried         chan struct{}             // closed when the first attempt to connect has ended
	wake          chan struct{}             // a call wants the next attempt now
	lost          chan struct{}             // a list failed on its way
	notifications chan jsonrpc.Notification // for the server, in order

	mu       sync.Mutex
	up       *upstream     // nil while not connected
	err      error         // of the last attempt
	next     time.Time     // when the next one begins
	attempts int           // that have ended
	missed   bool          // a list was answered without this server
	changed  chan struct{} // closed when the server comes, goes or has other lists
	// shown are the answers that the host got from the cache since the server was not there, by
	// method.
	shown map[string]json.RawMessage

	cached  cached // what the server answered when it was there
	catalog catalog
}

const (
	minPause = time.Second // between attempts to connect
	maxPause = time.Minute
)

func newMember(g *group, from source) *member {
	m := &member{
		source: from, group: g, tried: make(chan struct{}), wake: make(chan struct{}, 1), lost: make(chan struct{}, 1),
		notifications: make(chan jsonrpc.Notification, maxNotifications), changed: make(chan struct{}),
	}
	m.remember(&m.cached)
	return m
}

// run connects to the server, again when that fails or the connection has ended for good, until
// the group ends.
func (m *member) run() {
	ctx := m.group.ctx
	for failures := 0; ctx.Err() == nil; failures++ {
		up := newUpstream(ctx, m.group.hostSide, m.source, m.group.work.Go)
		up.from, up.renewed, up.hasty = &m.source, m.renewed, true
		m.remember(&up.cached)
		err := up.connected(ctx)
		if err == nil {
			began := time.Now()
			m.join(up)
			err = m.keep(up)
			if time.Since(began) > maxPause {
				failures = 0
			}
		}
		up.close()
		m.leave(err, failures)
		m.pause(failures)
	}
}

// join makes up the server of the member, with the log level and the subscriptions that the host
// has set.
func (m *member) join(up *upstream) {
	g := m.group
	if g.version.Era() == mcp.EraSession {
		up.watchLists()
		g.mu.Lock()
		level := g.level
		var uris []string
		for uri, of := range g.subscribed {
			if of == m {
				uris = append(uris, uri)
			}
		}
		g.mu.Unlock()
		if level != nil {
			m.setLevel(g.ctx, up, level)
		}
		for _, uri := range uris {
			if _, err := up.subscribe(g.ctx, &request{version: g.version, uri: uri}); err != nil {
				m.warn("a subscription was lost", err)
			}
		}
	}
	m.attempted(up, nil, time.Time{})
	g.work.Go(func() { m.compare(up) })
}

// keep waits until the connection has ended for good.
func (m *member) keep(up *upstream) error {
	ended := up.client.Done()
	for lost := 0; ; lost++ {
		select {
		case <-ended:
			return errors.New("the connection has ended")
		case <-m.group.ctx.Done():
			return context.Cause(m.group.ctx)
		case <-m.lost:
		}
		for alive := false; !alive; lost++ {
			if m.pause(lost); m.group.ctx.Err() != nil {
				break
			}
			alive = up.client.Alive(m.group.ctx) == nil
		}
		m.announce()
	}
}

// leave notes why the server is not connected.
func (m *member) leave(err error, failures int) {
	if m.group.ctx.Err() == nil {
		m.warn("a server is not connected", err)
	}
	m.attempted(nil, err, time.Now().Add(pause(failures)))
}

func (m *member) warn(text string, err error) {
	m.group.host.log.Warn("[MCP] "+text, "server", m.Name, "error", err)
}

// attempted notes the end of an attempt to connect, or of a connection.
func (m *member) attempted(up *upstream, err error, next time.Time) {
	m.mu.Lock()
	m.up, m.err, m.next = up, err, next
	if m.attempts++; m.attempts == 1 {
		close(m.tried)
	}
	m.mu.Unlock()
	m.announce()
}

// announce wakes those that wait for a change. A host that has seen lists without the server
// gets a notification when it is there.
func (m *member) announce() {
	m.mu.Lock()
	missed := m.missed && m.up != nil
	m.missed = m.missed && !missed
	m.touch()
	m.mu.Unlock()
	if missed {
		m.group.changed()
	}
}

// renewed is called when the server has another process or session.
func (m *member) renewed() {
	m.mu.Lock()
	there := m.up != nil
	m.touch()
	m.mu.Unlock()
	if there {
		m.group.changed()
	}
}

// touch wakes those that wait for a change. Requires m.mu.
func (m *member) touch() {
	close(m.changed)
	m.changed = make(chan struct{})
}

func pause(failures int) time.Duration {
	return min(maxPause, minPause<<min(failures, 16))
}

// pause waits for the next attempt, until a call wants it or the group ends.
func (m *member) pause(failures int) {
	select { // the attempt that failed was the answer to it
	case <-m.wake:
	default:
	}
	timer := time.NewTimer(pause(failures))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.wake:
	case <-m.group.ctx.Done():
	}
}

// current returns the server if it is connected, else nil.
func (m *member) current() *upstream {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.up
}

// state returns the server, nil if it is not connected, and what is closed when it changes.
func (m *member) state() (up *upstream, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.up, m.changed
}

// listed returns the server for a list that the host gets, nil if it is missing there.
func (m *member) listed() *upstream {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.missed = m.missed || m.up == nil
	return m.up
}

// fail notes that a list of a connected server could not be had.
func (m *member) fail() {
	m.mu.Lock()
	m.missed = true
	m.mu.Unlock()
	select {
	case m.lost <- struct{}{}:
	default:
	}
}

// use returns the server for a call. If it is not connected, the attempt of now decides, or for a
// patient call the last one while it is worth waiting.
func (m *member) use(ctx context.Context, patient bool) (*upstream, error) {
	began := time.Now()
	for first := -1; ; {
		m.mu.Lock()
		up, changed, attempts, err := m.up, m.changed, m.attempts, m.unavailable()
		m.mu.Unlock()
		if first < 0 {
			first = attempts
		}
		switch {
		case up != nil:
			return up, nil
		case attempts > first && !patient:
			return nil, err
		case attempts > first:
			if time.Since(began)+maxRetry > away(mcp.MethodInitialize, err, false) || !sleep(ctx, maxRetry) {
				return nil, err
			}
			first = attempts
		}
		select {
		case m.wake <- struct{}{}:
		default:
		}
		select {
		case <-changed:
		case <-m.group.ctx.Done():
			return nil, err
		case <-ctx.Done():
			return nil, err
		}
	}
}

// unavailable returns the error of a call to a server that is not connected. Requires m.mu.
func (m *member) unavailable() error {
	text, kind := "the server is being connected to", mcperrors.KindTransport
	if m.err != nil {
		text, kind = "the server is not connected", mcperrors.KindOf(m.err)
	}
	e := mcperrors.New(mcperrors.CodeUnavailable, kind, mcperrors.NotSent, text, m.err)
	e.Server, e.Retryable = m.Name, true
	if wait := time.Until(m.next); m.err != nil && wait > 0 {
		e.RetryAfter = wait
	}
	return e
}

// setLevel sets the level of the server's log messages, if it has any.
func (m *member) setLevel(ctx context.Context, up *upstream, r *request) {
	if !up.client.HasCapability("logging") {
		return
	}
	if _, err := up.setLevel(ctx, r); err != nil {
		m.warn("the log level could not be set", err)
	}
}

// enqueue adds a notification for the server. If too many wait, the oldest is dropped.
func (m *member) enqueue(n jsonrpc.Notification) {
	for {
		select {
		case m.notifications <- n:
			return
		default:
		}
		select {
		case old := <-m.notifications:
			m.group.host.undelivered(old, fmt.Errorf("the server %s does not read: too many wait", m.Name))
		default:
		}
	}
}

// deliver passes notifications to the server. One that is not connected has missed nothing: it
// asks when it begins.
func (m *member) deliver() {
	for {
		select {
		case n := <-m.notifications:
			if up := m.current(); up != nil {
				up.notify(n)
			}
		case <-m.group.ctx.Done():
			return
		}
	}
}

// connectedFirst returns members with those first that are connected.
func connectedFirst(members []*member) []*member {
	sorted := slices.Clone(members)
	sort.SliceStable(sorted, func(i, j int) bool { return rank(sorted[i]) < rank(sorted[j]) })
	return sorted
}

func rank(m *member) int {
	if m.current() == nil {
		return 1
	}
	return 0
}

// remember lets what the server answers be kept, if it has an identity.
func (m *member) remember(c *cached) {
	if m.Identity == "" {
		return
	}
	if err := c.init(m.group.hostSide, m.Identity); err != nil {
		m.warn("the answers of the server cannot be kept", err)
	}
}

// opening returns the method with which a host of a revision asks for the description of a server.
func opening(v mcp.Version) string {
	if v.Era() == mcp.EraStateless {
		return mcp.MethodDiscover
	}
	return mcp.MethodInitialize
}

// early returns the answer of the server from the cache while it is not there, nil if there is
// none.
func (m *member) early(method string) json.RawMessage {
	if m.cached.store == nil || m.current() != nil {
		return nil
	}
	return m.cached.read(m.group.ctx)[method]
}

// listedEarly is early for a list that the host gets.
func (m *member) listedEarly(method string) json.RawMessage {
	raw := m.early(method)
	if raw == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.up != nil { // since then
		return nil
	}
	if m.shown == nil {
		m.shown = map[string]json.RawMessage{}
	}
	m.shown[method] = raw
	m.missed = m.missed || memberOf(raw, "nextCursor") != nil
	return raw
}

// compare keeps the description of a server that is there now, and compares what the host got from
// the cache with its answers.
func (m *member) compare(up *upstream) {
	if up.cached.store == nil {
		return
	}
	ctx := m.group.ctx
	up.refreshed(ctx, opening(m.group.version), nil)
	m.mu.Lock()
	shown := m.shown
	m.shown = nil
	m.mu.Unlock()
	changed := false
	for method, old := range shown {
		changed = up.refreshed(ctx, method, old) || changed
	}
	if changed {
		m.mu.Lock()
		m.missed = true
		m.mu.Unlock()
		m.announce()
	}
}
