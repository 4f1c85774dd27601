package pool

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
)

// member is one server of a pool. It has a goroutine while it connects and while it
// waits to connect again. One that is connected has none: its client reports its end.
type member struct {
	p        *Pool
	server   Server
	opts     []client.Option
	secrets  []string
	required bool
	client   atomic.Pointer[client.Client] // nil while not connected; the goroutine that removes it closes it
	wake     chan struct{}                 // a caller requests an attempt now

	// Of the goroutine:
	failures int       // in a row
	began    time.Time // when the last connection did

	// The rest is guarded by the pool's mutex.
	state    State
	since    time.Time
	err      error // of the last attempt, or how the connection ended
	attempts int   // finished ones
	next     time.Time
	closeErr error
}

const (
	// slotTime is how long a server may keep others from connecting.
	slotTime = 5 * time.Second
	// steady is how long a connection lasts before earlier failures are forgotten.
	steady = time.Minute
	// longestHint limits the Retry-After of a server.
	longestHint = 5 * time.Minute
)

// run tries to connect until it succeeds or the pool is closed.
func (m *member) run() {
	ctx := m.p.life
	for ctx.Err() == nil {
		m.transition(Connecting, nil, time.Time{})
		c, err := m.connect(ctx)
		if err == nil {
			m.keep(c)
			return
		}
		if ctx.Err() != nil || !m.pause(ctx, m.conceal(err), m.failures) {
			break
		}
		m.failures++
	}
	m.transition(Closed, nil, time.Time{})
}

// keep makes c the client of the server until c has ended.
func (m *member) keep(c *client.Client) {
	m.began = time.Now()
	m.client.Store(c)
	m.transition(Connected, nil, time.Time{})
	c.AfterDone(func() {
		outage, _ := c.Outage() // it is final
		m.replace(c, outage.Cause)
	})
	if m.p.life.Err() != nil { // Close may have run before
		m.close()
	}
}

// replace connects again instead of c, which has ended with cause. Without a cause, a
// caller requests an attempt now. Callers do not use it for failures that the client
// repairs, such as a program that exits or a lost session.
func (m *member) replace(c *client.Client, cause error) {
	m.p.begin(func() {
		if !m.client.CompareAndSwap(c, nil) {
			return // another goroutine does, or the pool is closed
		}
		closing := c.Close()
		if m.p.life.Err() != nil {
			m.closed(closing)
			return
		}
		if cause != nil {
			if time.Since(m.began) >= steady {
				m.failures = 0
			}
			if !m.pause(m.p.life, m.conceal(cause), m.failures) {
				m.transition(Closed, nil, time.Time{})
				return
			}
		}
		m.failures++
		m.run()
	})
}

// close closes the client for good, if there is one.
func (m *member) close() {
	if c := m.client.Swap(nil); c != nil {
		m.closed(c.Close())
	}
}

func (m *member) closed(err error) {
	m.p.mu.Lock()
	m.closeErr = err
	m.p.mu.Unlock()
	m.transition(Closed, nil, time.Time{})
}

// connect makes one attempt.
func (m *member) connect(ctx context.Context) (*client.Client, error) {
	if m.server.Err != nil {
		return nil, badOption(m.server.Err)
	}
	select {
	case m.p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var free atomic.Bool
	release := func() {
		if !free.Swap(true) {
			<-m.p.slots
		}
	}
	defer release()
	timer := time.AfterFunc(slotTime, release)
	defer timer.Stop()
	ctx, cancel := context.WithTimeout(ctx, m.p.cfg.connect)
	defer cancel()
	return client.Connect(ctx, m.server.Transport, m.opts...)
}

// pause reports the failure and waits for the next attempt, whether scheduled or
// asked for. It returns false when the pool is closed.
func (m *member) pause(ctx context.Context, err error, failures int) bool {
	select { // the attempt that failed was the answer to an earlier request
	case <-m.wake:
	default:
	}
	var turn <-chan time.Time
	var next time.Time
	if wait := m.p.cfg.wait(err, failures); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		turn, next = timer.C, time.Now().Add(wait)
	}
	m.transition(Failed, err, next)
	select {
	case <-ctx.Done():
		return false
	case <-turn:
	case <-m.wake:
	}
	return true
}

