package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Times of opening sessions anew. Two tries are free: the server has restarted,
// or has restarted again. From the third on within a quiet time, tries are ever
// further apart.
const (
	renewTimeout = time.Minute
	freeRenewals = 2
	renewPause   = 250 * time.Millisecond
	maxPause     = 30 * time.Second
	quietTime    = time.Minute
)

// recovery opens a new session when the server does not know the old one any
// more: once for everybody who found that out (HTTP-16).
type recovery struct {
	now atomic.Pointer[renewal] // under way; nil nearly always

	mu      sync.Mutex
	began   time.Time // of the last try
	tries   int       // in a row, without a quiet time between them
	next    time.Time // not before
	reason  error     // of the last failure
	keeping atomic.Bool
}

// renewal is one try. err is set before done is closed.
type renewal struct {
	began time.Time
	done  chan struct{}
	err   error
}

// count notes a try that reached the network: the third in a row and later ones
// have the next wait. Requires v.mu.
func (v *recovery) count(r *renewal) {
	if r.began.Sub(v.began) > quietTime {
		v.tries = 0
	}
	v.began = r.began
	if v.tries++; v.tries > freeRenewals {
		v.next = r.began.Add(pause(renewPause, maxPause, v.tries-freeRenewals))
	}
}

// refusedHere reports whether a try ended before the network, because the circuit
// or its hold did not let it through: that says nothing about sessions.
func refusedHere(err error) bool {
	return mcperrors.KindOf(err) == mcperrors.KindCircuitOpen && mcperrors.DeliveryOf(err) == mcperrors.NotSent
}

// mendSession makes a new session for a call that was refused because the old
// one is gone: nil when the call is to be made again. It was not executed, so
// that is safe; a call whose fate is not known keeps its error (LC-17).
func (c *Client) mendSession(ctx context.Context, cl *call, err error) error {
	if mine, err := c.mendServer(ctx, cl, err); mine {
		return err
	}
	if mcperrors.KindOf(err) != mcperrors.KindSessionLost || cl.purpose == link.Handshake || cl.link == nil || cl.link.Agreed.Era != mcp.EraSession {
		return err
	}
	if !mcperrors.SafeToRetry(err) || cl.mended&mendedSession != 0 {
		c.noteLoss(cl.link, err)
		return laterAnew(err)
	}
	cl.mended |= mendedSession
	if cause := c.renew(ctx, cl.link); cause != nil {
		return c.about(cl.subject(), sessionless(ctx, cause, mcperrors.DeliveryOf(err)))
	}
	return nil
}

// laterAnew says that a later attempt may succeed where the call's fate is not
// known: a session is opened for it. Delivery warns of doing it twice.
func laterAnew(err error) error {
	var e *mcperrors.Error
	if errors.As(err, &e) && e.Delivery == mcperrors.Unknown {
		e.Retryable, e.SuggestedAction = true, "Try again"
	}
	return err
}

// noteLoss opens a new session for those who listen, after something that is not
// made again has found out that the old one is gone.
func (c *Client) noteLoss(with *link.Link, err error) {
	if outcome.FailureOf(err).Reason == transport.ReasonSession && c.needsStream() {
		c.keepRenewing(with)
	}
}

// sessionless is the error of a call that has no session to go to. It says what
// kept the client from opening one, and that the call itself did nothing.
func sessionless(ctx context.Context, cause error, delivery mcperrors.Delivery) *mcperrors.Error {
	e := *mcperrors.From(cause, delivery)
	e.Delivery = delivery
	switch e.Kind {
	case mcperrors.KindCanceled, mcperrors.KindClosed, mcperrors.KindOverloaded, mcperrors.KindCircuitOpen:
		return &e // it was given up, or is not tried yet
	default:
		if ctx.Err() != nil {
			return &e
		}
	}
	lost := mcperrors.New(mcperrors.E501, mcperrors.KindSessionLost, delivery,
		"the session was lost and no new one could be opened: "+e.Message, cause)
	lost.Retryable, lost.RetryAfter, lost.SuggestedAction = e.Retryable, e.RetryAfter, e.SuggestedAction
	lost.HTTP, lost.Process = e.HTTP, e.Process
	return lost
}

// awaitSession holds a call back while a program is being started again or a new
// session is being opened: nothing goes before its handshake (LC-08).
func (c *Client) awaitSession(ctx context.Context, cl *call) error {
	if !c.interrupted() {
		return nil
	}
	cl.waited = true
	ctx, cancel := c.inTime(ctx, cl)
	defer cancel()
	if err := c.awaitServer(ctx, cl); err != nil {
		return err
	}
	v := c.recovery.peek()
	if v == nil {
		return nil
	}
	r := v.now.Load()
	if r == nil {
		return nil
	}
	if err := r.wait(ctx); err != nil {
		return c.about(cl.subject(), sessionless(ctx, err, mcperrors.NotSent))
	}
	return nil
}

// interrupted reports whether there is no program or no session at the moment.
func (c *Client) interrupted() bool {
	if s := c.sup.peek(); s != nil && s.down.Load() != nil {
		return true
	}
	v := c.recovery.peek()
	return v != nil && v.now.Load() != nil
}

func (r *renewal) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return mcperrors.From(context.Cause(ctx), mcperrors.NotSent)
	}
}

