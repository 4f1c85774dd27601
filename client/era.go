package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// negotiation opens the conversation: in the era that the options pin, else in
// the one it finds out (protocol.md 4). It ends with Connect.
type negotiation struct {
	c   *Client
	t   transport.Transport
	key string // of the verdict, "" where none is kept
	// auto says that nothing is pinned.
	auto   bool
	chosen EraChosen
	// reprobed: there is one late probe, and no further loops (NEG-13).
	reprobed bool
	// mute: a probe had the time of any request and was not answered.
	mute bool
	// fallback says that the conversation goes over the transport's fallback.
	fallback bool
	// offered is the revision the session began with.
	offered mcp.Version
	// doubtful says that the session was not chosen because of an answer: the
	// server was silent, or remembered.
	doubtful bool
	// first is what initialize was answered while a probe was mute; the session
	// begins with it.
	first *initialized
	// known is how the conversation was open with the program before, nil the
	// first time.
	known *Verdict
}

// negotiate opens the transport and the conversation.
func (c *Client) negotiate(ctx context.Context, t transport.Transport) error {
	n := &negotiation{c: c, t: t}
	err := n.open(ctx)
	c.probing.Store(false)
	if err != nil {
		return n.explain(err)
	}
	n.settled(false)
	agreed := c.live.Agreed()
	info := agreed.Server()
	c.log.Info(fmt.Sprintf("[MCP] Connected to %s v%s", jsonrpc.Printable(info.Name, 100), jsonrpc.Printable(info.Version, 50)), "server", c.server)
	c.log.Info(fmt.Sprintf("[MCP] Protocol version: %s", agreed.Version), "server", c.server)
	c.emit(Connected{Server: info, Version: agreed.Version})
	return nil
}

// negotiateAgain opens the conversation with a program that was started again:
// the way it was open before, unless the options pin one or the program says
// that this is not what it is any more (fault F1).
func (c *Client) negotiateAgain(ctx context.Context, t transport.Transport) (*negotiation, error) {
	agreed := c.live.Agreed()
	n := &negotiation{c: c, t: t, known: &Verdict{Version: agreed.Version, At: time.Now()}}
	err := n.open(ctx)
	c.probing.Store(false)
	if err != nil {
		return nil, n.explain(err)
	}
	return n, nil
}

// settled remembers how the conversation was opened, and tells. Of one that was
// opened again it tells what is not as it was.
func (n *negotiation) settled(again bool) {
	c, agreed := n.c, n.c.live.Agreed()
	n.chosen.Era, n.chosen.Version, n.chosen.Fallback = agreed.Era, agreed.Version, n.fallback
	chosen := n.chosen // the rest is not needed any more
	before := c.chosen.Swap(&chosen)
	n.remember()
	if again && before.Era == agreed.Era && before.Version == agreed.Version {
		c.chosen.Store(before)
		return
	}
	c.log.Info("[MCP] Era chosen", "server", c.server, "era", agreed.Era.String(), "version", string(agreed.Version),
		"evidence", n.chosen.Evidence, "round_trips", len(n.chosen.Tried), "remembered", n.chosen.Remembered, "tried", n.chosen.trail())
	c.emit(n.chosen)
}

func (n *negotiation) open(ctx context.Context) error {
	version := mcp.Version(n.c.cfg.version)
	n.auto = version == ""
	n.chosen.Evidence = EvidencePinned
	switch version.Era() {
	case mcp.EraStateless:
		if err := n.reach(ctx, n.t); err != nil {
			return err
		}
		return n.stateless(ctx, version)
	case mcp.EraSession:
		if err := n.reach(ctx, n.t); err != nil {
			return err
		}
		return n.session(ctx, version)
	case mcp.EraUnknown:
	}
	if n.c.cfg.era.verdicts != nil {
		n.key = verdictKey(n.t)
	}
	if v, ok := n.recall(); ok {
		return n.recalled(ctx, v)
	}
	n.c.probing.Store(true) // a server may speak first
	if err := n.reach(ctx, n.t); err != nil {
		return err
	}
	return n.find(ctx, mcp.Latest)
}

// agree sets what a handshake agreed.
func (c *Client) agree(a *link.Agreement) {
	a.Key = c.keyOf(a)
	c.live.Agree(a)
}