// wait returns the pause before the next attempt after failures in a row and one more.
// 0 means that only [Pool.Reconnect] starts one.
func (c *config) wait(err error, failures int) time.Duration {
	if c.min == 0 || mcperrors.KindOf(err) == mcperrors.KindInvalidArguments {
		return 0 // wrong options stay wrong
	}
	wait := c.max
	if mcperrors.Retryable(err) && failures < 40 {
		wait = min(c.max, c.min<<failures)
		if wait <= 0 {
			wait = c.max
		}
	}
	wait -= time.Duration(rand.Int64N(int64(wait)/2 + 1)) //nolint:gosec // jitter
	return max(wait, min(mcperrors.RetryAfter(err), longestHint), 1)
}

// transition moves the member to a state and reports it.
func (m *member) transition(state State, err error, next time.Time) {
	p := m.p
	p.mu.Lock()
	before := m.state
	m.state, m.next, m.since = state, next, time.Now()
	switch state {
	case Connected:
		m.err = nil
		m.attempts++
	case Failed:
		m.err = err
		if before == Connecting {
			m.attempts++
		}
	case Connecting, Closed: // keep the last reason
	}
	p.mu.Unlock()
	p.wakeWaiters()
	switch state {
	case Connected:
		p.cfg.logger.Info("[MCP] server connected", "server", m.server.Name)
	case Failed:
		p.cfg.logger.Warn("[MCP] server not connected", "server", m.server.Name, "error", err)
	case Connecting, Closed:
	}
	if state != Closed {
		p.emit(Event{Server: m.server.Name, State: state, Err: err})
	}
}

// wakeWaiters wakes all goroutines that wait for a change.
func (p *Pool) wakeWaiters() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}

// reconnect is [Pool.Reconnect].
func (m *member) reconnect(ctx context.Context) error {
	p := m.p
	for first := m.health().Attempts; ; {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		h := m.health()
		switch {
		case h.State == Connected:
			return nil
		case h.State == Closed:
			return closed()
		case h.State == Failed && h.Attempts > first:
			return h.LastError
		case m.client.Load() != nil:
			m.look()
		case h.State == Failed:
			select {
			case m.wake <- struct{}{}:
			default: // another caller has requested it
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errormap.From(context.Cause(ctx), mcperrors.NotSent)
		}
	}
}

// look connects again instead of a client that is not usable now. It keeps a client that
// has recovered meanwhile.
func (m *member) look() {
	switch c := m.client.Load(); {
	case c == nil:
	case c.State() == client.StateReady:
		m.p.wakeWaiters()
	default:
		m.replace(c, nil)
	}
}

// ready returns the client, or why there is none.
func (m *member) ready() (*client.Client, error) {
	if c := m.client.Load(); c != nil {
		return c, nil
	}
	return nil, m.unavailable()
}

// unavailable returns the error of a call to a server that is not connected. Calls do
// not wait for a connection, so a server that is down delays no call.
func (m *member) unavailable() error {
	h := m.health()
	text, again := "the server is not connected", !h.NextAttempt.IsZero() // from the pool's plans, not from the last error
	switch h.State {
	case Closed:
		return closed()
	case Connecting, Connected: // it connected meanwhile
		text, again = "the server is being connected to", true
	case Failed:
	}
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, text, h.LastError)
	e.Server, e.Retryable = m.server.Name, again
	if !h.NextAttempt.IsZero() {
		e.RetryAfter = max(time.Until(h.NextAttempt), 0)
	}
	return e
}

// failed returns the error of a call of the pool. If the client has given up its server,
// or was closed for that, the error describes what the pool does next.
func (m *member) failed(err error) error {
	var e *mcperrors.Error
	if errors.As(err, &e) && e.Delivery == mcperrors.NotSent {
		exited := !e.Retryable && e.Process != nil && e.Process.Exited
		if e.Kind == mcperrors.KindClosed || exited {
			return m.unavailable()
		}
	}
	return m.conceal(err)
}
