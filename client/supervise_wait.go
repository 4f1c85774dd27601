package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// outage is a time without a program. It never changes: something else is
// another outage, or none.
type outage struct {
	cause error
	until time.Time // of a hold: nobody waits for its end. Zero when there is none.
	final bool      // nothing will come
	// untold: the client has not entered the state yet, so nobody is refused.
	untold bool
	over   chan struct{}
	verb   string // what is done again
}

// become puts o, or nil for a program that works, in place of what was.
func (s *supervisor) become(o *outage) {
	if o != nil {
		o.over, o.verb = make(chan struct{}), s.verb()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.down.Swap(o); before != nil {
		close(before.over)
	}
}

// fell notes that a program has ended, unless that is known or another runs by
// now. Whoever finds out first does it.
func (s *supervisor) fell(c *Client, l *link.Link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down.Load() == nil && c.live.Load().Number == l.Number {
		s.down.Store(&outage{over: make(chan struct{})})
	}
}

// awaitServer holds a call back while the program is being started again: nil
// when it may go. What waits was not sent.
func (c *Client) awaitServer(ctx context.Context, cl *call) error {
	s := c.sup.peek()
	if s == nil || s.down.Load() == nil {
		return nil
	}
	bound := orElse(s.set.CallWait, defaultCallWait)
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for o := s.down.Load(); o != nil; o = s.down.Load() {
		if e := o.refusal(); e != nil {
			return c.about(cl.subject(), e)
		}
		select {
		case <-o.over:
		case <-timer.C:
			return c.about(cl.subject(), mcperrors.New(mcperrors.E201, mcperrors.KindTransport, mcperrors.NotSent,
				fmt.Sprintf("the server is being %s again and was not ready within %s", s.verb(), bound), o.cause))
		case <-ctx.Done():
			return c.about(cl.subject(), mcperrors.From(context.Cause(ctx), mcperrors.NotSent))
		case <-c.life.Done():
			return c.about(cl.subject(), errClosed())
		}
	}
	return nil
}

// awaitProgram waits, however long it takes, for what listens and has all the
// time there is. It reports whether there was anything to wait for.
func (c *Client) awaitProgram(ctx context.Context) bool {
	s := c.sup.peek()
	if s == nil {
		return false
	}
	waited := false
	for o := s.down.Load(); o != nil && !o.final; o = s.down.Load() {
		waited = true
		select {
		case <-o.over:
		case <-ctx.Done():
			return true
		}
	}
	return waited
}

// refusal is the error of a call for which there will be no program soon, nil
// when waiting makes sense.
func (o *outage) refusal() *mcperrors.Error {
	rest := time.Until(o.until)
	if o.untold || !o.final && rest <= 0 {
		return nil
	}
	e := mcperrors.New(mcperrors.E201, mcperrors.KindTransport, mcperrors.NotSent, "", o.cause)
	var cause *mcperrors.Error
	if errors.As(o.cause, &cause) {
		e.Process, e.Message, e.Cause = cause.Process, cause.Message, cause.Cause // one line, each thing once
	}
	if o.final {
		outcome.Ended(e)
		if cause != nil {
			e.Message = "the server has ended and cannot be " + o.verb + " again: " + cause.Message
		}
		return e
	}
	e.Message = fmt.Sprintf("the server ends again and again; it is %s again in %s: %s", o.verb, rest.Round(time.Second), e.Message)
	e.RetryAfter = rest
	return e
}

// brokenGrace is how long a program that does not take requests any more may
// still answer earlier ones (fault E9).
const brokenGrace = 2 * time.Second

// mendServer waits for the next program on behalf of a call that did not get to
// the last one: nil when it is to be made again. That is safe, for it was not
// sent. mine is false when the call's error is about something else.
func (c *Client) mendServer(ctx context.Context, cl *call, err error) (mine bool, _ error) {
	s := c.sup.peek()
	var f *transport.Failure // an error without one is of this side, and no news of the program
	if s == nil || cl.purpose.Opens() || cl.link == nil || !errors.As(err, &f) ||
		mcperrors.DeliveryOf(err) != mcperrors.NotSent || f.Reason != transport.ReasonLost {
		return false, err
	}
	conn := cl.link.Conn
	wait(ctx, conn.Done(), brokenGrace)
	select {
	case <-conn.Done():
		s.fell(c, cl.link)
	default:
		if ctx.Err() != nil {
			return true, c.about(cl.subject(), mcperrors.From(context.Cause(ctx), mcperrors.NotSent))
		}
		s.fell(c, cl.link)
		c.restartOf(cl.link, err)
	}
	return true, c.awaitServer(ctx, cl)
}

// restartPart is what a call knows of programs that ended under it.
type restartPart struct {
	crashes   int
	crashedOn uint32 // number of the connection to the last of them
}

// crashed notes that a program has ended under a call, and reports whether that
// is the second time: such a call may be what ends it, and is not made again
// (the poison rule, resilience.md §3.7; fault E13). It may be asked more than
// once about one attempt.
func (c *Client) crashed(cl *call, f *transport.Failure) bool {
	if f.Reason == transport.ReasonLost && !f.NotSent && f.Process != nil && cl.link != nil && cl.crashedOn != cl.link.Number {
		cl.crashedOn = cl.link.Number
		cl.crashes++
	}
	return cl.crashes > 1
}

// countedEnd reports whether the breaker was told already that a program has
// ended. All its calls fail for one reason, which is one failure.
func (c *Client) countedEnd(l *link.Link, f *transport.Failure) bool {
	s := c.sup.peek()
	if s == nil || l == nil || f.Reason != transport.ReasonLost || f.Process == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counted == l.Number {
		return true
	}
	s.counted = l.Number
	return false
}
