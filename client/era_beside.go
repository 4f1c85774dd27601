package client

import (
	"context"
	"errors"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A server that does not answer the probe soon may be starting, busy, or of the
// session era and leave unknown requests unanswered. So after a head start
// initialize is sent beside the probe, down the same pipe or to the same URL, and
// the first real answer decides (decisions 35). Nothing is ended for being slow. A
// server that refuses initialize may have no sessions: then the answer to the probe
// is waited for as long as that to any request.

const (
	// besideGrace is how long a probe is waited for at least once initialize has
	// failed beside it without being refused.
	besideGrace = 2 * time.Second
	// orderGrace is the same once initialize has succeeded. A server that answers one
	// request after the other has answered the probe before; that answer only has to
	// reach us.
	orderGrace = 100 * time.Millisecond
)

// beside is a probe and what goes on beside it.
type beside struct {
	n       *negotiation
	version mcp.Version
	began   time.Time
	cancel  context.CancelFunc // of both
	replies chan *reply
	session chan *initialized
}

// probe finds out the era by a probe, and initialize beside it where it is mute.
func (n *negotiation) probe(ctx context.Context, version mcp.Version) error {
	c, traits := n.c, n.c.live.Newest().Traits
	head, wait := c.headStart(ctx, traits), c.wait(callOptions{})
	if !traits.Exchanges {
		start := orElse(c.cfg.restart.StartTimeout, defaultStartTimeout)
		if wait.Max > 0 {
			start = min(start, wait.Max)
		}
		head, wait = min(head, start/2), jsonrpc.Wait{Max: start}
	}
	policy := c.cfg.era.policy
	givesUp := policy.FreshProcess && traits.Process || policy.SilenceIsSession && traits.Exchanges
	if givesUp {
		wait = jsonrpc.Wait{Max: head}
	}
	q, err := c.newProbe(version, wait)
	if err != nil {
		return err
	}
	c.probing.Store(true)
	b := &beside{n: n, version: version, began: time.Now(), replies: make(chan *reply, 1)}
	var both context.Context
	both, b.cancel = context.WithCancel(ctx)
	defer b.cancel()
	go func() {
		// Should a transport of the application end this goroutine.
		r := &reply{says: saysStopped, err: c.failed(q.cl.subject(), endedHere()), verdict: ownDoing}
		defer func() { b.replies <- r }()
		r = c.sendProbe(both, q)
	}()
	var mute <-chan time.Time
	if !givesUp {
		timer := time.NewTimer(head)
		defer timer.Stop()
		mute = timer.C
	}
	select {
	case r := <-b.replies:
		n.note(mcp.MethodDiscover, version, r.text(), r.took)
		return n.follow(ctx, version, r, true)
	case <-mute:
	}
	n.note(mcp.MethodDiscover, version, "no answer yet", head)
	q.reply.permit.Release() // of a breaker that lets through one at a time, say
	var start callOptions
	if !traits.Exchanges { // what is left of the time to start
		start = callOptions{max: wait.Max - head, timesSet: true}
	}
	return b.run(ctx, both, start)
}

// run sends initialize and waits for what decides.
func (b *beside) run(ctx, both context.Context, start callOptions) error {
	n, ordered := b.n, start.timesSet
	n.c.probing.Store(false) // what comes may belong to a session
	n.chosen.Evidence, n.doubtful = "silence", true
	b.session = make(chan *initialized, 1)
	go func() {
		i := &initialized{err: n.c.failed(subject{method: mcp.MethodInitialize}, endedHere())}
		defer func() { b.session <- i }()
		i = n.c.initializeTimed(both, mcp.LatestSession, start)
	}()
	var first *initialized // once it has come
	var grace <-chan time.Time
	for {
		select {
		case r := <-b.replies:
			b.replies = nil
			n.note(mcp.MethodDiscover, b.version, r.text(), r.took)
			row, o := judge(r, n.c.live.Newest().Traits, n.c.cfg.era.policy)
			if decides(r, o) {
				b.stop(first)
				n.doubtful = false
				return n.follow(ctx, b.version, r, true)
			}
			r.settle(n.c, outcomeSession)
			n.mute = r.says == saysNothing
			if o == outcomeSession && r.says != saysNothing {
				n.chosen.Evidence, n.doubtful = row.id, false
			}
		case first = <-b.session:
			switch {
			case first.err == nil && ordered:
				grace = time.After(orderGrace)
			case first.err == nil:
				grace = time.After(0)
			case !refusesSessions(first.err):
				grace = time.After(max(besideGrace, DefaultProbeTimeout-time.Since(b.began)))
			}
		case <-grace:
			b.giveUp()
		}
		if first != nil && (b.replies == nil || ctx.Err() != nil) {
			b.giveUp()
			n.first = first
			return n.session(ctx, mcp.LatestSession)
		}
	}
}

// refusesSessions reports whether initialize was refused by an answer that may mean
// that there are no sessions: no outage, no question who asks, and no list of other
// revisions to begin a session with.
func refusesSessions(err error) bool {
	if _, ok := offerAgain(err, mcp.LatestSession); ok {
		return false
	}
	var e *mcperrors.Error
	if !errors.As(err, &e) {
		return false
	}
	said := saysElse
	if e.HTTP != nil {
		said = saidByStatus(e.HTTP.Status)
	}
	return said == saysRefused || said == saysElse && e.RPC != nil
}

// decides reports whether a late reply to the probe counts in spite of initialize:
// a server of the stateless era, one without any revision of ours, and the end of
// a program. An outage does not, and what asks for a session is on its way.
func decides(r *reply, o conclusion) bool {
	switch o {
	case outcomeStateless, outcomeResend, outcomeVersion, outcomeFresh:
		return true
	case outcomeNone, outcomeRetry, outcomeSession, outcomeFail:
	}
	return r.says == saysOurFault
}

// giveUp ends the probe, if it is still under way.
func (b *beside) giveUp() {
	b.cancel()
	if b.replies != nil {
		<-b.replies
		b.replies = nil
	}
}

// stop ends initialize, unless it has ended. A session that it may have opened at a
// URL ends with the client.
func (b *beside) stop(first *initialized) {
	b.cancel()
	if first == nil {
		<-b.session
	}
}
