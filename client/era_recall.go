package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// recall returns what is remembered of the server.
func (n *negotiation) recall() (Verdict, bool) {
	if n.known != nil {
		return *n.known, true
	}
	if n.key == "" {
		return Verdict{}, false
	}
	v, ok := n.c.cfg.era.verdicts.Load(n.key)
	return v, ok && v.usable(time.Now())
}

// recalled opens the conversation the way that is remembered: a session without
// a probe before it, a stateless one with the server/discover that opens it
// anyway. What turns out to be wrong is forgotten and found out anew.
func (n *negotiation) recalled(ctx context.Context, v Verdict) error {
	t := n.t
	if v.Fallback {
		t = fallbackOf(n.t)
	}
	n.chosen.Remembered, n.chosen.Evidence = true, EvidenceRemembered
	if t == nil { // of a transport that was set up differently
		return n.anew(ctx)
	}
	if err := n.reach(ctx, t); err != nil {
		if v.Fallback && answered(err) {
			return n.anew(ctx)
		}
		return err
	}
	if v.Version.Era() == mcp.EraStateless {
		return n.recalledStateless(ctx, v.Version)
	}
	n.fallback, n.doubtful = v.Fallback, true
	err := n.session(ctx, v.Version)
	switch {
	case err == nil:
		// The late probe may have found that the server is stateless by now.
		n.chosen.Remembered = !n.reprobed
		return nil
	case n.reprobed || !answered(err):
		n.forgetIf(err)
		return err
	}
	return n.anew(ctx)
}

// recalledStateless sends the server/discover that opens the conversation. Only
// what NEG-12 names overturns the verdict; the reply is then judged like that to
// any probe.
func (n *negotiation) recalledStateless(ctx context.Context, version mcp.Version) error {
	r, err := n.ask(ctx, version, n.c.wait(callOptions{}))
	if err != nil {
		return err
	}
	row, o := judge(r, n.c.live.Load().Traits, n.c.cfg.era.policy)
	switch {
	case !row.demotes:
		r.settle(n.c, outcomeFail)
		if r.err == nil {
			n.forget()
			return n.c.undecodable(subject{method: mcp.MethodDiscover, attempts: 1}, errNoVersions)
		}
		n.forgetIf(r.err)
		return r.err
	case o != outcomeStateless || r.stateless != version:
		n.forget()
		n.chosen.Remembered = false
	}
	err = n.follow(ctx, version, r, true)
	if n.chosen.Remembered {
		n.chosen.Evidence = EvidenceRemembered
	}
	return err
}

// anew forgets and finds out.
func (n *negotiation) anew(ctx context.Context) error {
	n.forget()
	n.chosen.Remembered, n.fallback, n.doubtful = false, false, false
	if err := n.reach(ctx, n.t); err != nil {
		return err
	}
	return n.find(ctx, mcp.Latest)
}

// remember keeps what was found out, unless it was known. That a server was silent
// is no finding: it may have been starting, or busy (decisions 35).
func (n *negotiation) remember() {
	if n.key == "" || n.chosen.Remembered || n.chosen.Era == mcp.EraSession && n.doubtful {
		return
	}
	v := Verdict{Version: n.chosen.Version, Fallback: n.fallback, At: time.Now()}
	if n.chosen.Era == mcp.EraSession {
		v.Version = n.offered
	}
	n.stored(n.c.cfg.era.verdicts.Save(n.key, v))
}

func (n *negotiation) forget() {
	if n.key != "" {
		n.stored(n.c.cfg.era.verdicts.Forget(n.key))
	}
}

// forgetIf forgets when err is not about something else: an outage, a lack of
// credentials and an impatient caller say nothing about the era.
func (n *negotiation) forgetIf(err error) {
	other := []mcperrors.Kind{mcperrors.KindAuth, mcperrors.KindCanceled, mcperrors.KindClosed, mcperrors.KindCircuitOpen, mcperrors.KindOverloaded}
	var e *mcperrors.Error
	if errors.As(err, &e) && !slices.Contains(other, e.Kind) && e.Delivery != mcperrors.NotSent &&
		(e.HTTP == nil || saidByStatus(e.HTTP.Status) != saysLater) {
		n.forget()
	}
}

// stored tells of a store that fails. Nothing else depends on it.
func (n *negotiation) stored(err error) {
	if err != nil {
		n.c.log.Warn("[MCP] the era of the server could not be remembered", "server", n.c.server, "error", err)
	}
}

// answered reports whether err is a refusal by the server, not an outage and
// not a lack of credentials.
func answered(err error) bool {
	var e *mcperrors.Error
	if !errors.As(err, &e) || e.Kind == mcperrors.KindAuth {
		return false
	}
	var mismatch *VersionError
	var f *transport.Failure
	switch {
	case e.HTTP != nil:
		return saidByStatus(e.HTTP.Status) == saysRefused
	case errors.As(err, &f):
		return f.Reason == transport.ReasonNotMCP || f.Reason == transport.ReasonProtocol
	}
	return e.RPC != nil || errors.As(err, &mismatch)
}