// renew opens a session in the place of the one that lost was made with, unless
// somebody has already, and joins whoever is at it.
func (c *Client) renew(ctx context.Context, lost *link.Link) error {
	r, err := c.joinRenewal(lost)
	if r == nil {
		return err
	}
	return r.wait(ctx)
}

func (c *Client) joinRenewal(lost *link.Link) (*renewal, error) {
	v := c.recovery.get()
	v.mu.Lock()
	defer v.mu.Unlock()
	if r := v.now.Load(); r != nil {
		return r, nil
	}
	if c.live.Load() != lost {
		return nil, nil
	}
	if left := c.heldFor(); left > 0 { // an initialize is a request, too
		return nil, leftAlone(left)
	}
	r := &renewal{began: time.Now(), done: make(chan struct{})}
	if wait := v.next.Sub(r.began); wait > 0 {
		e := mcperrors.New(mcperrors.E501, mcperrors.KindSessionLost, mcperrors.NotSent,
			"sessions are lost too often; the next is not opened yet", v.reason)
		e.Retryable, e.RetryAfter = true, wait
		return nil, e
	}
	v.now.Store(r)
	if !c.within(func() { c.openAnew(r) }) {
		v.now.Store(nil)
		return nil, errClosed()
	}
	return r, nil
}

// openAnew is the try itself. It belongs to nobody who waits for it: one who
// gives up does not end it for the others.
func (c *Client) openAnew(r *renewal) {
	ctx, cancel := context.WithTimeout(c.life, renewTimeout)
	defer cancel()
	before := c.live.Load()
	c.enter(StateRestarting, errSessionGone, 0)
	if d := c.asks.peek(); d != nil {
		d.LinkEnded()
	}
	r.err = c.openSession(ctx, before.Agreed.Version)
	if r.err == nil {
		c.forgetAll()
	} else {
		c.dropSession(before)
	}
	if r.err != nil && c.isClosed() {
		r.err = errClosed()
	}
	v := c.recovery.get()
	v.mu.Lock()
	if !refusedHere(r.err) {
		v.reason = r.err
		v.count(r)
	}
	held := max(0, time.Until(v.next), mcperrors.RetryAfter(r.err))
	v.now.Store(nil)
	if r.err == nil { // in order with the next try, which needs the lock
		c.enter(StateReady, nil, 0)
	} else {
		c.enter(StateHeld, r.err, held)
	}
	v.mu.Unlock()
	close(r.done)
	if r.err != nil {
		c.log.Warn("[MCP] the session was lost and no new one could be opened", "server", c.server, "error", r.err)
		if c.needsStream() {
			c.keepRenewing(c.live.Load())
		}
		return
	}
	agreed := c.live.Agreed()
	c.log.Info("[MCP] The session was lost; a new one is open", "server", c.server)
	c.emit(Reinitialized{Server: agreed.Server(), Version: agreed.Version})
	c.restore(c.life)
}

// dropSession gives up a session whose handshake has failed half-way, and what
// was agreed in it: nothing may be sent there, and who lost the one before has
// none yet (LC-04, LC-07).
func (c *Client) dropSession(before *link.Link) {
	if s, ok := before.Conn.(transport.Sessions); ok {
		s.DropSession()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live.Store(before)
}

// restoreTime is how long a new session may take with what it is given before
// those who listen are told that they may have missed something.
const restoreTime = 2 * time.Second

// restore gives a new session what the old one had (LC-17). Where that takes long
// it goes on beside, and those who listen are told again when it is done.
func (c *Client) restore(ctx context.Context) {
	now := c.live.Load()
	done := make(chan struct{})
	if !c.within(func() {
		defer close(done)
		if !c.levelRestored(ctx, now) {
			c.within(func() { c.keepLevel(ctx, now) })
		}
		c.subscriptions.get().resubscribe(ctx, c)
	}) {
		return
	}
	wait(ctx, done, restoreTime)
	c.openStream()
	c.missed(errNewSession)
	select {
	case <-done:
	default:
		c.within(func() {
			if <-done; c.live.Load() == now {
				c.missed(errWatchedLate)
			}
		})
	}
}

var (
	errSessionGone = errors.New("the server does not know the session any more")
	errNewSession  = errors.New("the server lost the session; a new one was opened")
	errWatchedLate = errors.New("a new session could not be told of resources to watch at once")
)

// onSessionLost is told by the transport that the server does not know the
// session any more. It is called on the goroutine that reads.
func (c *Client) onSessionLost() { c.keepRenewing(c.live.Load()) }

// keepRenewing opens a session for those who listen and make no calls: it goes
// on until there is one. Where it is known when the next try may be made, it waits
// for that, but looks again now and then: a circuit may close early.
func (c *Client) keepRenewing(lost *link.Link) {
	keeping := &c.recovery.get().keeping
	if !keeping.CompareAndSwap(false, true) {
		return
	}
	started := c.within(func() {
		defer keeping.Store(false)
		for n := 1; ; {
			err := c.renew(c.life, lost)
			if err == nil {
				return
			}
			wait := min(mcperrors.RetryAfter(err), maxPause)
			if wait > 0 {
				wait += pause(renewPause, renewPause, 1) // not all at once
			} else {
				wait = pause(renewPause, maxPause, n)
				n++
			}
			if !sleep(c.life, wait) {
				return
			}
		}
	})
	if !started {
		keeping.Store(false)
	}
}
