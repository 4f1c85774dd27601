package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// poolMember is one server of a pool, and the goroutine that keeps it connected.
type poolMember struct {
	p        *Pool
	spec     ServerSpec
	opts     []Option
	secrets  []string
	required bool
	client   atomic.Pointer[Client] // nil while not connected
	wake     chan struct{}          // a try is wanted now

	// The rest is guarded by the pool's mutex.
	state    ServerState
	since    time.Time
	err      error // of the last try, or how the connection ended
	attempts int   // that are over
	next     time.Time
	closeErr error
}

const (
	// slotTime is how long a server may keep others from being connected to.
	slotTime = 5 * time.Second
	// steady is how long a connection lasts that says that all is well again.
	steady = time.Minute
	// longestHint bounds how long a server can put us off.
	longestHint = 5 * time.Minute
)

// run connects, stays until the connection is lost, and begins anew, until the
// pool is closed.
func (m *poolMember) run() {
	ctx := m.p.life
	defer func() { m.enter(ServerClosed, nil, time.Time{}) }()
	for failures := 0; ctx.Err() == nil; failures++ {
		m.enter(ServerConnecting, nil, time.Time{})
		err := m.spec.Err
		if err != nil {
			err = badOption(err)
		} else {
			var c *Client
			if c, err = m.connect(ctx); err == nil {
				began := time.Now()
				m.client.Store(c)
				m.enter(ServerConnected, nil, time.Time{})
				err = m.stay(ctx, c)
				m.client.Store(nil)
				closing := c.Close()
				if ctx.Err() != nil {
					m.p.mu.Lock()
					m.closeErr = closing
					m.p.mu.Unlock()
					return
				}
				if err == nil { // it is wanted now
					continue
				}
				if time.Since(began) >= steady {
					failures = 0
				}
			}
		}
		if ctx.Err() != nil || !m.pause(ctx, m.conceal(err), failures) {
			return
		}
	}
}

// connect is one try.
func (m *poolMember) connect(ctx context.Context) (*Client, error) {
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
	return Connect(ctx, m.spec.Transport, m.opts...)
}

// stay returns how the connection ended for good, nil when the pool was closed or
// the server is wanted anew. What the client mends by itself, such as a program
// that ends or a session that is lost, is no end.
func (m *poolMember) stay(ctx context.Context, c *Client) error {
	l, k := c.live.Load(), c.restarting()
	var ended <-chan struct{} // never, where messages have exchanges of their own
	switch {
	case k != nil:
		ended = k.Done()
	case !l.Traits.Exchanges:
		ended = l.Conn.Done()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ended:
			if k != nil {
				if cause, _, _ := k.Outage(); cause != nil {
					return cause
				}
			}
			// As while connecting: what has ended for this client is begun anew.
			f := c.live.Load().Ended()
			return c.about(subject{}, outcome.ErrorOf(f))
		case <-m.wake:
			if c.State() != StateReady {
				return nil
			}
			m.p.wakeWaiters() // it has come back by itself
		}
	}
}

// pause says that the server is away and waits for its next turn. It reports
// whether there is one.
func (m *poolMember) pause(ctx context.Context, err error, failures int) bool {
	select { // a wish from before is granted already
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
	m.enter(ServerFailed, err, next)
	select {
	case <-ctx.Done():
		return false
	case <-turn:
	case <-m.wake:
	}
	return true
}

// wait is how long a server is left alone after so many failures in a row and one
// more, 0 for until somebody asks.
func (c *poolConfig) wait(err error, failures int) time.Duration {
	if c.first == 0 || mcperrors.KindOf(err) == mcperrors.KindInvalidArguments {
		return 0 // wrong options do not get better
	}
	wait := c.most
	if mcperrors.Retryable(err) && failures < 40 {
		wait = min(c.most, c.first<<failures)
		if wait <= 0 {
			wait = c.most
		}
	}
	wait -= time.Duration(rand.Int64N(int64(wait)/2 + 1)) //nolint:gosec // jitter
	return max(wait, min(mcperrors.RetryAfter(err), longestHint), 1)
}

// enter moves the member to a state and tells.
func (m *poolMember) enter(state ServerState, err error, next time.Time) {
	p := m.p
	p.mu.Lock()
	before := m.state
	m.state, m.next, m.since = state, next, time.Now()
	switch state {
	case ServerConnected:
		m.err = nil
		m.attempts++
	case ServerFailed:
		m.err = err
		if before == ServerConnecting {
			m.attempts++
		}
	case ServerConnecting, ServerClosed: // the reason of before stands
	}
	p.mu.Unlock()
	p.wakeWaiters()
	switch state {
	case ServerConnected:
		p.cfg.logger.Info("[MCP] server connected", "server", m.spec.Name)
	case ServerFailed:
		p.cfg.logger.Warn("[MCP] server not connected", "server", m.spec.Name, "error", err)
	case ServerConnecting, ServerClosed:
	}
	if state != ServerClosed {
		p.tell(PoolEvent{Server: m.spec.Name, State: state, Err: err})
	}
}

// wakeWaiters lets those who wait for a change look again.
func (p *Pool) wakeWaiters() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
}

