package fleetredis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

const (
	// lookInterval is how often the breakers are checked. A check needs a few atomic
	// loads for each, and no lock.
	lookInterval = 100 * time.Millisecond
	// presenceInterval is how often a node reports its presence and reads Redis, in
	// case it missed a message. presenceLasts is how long the node counts after that.
	presenceInterval = 10 * time.Second
	presenceLasts    = 30 * time.Second
	// logInterval bounds the log; logFlush is how long Close waits for its handler.
	logInterval = time.Minute
	logFlush    = time.Second
	// redisCooldown is the pause after three failed exchanges with Redis in a row.
	redisCooldown = 5 * time.Second
	// queued limits the hints that wait to be processed.
	queued = 1024
)

// Fleet connects this process to the other nodes. Use [Join] to make one. It is
// safe for concurrent use.
type Fleet struct {
	set   Settings
	hub   hub
	sign  signer
	guard *breaker.Breaker // of Redis
	count counters
	// logged has the keys of messages that are logged once: reasons to refuse hints, and
	// functions of the application that panicked.
	logged sync.Map
	end    context.CancelFunc
	work   sync.WaitGroup
	heard  chan string
	again  chan struct{} // messages come (again): read what was missed

	mu       sync.Mutex
	members  map[*member]struct{}
	closed   bool
	closeErr error
	once     sync.Once
}

// member is a breaker that is attached.
type member struct {
	view *view
	b    *breaker.Breaker
	gate Gate // nil for the breaker's
}

// Join makes this process a node of a fleet. It does not connect to Redis
// before it returns: its error is about settings only. The node leaves the
// fleet when ctx ends or at [Fleet.Close].
func Join(ctx context.Context, s Settings) (*Fleet, error) {
	s, err := s.complete()
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	return start(ctx, end, s, openServer(ctx, s)), nil
}

func start(ctx context.Context, end context.CancelFunc, s Settings, h hub) *Fleet {
	f := &Fleet{
		set: s, hub: h, end: end, sign: signer{keys: s.SigningKeys, prefix: s.Prefix},
		guard:   breaker.New(breaker.Settings{Name: "redis", FailureThreshold: 3, Cooldown: redisCooldown}),
		heard:   make(chan string, queued),
		again:   make(chan struct{}, 1),
		members: map[*member]struct{}{},
	}
	f.work.Go(func() { f.run(ctx) })
	f.work.Go(func() { f.listen(ctx) })
	return f
}

// Share sets what a breaker shares with other nodes.
type Share struct {
	// Server is the name of the server. All processes must use the same name for
	// the same server. Only its digest leaves the process.
	Server string
	// Credential is a name of the credentials in use. Processes with the same name
	// share the rate limits of the server (429). It is empty to share none. Only
	// its digest leaves the process.
	Credential string
	// Gate receives the throttles of the credential; pass the client here. nil
	// uses the throttle of the breaker.
	Gate Gate
}

// Gate holds calls back for a time. A Client of package client implements it.
// Both methods must return at once. A method that panics has no effect; the
// panic is logged once.
type Gate interface {
	// ThrottledFor returns how long calls are still held back, 0 if they are not.
	ThrottledFor() time.Duration
	// Throttle holds calls back for d, or for longer if they already are.
	Throttle(d time.Duration)
}

// Attach connects a breaker, such as that of [client.Client.Breaker], to the
// fleet. The node reports the failures of the breaker to the other nodes. Their
// reports make the breaker suspicious, open it, or let it leave the probe to
// another node. The breaker still decides and never waits. detach ends the
// connection; it may be called more than once.
//
// [client.Client.Breaker]:
// https://pkg.go.dev/github.com/mainstay-mcp/mainstay/client#Client.Breaker
func (f *Fleet) Attach(b *breaker.Breaker, s Share) (detach func(), err error) {
	if b == nil || s.Server == "" {
		return nil, errors.New("fleetredis: Attach needs a breaker and the name of its server")
	}
	cred := ""
	if s.Credential != "" {
		cred = digest(s.Credential)
	}
	m := &member{view: newView(f.set.Node, digest(s.Server), cred), b: b}
	if s.Gate != nil {
		m.gate = guardedGate{s.Gate, f}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errors.New("fleetredis: the fleet was left")
	}
	f.members[m] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.members, m)
	}, nil
}

// Close leaves the fleet. It waits up to a second for its goroutines and
// connections. It takes back the reports of this node if Redis answers within
// [Settings.Timeout]; otherwise they expire. It may be called more than once.
func (f *Fleet) Close() error {
	f.once.Do(func() {
		f.mu.Lock()
		f.closed = true
		f.mu.Unlock()
		f.end()
		f.work.Wait()
		f.closeErr = f.hub.close()
		callback.Flush(f.set.Logger, logFlush)
	})
	return f.closeErr
}

