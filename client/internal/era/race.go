package era

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A server that does not answer the probe soon may be starting, busy, or of the session era and
// ignore unknown requests. So after a head start, initialize is sent beside the probe, over the
// same pipe or to the same URL, and the first useful answer decides. A slow server is never
// stopped. A server that rejects initialize may have no sessions: then the probe has the full
// time of a request.

const (
	// failedGrace is how long at least the client waits for the probe after initialize has failed
	// without being rejected.
	failedGrace = 2 * time.Second
	// orderGrace is the same after initialize has succeeded. A server that answers requests in
	// order has already answered the probe; that answer only has to arrive.
	orderGrace = 100 * time.Millisecond
)

// race is a probe with initialize beside it.
type race struct {
	n       *Finder
	version mcp.Version
	began   time.Time
	cancel  context.CancelFunc // cancels both
	replies chan *reply
	session chan *initialized
	step    int // index of the probe in Result.Tried
}

// late records an answer to the probe that came after the head start. It replaces the note that
// there was no answer.
func (b *race) late(r *reply) {
	s := &b.n.result.Tried[b.step]
	if r.means != meansNothing {
		s.Reply = r.text() + ", after " + r.took.Round(time.Millisecond).String()
	}
	s.Took = r.took
}

// probe finds the era with a probe, and sends initialize beside it if the probe is not answered
// soon.
func (n *Finder) probe(ctx context.Context, version mcp.Version) error {
	traits, head, wait := n.traits(), n.headStart(ctx), n.Wait
	if !traits.Exchanges {
		start := cmp.Or(n.StartTimeout, defaultStart)
		if wait.Max > 0 {
			start = min(start, wait.Max)
		}
		head, wait = min(head, start/2), jsonrpc.Wait{Max: start}
	}
	alone := n.Policy.FreshProcess && traits.Process || n.Policy.SilenceIsSession && traits.Exchanges
	if alone {
		wait = jsonrpc.Wait{Max: head}
	}
	q, err := n.newQuestion(version, wait)
	if err != nil {
		return err
	}
	n.Probing.Store(true)
	b := &race{n: n, version: version, began: time.Now(), replies: make(chan *reply, 1)}
	var both context.Context
	both, b.cancel = context.WithCancel(ctx)
	defer b.cancel()
	go func() {
		var r *reply
		defer func() {
			if r == nil { // the application's transport called runtime.Goexit
				r = &reply{means: meansStopped, err: n.failure(mcp.MethodDiscover, link.GoroutineEnded()), permit: q.permit, own: true}
			}
			b.replies <- r
		}()
		r = n.send(both, q)
	}()
	var headStart <-chan time.Time
	if !alone {
		timer := time.NewTimer(head)
		defer timer.Stop()
		headStart = timer.C
	}
	select {
	case r := <-b.replies:
		n.note(mcp.MethodDiscover, version, r.text(), r.took)
		return n.follow(ctx, version, r, true)
	case <-headStart:
	}
	n.note(mcp.MethodDiscover, version, "no answer within "+head.String(), head)
	b.step = len(n.result.Tried) - 1
	q.permit.Release() // the circuit may admit only one request at a time
	var left jsonrpc.Wait
	if !traits.Exchanges {
		left.Max = wait.Max - head // of the start time
	}
	return b.run(ctx, both, left)
}

// run sends initialize and waits for the decisive answer. left is the rest of the start time,
// zero over HTTP.
func (b *race) run(ctx, both context.Context, left jsonrpc.Wait) error {
	n, ordered := b.n, left != jsonrpc.Wait{}
	n.Probing.Store(false) // messages may belong to a session now
	n.result.Evidence, n.doubtful = "silence", true
	b.session = make(chan *initialized, 1)
	go func() {
		var i *initialized
		defer func() {
			if i == nil {
				i = &initialized{err: n.failure(mcp.MethodInitialize, link.GoroutineEnded())}
			}
			b.session <- i
		}()
		i = n.initialize(both, mcp.LatestSession, left)
	}()
	var first *initialized // once it has arrived
	var grace <-chan time.Time
	for {
		select {
		case r := <-b.replies:
			b.replies = nil
			b.late(r)
			row, next := judge(r, n.traits(), n.Policy)
			if decides(r, next) {
				b.stop(first)
				n.doubtful = false
				return n.follow(ctx, b.version, r, true)
			}
			n.settle(r, actSession)
			n.silent = r.means == meansNothing
			if next == actSession && r.means != meansNothing {
				n.result.Evidence, n.doubtful = row.id, false
			}
		case first = <-b.session:
			switch {
			case first.err == nil && ordered:
				grace = time.After(orderGrace)
			case first.err == nil:
				grace = time.After(0)
			case !refusesSessions(first.err):
				grace = time.After(max(failedGrace, DefaultProbeTimeout-time.Since(b.began)))
			}
		case <-grace:
			b.giveUp()
		}
		if first != nil && (b.replies == nil || ctx.Err() != nil) {
			b.giveUp()
			if n.deaf(ctx, first) {
				return n.startAgain(ctx, first)
			}
			n.first = first
			return n.session(ctx, mcp.LatestSession)
		}
	}
}

// refusesSessions reports whether initialize was rejected in a way that may mean that the server
// has no sessions: not by an outage, missing credentials, or a list of other revisions for a
// session.
func refusesSessions(err error) bool {
	if _, ok := offerAgain(err, mcp.LatestSession); ok {
		return false
	}
	var e *mcperrors.Error
	if !errors.As(err, &e) {
		return false
	}
	means := meansElse
	if e.HTTP != nil {
		means = statusMeans(e.HTTP.Status)
	}
	return means == meansRefused || means == meansElse && e.RPC != nil
}

// decides reports whether a late reply to the probe takes precedence over initialize: a server of
// the stateless era, a server without a common revision, or a program that exited. An outage does
// not, and a session is already being opened.
func decides(r *reply, next act) bool {
	switch next {
	case actStateless, actResend, actRefuse, actRestart:
		return true
	case actNone, actRetry, actSession, actFail:
	}
	return r.means == meansOurFault
}

// giveUp cancels the probe, if it is still in flight.
func (b *race) giveUp() {
	b.cancel()
	if b.replies != nil {
		<-b.replies
		b.replies = nil
	}
}

// stop cancels initialize, if it is still in flight. A session that it opened over HTTP ends with
// the client.
func (b *race) stop(first *initialized) {
	b.cancel()
	if first == nil {
		<-b.session
	}
}
