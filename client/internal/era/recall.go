package era

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// recall returns the remembered entry of the server.
func (n *Finder) recall() (Found, bool) {
	if n.known != nil {
		return *n.known, true
	}
	if n.key == "" {
		return Found{}, false
	}
	f, ok := n.Store.Load(n.key)
	return f, ok && f.usable(time.Now())
}

// openRemembered connects with the remembered era: a session without a probe, a stateless server
// with the server/discover that is needed anyway. If the entry proves wrong, it is forgotten, and
// the era is found by a probe.
func (n *Finder) openRemembered(ctx context.Context, f Found) error {
	t := n.t
	if f.Fallback {
		t = FallbackOf(n.t)
	}
	n.result.Remembered, n.result.Evidence = true, EvidenceRemembered
	if t == nil { // the entry is from a transport with other settings
		return n.findAfresh(ctx)
	}
	if err := n.reach(ctx, t); err != nil {
		if f.Fallback && refusedByServer(err) {
			return n.findAfresh(ctx)
		}
		return err
	}
	if f.Version.Era() == mcp.EraStateless {
		return n.openRememberedStateless(ctx, f.Version)
	}
	n.result.Fallback, n.doubtful = f.Fallback, true
	err := n.session(ctx, f.Version)
	switch {
	case err == nil:
		// The late probe may have found a stateless server.
		n.result.Remembered = !n.reprobed
		return nil
	case n.reprobed || !refusedByServer(err):
		n.forgetAfter(err)
		return err
	}
	return n.findAfresh(ctx)
}

// openRememberedStateless sends the server/discover that starts the stateless era. Only proof of
// the other era overturns the remembered one; the reply is then judged as any reply to a probe.
func (n *Finder) openRememberedStateless(ctx context.Context, version mcp.Version) error {
	r, err := n.ask(ctx, version, n.untilStarted(n.Wait))
	if err != nil {
		return err
	}
	row, next := judge(r, n.traits(), n.Policy)
	switch {
	case !row.overturns:
		n.settle(r, actFail)
		if r.err == nil {
			n.forget()
			return n.undecodable(errNoVersions)
		}
		n.forgetAfter(r.err)
		return r.err
	case next != actStateless || r.stateless != version:
		n.forget()
		n.result.Remembered = false
	}
	err = n.follow(ctx, version, r, true)
	if n.result.Remembered {
		n.result.Evidence = EvidenceRemembered
	}
	return err
}

// findAfresh forgets the remembered entry and finds the era.
func (n *Finder) findAfresh(ctx context.Context) error {
	n.forget()
	n.result.Remembered, n.result.Fallback, n.doubtful = false, false, false
	if err := n.reach(ctx, n.t); err != nil {
		return err
	}
	return n.find(ctx, mcp.Latest)
}

// Remember stores the result, unless it was remembered. A session that was chosen because of
// silence is not stored: the server may have been starting, or busy.
func (n *Finder) Remember() {
	if n.key == "" || n.result.Remembered || n.result.Era == mcp.EraSession && n.doubtful {
		return
	}
	f := Found{Version: n.result.Version, Fallback: n.result.Fallback, At: time.Now()}
	if n.result.Era == mcp.EraSession {
		f.Version = n.offered
	}
	n.logStoreError(n.Store.Save(n.key, f))
}

func (n *Finder) forget() {
	if n.key != "" {
		n.logStoreError(n.Store.Forget(n.key))
	}
}

// forgetAfter forgets the entry because of err, unless err says nothing about the era: an outage,
// missing credentials, an early cancellation.
func (n *Finder) forgetAfter(err error) {
	other := []mcperrors.Kind{mcperrors.KindAuth, mcperrors.KindCanceled, mcperrors.KindClosed, mcperrors.KindCircuitOpen, mcperrors.KindOverloaded}
	var e *mcperrors.Error
	if errors.As(err, &e) && !slices.Contains(other, e.Kind) && e.Delivery != mcperrors.NotSent &&
		(e.HTTP == nil || statusMeans(e.HTTP.Status) != meansLater) {
		n.forget()
	}
}

// logStoreError logs an error of the store, which has no other effect.
func (n *Finder) logStoreError(err error) {
	if err != nil {
		n.Log.Warn("[MCP] the era of the server could not be remembered", "server", n.Server, "error", err)
	}
}

// refusedByServer reports whether the server rejected the request, rather than an outage or
// missing credentials.
func refusedByServer(err error) bool {
	var e *mcperrors.Error
	if !errors.As(err, &e) || e.Kind == mcperrors.KindAuth {
		return false
	}
	var f *transport.Failure
	switch {
	case e.HTTP != nil:
		return statusMeans(e.HTTP.Status) == meansRefused
	case errors.As(err, &f):
		return f.Reason == transport.ReasonNotMCP || f.Reason == transport.ReasonProtocol
	}
	return e.RPC != nil || e.Kind == mcperrors.KindVersion
}