// all returns the current members.
func (f *Fleet) all() []*member {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]*member, 0, len(f.members))
	for m := range f.members {
		all = append(all, m)
	}
	return all
}

// run is the one goroutine that steps the views.
func (f *Fleet) run(ctx context.Context) {
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	l := loop{f: f, newest: map[string]int64{}}
	for {
		select {
		case <-ctx.Done():
			l.leave(context.WithoutCancel(ctx))
			return
		case raw := <-f.heard:
			l.hear(raw)
		case <-f.again:
			// All nodes notice at the same time that Redis is back, so spread their
			// requests over a second.
			l.due = time.Now().Add(rand.N(time.Second))
		case now := <-look.C:
			l.step(ctx, now)
		}
	}
}

// loop is the state that only the goroutine of run uses.
type loop struct {
	f      *Fleet
	due    time.Time // of the next presence
	away   bool
	logged time.Time
	sent   int64            // time of the hint that was signed last
	newest map[string]int64 // the same of other nodes
}

// leave withdraws the reports of this node, in one exchange, if Redis is available:
// reports of a process that was started again would count as those of many.
func (l *loop) leave(ctx context.Context) {
	f := l.f
	var orders []order
	for _, m := range f.all() {
		orders = append(orders, m.view.gone(time.Now())...)
	}
	if f.count.available.Load() {
		l.encode(orders)
		_, _ = f.ask(ctx, append(orders, order{kind: orderAbsent, hint: hint{node: f.set.Node}})) // it expires too
	}
}

func (l *loop) hear(raw string) {
	f := l.f
	h, err := f.sign.hint(time.Now(), raw)
	if err == nil && h.node == f.set.Node {
		return
	}
	if err == nil {
		err = l.first(h)
	}
	if err != nil {
		f.refuse(err)
		return
	}
	f.count.heard.Add(1)
	for _, m := range f.all() {
		if m.view.server == h.server {
			l.follow(m, m.view.hear(time.Now(), m.look(), h))
		}
	}
}

// first returns an error for a signed hint that was received before. The times of a
// node's hints only grow.
func (l *loop) first(h hint) error {
	if len(l.f.sign.keys) == 0 {
		return nil
	}
	if h.sent <= l.newest[h.node] {
		return errRepeated
	}
	l.newest[h.node] = h.sent
	return nil
}

// forget removes the times of nodes whose hints are all so old that they would be refused
// for their age.
func (l *loop) forget(now time.Time) {
	for node, sent := range l.newest {
		if _, err := lifeLeft(now, sent, maxHint+2*maxSkew); err != nil {
			delete(l.newest, node)
		}
	}
}

// encode writes and signs the hints of orders.
func (l *loop) encode(orders []order) {
	for i, o := range orders {
		if o.hint.kind == "" {
			continue // a question
		}
		if len(l.f.sign.keys) > 0 {
			l.sent = max(l.sent+1, time.Now().UnixMicro())
			o.hint.sent = l.sent
		}
		orders[i].raw = l.f.sign.sign(aHint, o.hint.encode())
	}
}

// leaseLeft returns how long another node has the lease. Data that is not a lease of the
// fleet does not prevent a probe.
func (l *loop) leaseLeft(o order, r reply) time.Duration {
	_, raw, _ := strings.Cut(r.raw, " ")
	h, err := l.f.sign.hint(time.Now(), raw)
	if err == nil && (h.kind != kindProbing || h.server != o.hint.server) {
		err = errHint
	}
	if err != nil {
		l.f.refuse(err)
		return 0
	}
	return min(r.left, h.lasts)
}

// step checks every breaker, and sends all resulting orders in one exchange.
func (l *loop) step(ctx context.Context, now time.Time) {
	f := l.f
	var orders []order
	var whose []*member
	for _, m := range f.all() {
		todo, a := m.view.step(now, m.look(), int(f.count.nodes.Load()))
		l.follow(m, a)
		for _, o := range todo {
			orders, whose = append(orders, o), append(whose, m)
		}
	}
	present := !now.Before(l.due)
	if present {
		orders = append(orders, order{kind: orderPresent, hint: hint{node: f.set.Node}})
	}
	if len(orders) == 0 {
		return
	}
	replies, err := l.exchange(ctx, orders)
	if err != nil {
		return
	}
	for i, r := range replies[:len(whose)] {
		m := whose[i]
		if r.err != nil {
			f.count.ignored.Add(1)
			continue
		}
		if orders[i].kind == orderLease && r.left > 0 {
			r.left = l.leaseLeft(orders[i], r)
		}
		f.count.did(orders[i].kind, r)
		l.follow(m, m.view.answered(time.Now(), m.look(), orders[i], r.left))
	}
	if !present {
		return
	}
	l.due = now.Add(presenceInterval - rand.N(presenceInterval/10))
	l.forget(now)
	if r := replies[len(replies)-1]; r.err == nil {
		f.count.nodes.Store(int64(r.count))
	} else {
		f.count.ignored.Add(1)
	}
	l.resync(ctx)
}