// reconnect is [Pool.Reconnect].
func (m *poolMember) reconnect(ctx context.Context) error {
	p := m.p
	for first := m.health().Attempts; ; {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		h := m.health()
		switch {
		case h.State == ServerConnected:
			return nil
		case h.State == ServerClosed:
			return poolClosed()
		case h.State == ServerFailed && h.Attempts > first:
			return h.LastError
		case h.State == ServerFailed, m.client.Load() != nil:
			select {
			case m.wake <- struct{}{}:
			default: // somebody has asked already
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return mcperrors.From(context.Cause(ctx), mcperrors.NotSent)
		}
	}
}

// ready returns the client, or why there is none.
func (m *poolMember) ready() (*Client, error) {
	if c := m.client.Load(); c != nil {
		return c, nil
	}
	return nil, m.away()
}

// away is the error of a call to a server that is not connected. Nothing waits
// for it: that is what keeps a dead server from delaying others.
func (m *poolMember) away() error {
	h := m.health()
	text, again := "the server is not connected", !h.NextAttempt.IsZero() // what the pool does, not what its last try said
	switch h.State {
	case ServerClosed:
		return poolClosed()
	case ServerConnecting, ServerConnected: // it has come just now
		text, again = "the server is being connected to", true
	case ServerFailed:
	}
	e := mcperrors.New(mcperrors.E201, mcperrors.KindTransport, mcperrors.NotSent, text, h.LastError)
	e.Server, e.Retryable = m.spec.Name, again
	if !h.NextAttempt.IsZero() {
		e.RetryAfter = max(time.Until(h.NextAttempt), 0)
	}
	return e
}

// conceal takes the server's secrets out of an error: a program may print its key
// before it ends, and a server may repeat a header.
func (m *poolMember) conceal(err error) error {
	if err == nil || len(m.secrets) == 0 {
		return err
	}
	e := *mcperrors.From(err, mcperrors.Unknown)
	e.Message, e.UserMessage = m.hide(e.Message), m.hide(e.UserMessage)
	if e.Cause != nil {
		e.Cause = &concealed{text: m.hide(e.Cause.Error()), err: e.Cause}
	}
	if e.RPC != nil {
		rpc := *e.RPC
		rpc.Message, rpc.Data = m.hide(rpc.Message), []byte(m.hide(string(rpc.Data)))
		e.RPC = &rpc
	}
	if e.HTTP != nil {
		web := *e.HTTP
		web.URL, web.Body = m.hide(web.URL), m.hide(web.Body)
		e.HTTP = &web
	}
	if e.Process != nil {
		process := *e.Process
		process.Command, process.Stderr = m.hideAll(process.Command), m.hideAll(process.Stderr)
		e.Process = &process
	}
	return &e
}

func (m *poolMember) hide(text string) string {
	for _, secret := range m.secrets {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	return text
}

func (m *poolMember) hideAll(texts []string) []string {
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i] = m.hide(texts[i])
	}
	return texts
}

// concealed is a cause whose text is not its own. It matches what the cause
// matches.
type concealed struct {
	text string
	err  error
}

func (c *concealed) Error() string { return c.text }

// Is implements the matching of [errors.Is].
func (c *concealed) Is(target error) bool { return errors.Is(c.err, target) }

// As implements the matching of [errors.As].
func (c *concealed) As(target any) bool { return errors.As(c.err, target) }