// reach opens t, in place of what is open.
func (n *negotiation) reach(ctx context.Context, t transport.Transport) error {
	c := n.c
	if l := c.live.Newest(); l != nil {
		l.Abort()
	}
	conn, err := t.Connect(ctx, c.handler())
	if err != nil {
		return c.failed(subject{method: mcp.MethodInitialize}, err)
	}
	if n.known != nil {
		c.live.Begin(conn)
		return nil
	}
	c.live.Use(conn)
	return nil
}

// stateless opens the conversation in the era that is pinned, and in no other. A
// server that lacks server/discover is used without knowing its capabilities
// (DISC-15).
func (n *negotiation) stateless(ctx context.Context, version mcp.Version) error {
	r, err := n.ask(ctx, version, n.c.wait(callOptions{}))
	if err == nil && r.says == saysUnsupported && slices.Contains(r.listed, string(version)) { // refused what it lists (DISC-07)
		r.settle(n.c, outcomeResend)
		r, err = n.ask(ctx, version, n.c.wait(callOptions{}))
	}
	if err != nil {
		return err
	}
	switch {
	case r.says == saysDiscovered && slices.Contains(r.listed, string(version)):
		r.settle(n.c, outcomeStateless)
		return n.c.adopt(version, r.raw)
	case r.says == saysNoMethod:
		r.settle(n.c, outcomeStateless)
		return n.c.adopt(version, nil)
	case r.says == saysDiscovered, r.says == saysUnsupported:
		r.settle(n.c, outcomeVersion)
		return n.mismatch(version, []mcp.Version{version}, r)
	case r.err == nil: // a result that is none
		r.settle(n.c, outcomeVersion)
		return n.c.undecodable(subject{method: mcp.MethodDiscover, attempts: 1}, errNoVersions)
	}
	r.settle(n.c, outcomeFail)
	return r.err
}

var errNoVersions = errors.New("it has no list supportedVersions")

// find finds out the era over the connection that is open.
func (n *negotiation) find(ctx context.Context, version mcp.Version) error {
	traits := n.c.live.Newest().Traits
	if traits.SessionOnly {
		n.chosen.Evidence = EvidenceTransport
		return n.session(ctx, mcp.LatestSession)
	}
	return n.probe(ctx, version)
}

// follow does what the decision table says of a reply. again is true as long as
// one more probe may be sent because of it.
func (n *negotiation) follow(ctx context.Context, version mcp.Version, r *reply, again bool) error {
	traits := n.c.live.Newest().Traits
	row, o := judge(r, traits, n.c.cfg.era.policy)
	n.chosen.Evidence = row.id
	if !again && (o == outcomeResend || o == outcomeRetry) {
		o = outcomeFail
	}
	r.settle(n.c, o)
	switch o {
	case outcomeStateless:
		return n.c.adopt(r.stateless, r.raw)
	case outcomeResend, outcomeRetry:
		if r.stateless != "" {
			version = r.stateless
		}
		r, err := n.ask(ctx, version, n.c.probeWait(ctx, traits))
		if err != nil {
			return err
		}
		return n.follow(ctx, version, r, false)
	case outcomeFresh:
		if err := n.reach(ctx, n.t); err != nil {
			if ctx.Err() != nil && r.err != nil {
				return r.err // there was no time left, and this is why
			}
			return err
		}
		n.chosen.Restarted = true
		if n.known == nil {
			n.c.emit(Restarted{Cause: r.err})
		}
	case outcomeVersion:
		return n.mismatch(version, mcp.Versions(), r)
	case outcomeFail, outcomeNone:
		if r.says == saysUnsupported {
			return n.mismatch(version, mcp.Versions(), r)
		}
		return r.err
	case outcomeSession:
	}
	n.doubtful = r.says == saysNothing
	offered := r.session
	if offered == "" {
		offered = mcp.LatestSession
	}
	err := n.session(ctx, offered)
	var e *mcperrors.Error
	if o == outcomeFresh && r.err != nil && errors.As(err, &e) && e.Process == nil {
		e.Process = r.err.Process // of the first start, better than nothing
	}
	return err
}

// ask probes and notes what came of it. What else comes meanwhile is dropped
// unread (NEG-16).
func (n *negotiation) ask(ctx context.Context, version mcp.Version, wait jsonrpc.Wait) (*reply, error) {
	q, err := n.c.newProbe(version, wait)
	if err != nil {
		return nil, err
	}
	n.c.probing.Store(true)
	r := n.c.sendProbe(ctx, q)
	n.note(mcp.MethodDiscover, version, r.text(), r.took)
	return r, nil
}