// resync reads the data of every server from Redis.
func (l *loop) resync(ctx context.Context) {
	f := l.f
	all := f.all()
	var orders []order
	for _, m := range all {
		orders = append(orders, order{kind: orderReporters, hint: hint{server: m.view.server}})
	}
	if len(orders) == 0 {
		return
	}
	who, err := l.exchange(ctx, orders)
	if err != nil {
		return
	}
	orders = orders[:0]
	ends := make([]int, len(all)) // of each member's orders
	for i, m := range all {
		for _, node := range who[i].nodes {
			if isName(node) {
				orders = append(orders, order{kind: orderReport, hint: hint{server: m.view.server, node: node}})
			}
		}
		if m.view.cred != "" {
			orders = append(orders, order{kind: orderHeld, hint: hint{server: m.view.server, cred: m.view.cred}})
		}
		ends[i] = len(orders)
	}
	var replies []reply
	if len(orders) > 0 {
		if replies, err = l.exchange(ctx, orders); err != nil {
			return
		}
	}
	begin := 0
	for i, m := range all {
		if who[i].err != nil {
			f.count.ignored.Add(1)
		}
		l.catchUp(m, orders[begin:ends[i]], replies[begin:ends[i]])
		begin = ends[i]
	}
}

// catchUp passes the data of Redis to a view.
func (l *loop) catchUp(m *member, orders []order, replies []reply) {
	f, now := l.f, time.Now()
	var found []hint
	mine := false
	for i, r := range replies {
		if r.err == nil && r.raw == "" {
			continue // none, or it has expired meanwhile
		}
		asked := orders[i].hint
		h, err := f.sign.hint(now, r.raw)
		h.lasts = min(r.left, h.lasts)
		switch {
		case r.err == nil && err != nil:
			f.refuse(err)
		case r.err != nil, h.server != asked.server, h.lasts <= 0:
			f.count.ignored.Add(1)
		case orders[i].kind == orderHeld && h.kind == kindHold && h.cred == asked.cred:
			l.follow(m, m.view.holdFor(now, h.lasts))
		case orders[i].kind == orderReport && h.kind == kindOpen && h.node == asked.node:
			mine = mine || h.node == f.set.Node
			found = append(found, h)
		default: // somebody else's
			f.count.ignored.Add(1)
		}
	}
	m.view.resync(now, found, mine)
}

// exchange sends orders to the hub, and records whether the hub is available.
func (l *loop) exchange(ctx context.Context, orders []order) ([]reply, error) {
	l.encode(orders)
	replies, err := l.f.ask(ctx, orders)
	if !errors.Is(err, breaker.ErrOpen) {
		l.note(err)
	}
	return replies, err
}

// ask sends orders to the hub, within the timeout and through the breaker of Redis.
func (f *Fleet) ask(ctx context.Context, orders []order) ([]reply, error) {
	permit, err := f.guard.Acquire()
	if err != nil {
		return nil, err
	}
	defer permit.Release()
	ctx, cancel := context.WithTimeout(ctx, f.set.Timeout)
	defer cancel()
	replies, err := f.hub.exchange(ctx, orders)
	if err == nil && len(replies) != len(orders) {
		err = fmt.Errorf("%d replies to %d orders", len(replies), len(orders))
	}
	if err != nil {
		f.count.failed.Add(1)
		permit.Settle(breaker.Failure)
		return nil, err
	}
	permit.Settle(breaker.Success)
	return replies, nil
}

// note records whether Redis is available, and logs changes.
func (l *loop) note(err error) {
	f := l.f
	f.count.available.Store(err == nil)
	away := err != nil
	if away == l.away {
		return
	}
	// A change that comes too soon after the last line is logged by a later exchange,
	// if it still applies.
	if now := time.Now(); l.logged.IsZero() || now.Sub(l.logged) >= logInterval {
		l.away, l.logged = away, now
		if away {
			f.set.Logger.Warn("fleet: Redis is away; this node decides alone", slog.String("error", err.Error()))
		} else {
			f.set.Logger.Info("fleet: Redis is back")
		}
	}
}

// listen receives the hints of other nodes until the fleet ends.
func (f *Fleet) listen(ctx context.Context) {
	const first, last = time.Second, 30 * time.Second
	wait := first
	for ctx.Err() == nil {
		_ = f.hub.listen(ctx, func() { // why it ended shows in exchange too
			wait = first
			select {
			case f.again <- struct{}{}:
			default:
			}
		}, func(raw string) {
			select {
			case f.heard <- raw:
			default: // read from Redis within presenceInterval
				f.count.dropped.Add(1)
			}
		})
		pause := time.NewTimer(wait/2 + rand.N(wait/2))
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
		wait = min(2*wait, last)
	}
}
