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

// recall returns what is remembered about the server.
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

// openRemembered opens the conversation in the remembered way: a session without
// a probe before it, a stateless one with the server/discover that opens it
// anyway. What proves wrong is forgotten and found again.
func (n *Finder) openRemembered(ctx context.Context, f Found) error {
	t := n.t
	if f.Fallback {
		t = FallbackOf(n.t)
	}
	n.result.Remembered, n.result.Evidence = true, EvidenceRemembered
	if t == nil { // of a transport that was set up differently
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
		// The late probe may have found that the server is stateless by now.
		n.result.Remembered = !n.reprobed
		return nil
	case n.reprobed || !refusedByServer(err):
		n.forgetAfter(err)
		return err
	}
	return n.findAfresh(ctx)
}

// openRememberedStateless sends the server/discover that opens the conversation.
// Only a proof of the other era overturns what is remembered; the reply is then judged
// like that to any probe.
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

// findAfresh forgets what is remembered and finds the era.
func (n *Finder) findAfresh(ctx context.Context) error {
	n.forget()
	n.result.Remembered, n.result.Fallback, n.doubtful = false, false, false
	if err := n.reach(ctx, n.t); err != nil {
		return err
	}
	return n.find(ctx, mcp.Latest)
}

// Remember stores what was found, unless it was known. Silence of a server is not
// stored: it may have been starting, or busy.
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

// forgetAfter forgets because of err, unless that is about something else: an
// outage, missing credentials and an impatient caller say nothing about the era.
func (n *Finder) forgetAfter(err error) {
	other := []mcperrors.Kind{mcperrors.KindAuth, mcperrors.KindCanceled, mcperrors.KindClosed, mcperrors.KindCircuitOpen, mcperrors.KindOverloaded}
	var e *mcperrors.Error
	if errors.As(err, &e) && !slices.Contains(other, e.Kind) && e.Delivery != mcperrors.NotSent &&
		(e.HTTP == nil || statusMeans(e.HTTP.Status) != meansLater) {
		n.forget()
	}
}

// logStoreError logs that the store fails. Nothing else depends on it.
func (n *Finder) logStoreError(err error) {
	if err != nil {
		n.Log.Warn("[MCP] the era of the server could not be remembered", "server", n.Server, "error", err)
	}
}

// refusedByServer reports whether err is a refusal by the server, not an outage
// and not missing credentials.
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