// session opens a session. A server that turns out to be stateless after all is
// probed once more, one that refuses the way HTTP+SSE servers do is reached
// over the fallback.
func (n *negotiation) session(ctx context.Context, offered mcp.Version) error {
	n.c.probing.Store(false)
	err := n.c.openSessionBy(ctx, offered, func(v mcp.Version) (json.RawMessage, error) {
		n.offered = v
		first := n.first
		if n.first = nil; first == nil {
			first = n.c.initializeTimed(ctx, v, callOptions{})
		}
		n.note(mcp.MethodInitialize, v, initializeText(first.raw, first.err), first.took)
		return first.raw, first.err
	})
	if err == nil {
		return nil
	}
	if version, ok := n.suspicion(err); ok {
		n.reprobed = true
		wait := n.c.probeWait(ctx, n.c.live.Newest().Traits)
		if n.mute { // it may have lost the first probe, but has had its time
			wait = jsonrpc.Wait{Max: n.c.probeBound(ctx, DefaultProbeTimeout)}
		}
		r, probeErr := n.ask(ctx, version, wait)
		if probeErr != nil {
			return err
		}
		row, o := judge(r, n.c.live.Newest().Traits, n.c.cfg.era.policy)
		r.settle(n.c, o)
		if o == outcomeStateless {
			n.chosen.Evidence = row.id
			return n.c.adopt(r.stateless, r.raw)
		}
		return err // what the server said of initialize says more
	}
	if n.refusedAsOld(err) && !n.chosen.Remembered { // what is remembered is doubted first
		return n.older(ctx, offered, err)
	}
	return err
}

// suspicion says whether the end of initialize suggests a server of the
// stateless era, and the revision to probe with: -32022 (NEG-13), an answer of
// that era (LC-05), or any error that names it or comes from a server whose era
// nobody has told us (DISC-17).
func (n *negotiation) suspicion(err error) (mcp.Version, bool) {
	if !n.auto || n.reprobed || n.fallback {
		return "", false
	}
	var mismatch *VersionError
	if errors.As(err, &mismatch) && mismatch.Offered.Era() == mcp.EraStateless {
		return mismatch.Offered, true
	}
	rpc := rpcOf(err)
	if rpc == nil {
		return "", false
	}
	named := append(supportedIn(rpc), revisionsIn(rpc)...)
	if v, ok := mcp.Newest(named, mcp.EraStateless); ok {
		return v, true
	}
	return mcp.Latest, n.doubtful || rpc.Code == mcp.CodeUnsupportedProtocolVersion
}

// refusedAsOld reports whether initialize was refused the way servers of
// HTTP+SSE do (protocol.md 4.4).
func (n *negotiation) refusedAsOld(err error) bool {
	var e *mcperrors.Error
	if n.fallback || !errors.As(err, &e) || e.HTTP == nil {
		return false
	}
	if rpc := rpcOf(err); rpc != nil && statelessOnly(rpc.Code) {
		return false
	}
	switch e.HTTP.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return n.c.cfg.era.policy.AnyRefusal && saidByStatus(e.HTTP.Status) == saysRefused
}

// older goes over the transport's fallback. cause is how initialize failed, and
// the error when the fallback does no better.
func (n *negotiation) older(ctx context.Context, offered mcp.Version, cause error) error {
	t := fallbackOf(n.t)
	if t == nil {
		return cause
	}
	began := time.Now()
	if err := n.reach(ctx, t); err != nil {
		n.note(http.MethodGet, "", errorText(err), time.Since(began))
		return cause
	}
	n.note(http.MethodGet, "", "an event stream of HTTP+SSE", time.Since(began))
	n.fallback = true
	return n.session(ctx, offered)
}

// fallbackOf returns the fallback of a transport, nil when it has none.
func fallbackOf(t transport.Transport) transport.Transport {
	if f, ok := t.(transport.Fallback); ok {
		return f.Fallback()
	}
	return nil
}

// mismatch is the error of a server with which no revision is shared (NEG-06).
func (n *negotiation) mismatch(asked mcp.Version, ours []mcp.Version, r *reply) error {
	e := &VersionError{Requested: asked, Supported: ours, Listed: r.listed}
	out := mcperrors.New(mcperrors.CodeIncompatible, mcperrors.KindVersion, mcperrors.Answered, e.Error(), e)
	if r.err != nil {
		out.RPC, out.OriginalMCPCode, out.HTTP = r.err.RPC, r.err.OriginalMCPCode, r.err.HTTP
	}
	return n.c.local(out, mcp.MethodDiscover)
}
