// Package era finds out which era of the protocol a server speaks, runs the handshake of that
// era, and remembers the result.
package era

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Session opens sessions over the newest link.
type Session struct {
	*core.Core
	// Required are the capabilities that a server must have.
	Required []string
	// Wait limits any request.
	Wait jsonrpc.Wait
	// Self is how the client describes itself.
	Self Identity
	// Version is the pinned revision, "" for none. Pin names the option that set it.
	Version mcp.Version
	Pin     string
	Client  Client

	// answered is the revision in the server's answer to initialize, if the client does not
	// accept it.
	answered mcp.Version
	// restarted is set if the program was started before.
	restarted bool
}

// Client has the functions of the client that Session needs.
type Client interface {
	// Initialize sends initialize with params over the newest link. The zero Wait means the usual
	// limit of a request.
	Initialize(ctx context.Context, params json.RawMessage, wait jsonrpc.Wait) (json.RawMessage, error)
	// Mismatch returns the cause of an error of kind version.
	Mismatch(Mismatch) error
}

// Host has the functions of the client that Finder needs.
type Host interface {
	// Connect opens a transport.
	Connect(ctx context.Context, t transport.Transport) (transport.Conn, error)
	// Admit takes a permit of the server's circuit for a probe.
	Admit() (breaker.Permit, error)
	// Discover sends server/discover once over a link. counted reports whether the server's
	// circuit has already counted the failure.
	Discover(ctx context.Context, l *link.Link, wait jsonrpc.Wait) (out outcome.Outcome, counted bool)
	// Level returns the log level, as JSON, that every request of a stateless revision asks for;
	// nil for none.
	Level() json.RawMessage
}

// Result describes a handshake.
type Result struct {
	Era     mcp.Era
	Version mcp.Version
	// Tried are the requests that were sent, in order.
	Tried []event.ProbeStep
	// Evidence is the reason: one of the constants, or the id of a row of the
	// decision table.
	Evidence string
	// Remembered is set if a remembered era was used and was correct.
	Remembered bool
	// Restarted is set if the program was restarted because of the probe.
	Restarted bool
	// Fallback is set if the transport's fallback is used.
	Fallback bool
}

// Evidence that is not a row of the decision table.
const (
	EvidencePinned     = "pinned"
	EvidenceRemembered = "remembered"
	EvidenceTransport  = "transport"
)

// Finder runs one handshake: in the pinned era, otherwise in the era that it finds. It is used
// once, by one goroutine. Set the exported fields first; Store may be nil.
type Finder struct {
	Session
	Host   Host
	Policy Policy
	Store  Store
	// ProbeTimeout is the head start of the probe; 0 means the transport's default.
	ProbeTimeout time.Duration
	// StartTimeout limits each start of a program; 0 means the defaults of the first and of the
	// second start.
	StartTimeout time.Duration
	// CountAll is set if every failed probe counts as a failure of the server.
	CountAll bool
	// Probing is true while messages of the server are dropped unread.
	Probing *atomic.Bool

	t      transport.Transport
	key    string // of the server in the store, "" if it is not remembered
	result Result
	// reprobed is set after the late probe, which is sent at most once.
	reprobed bool
	// silent is set if a probe had the full time of a request and was not answered.
	silent bool
	// offered is the revision that the first initialize offered.
	offered mcp.Version
	// doubtful is set if a session was chosen without an answer to the probe: the server was
	// silent, or its era remembered.
	doubtful bool
	// first is the outcome of an initialize that was sent beside a silent probe; the session
	// starts with it.
	first *initialized
	// known is the era of the previous program, nil for the first connection.
	known *Found
	// stop cancels Find.
	stop context.CancelCauseFunc
}

// Find opens t and runs the handshake. On error, the live link is the last one used, and only
// Tried is set.
func (n *Finder) Find(ctx context.Context, t transport.Transport) (Result, error) {
	n.t = t
	ctx, n.stop = context.WithCancelCause(ctx)
	defer n.stop(nil)
	err := n.explainStart(ctx, n.open(ctx))
	n.Probing.Store(false)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errEcho) {
			err = n.failure(mcp.MethodInitialize, &transport.Failure{Reason: transport.ReasonNotMCP, Answered: true, Err: cause})
		}
		return Result{Tried: n.result.Tried}, err
	}
	agreed := n.Links.Newest().Agreed
	n.result.Era, n.result.Version = agreed.Era, agreed.Version
	return n.result, nil
}

// errEcho is the error for a program such as cat.
var errEcho = errors.New("the program sends the client's requests back; it is not an MCP server")

// Requested takes the method of a request that arrived. If only clients send it, Find stops at
// once: the other side echoes requests.
func (n *Finder) Requested(method string) {
	if method == mcp.MethodDiscover || method == mcp.MethodInitialize {
		n.stop(errEcho)
	}
}

// FindAgain runs the handshake with a restarted program, beside the live link. It uses the
// previous revision, unless one is pinned or the program rejects it.
func (n *Finder) FindAgain(ctx context.Context, t transport.Transport, before mcp.Version) (Result, error) {
	n.known, n.restarted = &Found{Version: before, At: time.Now()}, true
	return n.Find(ctx, t)
}

func (n *Finder) open(ctx context.Context) error {
	n.result.Evidence = EvidencePinned
	switch n.Version.Era() {
	case mcp.EraStateless:
		if err := n.reach(ctx, n.t); err != nil {
			return err
		}
		return n.stateless(ctx, n.Version)
	case mcp.EraSession:
		if err := n.reach(ctx, n.t); err != nil {
			return err
		}
		return n.pinnedSession(ctx)
	case mcp.EraUnknown:
	}
	if n.Store != nil {
		n.key = keyOf(n.t)
	}
	if f, ok := n.recall(); ok {
		return n.openRemembered(ctx, f)
	}
	n.Probing.Store(true) // a server may speak first
	if err := n.reach(ctx, n.t); err != nil {
		return err
	}
	return n.find(ctx, mcp.Latest)
}

// reach opens t and closes the current connection.
func (n *Finder) reach(ctx context.Context, t transport.Transport) error {
	if l := n.Links.Newest(); l != nil {
		l.Abort()
	}
	conn, err := n.Host.Connect(ctx, t)
	if err != nil {
		return n.failure(mcp.MethodInitialize, err)
	}
	if n.known != nil {
		n.Links.Begin(conn)
		return nil
	}
	n.Links.Use(conn)
	return nil
}

// find finds the era over the open connection.
func (n *Finder) find(ctx context.Context, version mcp.Version) error {
	if n.traits().SessionOnly {
		n.result.Evidence = EvidenceTransport
		return n.session(ctx, mcp.LatestSession)
	}
	return n.probe(ctx, version)
}

func (n *Finder) traits() transport.Traits { return n.Links.Newest().Traits }

// follow takes the step that the decision table has for a reply. again is set while the reply may
// cause one more probe.
func (n *Finder) follow(ctx context.Context, version mcp.Version, r *reply, again bool) error {
	traits := n.traits()
	row, next := judge(r, traits, n.Policy)
	n.result.Evidence = row.id
	if !again && (next == actResend || next == actRetry) {
		next = actFail
	}
	if next == actRestart && n.unheard(r) {
		next = actFail
	}
	n.settle(r, next)
	switch next {
	case actStateless:
		return n.adopt(r.stateless, r.raw)
	case actResend, actRetry:
		if r.stateless != "" {
			version = r.stateless
		}
		r, err := n.ask(ctx, version, n.probeWait(ctx))
		if err != nil {
			return err
		}
		return n.follow(ctx, version, r, false)
	case actRestart:
		if err := n.reach(ctx, n.t); err != nil {
			if ctx.Err() != nil && r.err != nil {
				return r.err // the time ran out; this error is the reason
			}
			return err
		}
		n.result.Restarted = true
		if n.known == nil {
			n.Emit(event.Restarted{Cause: r.err})
		}
	case actRefuse:
		return n.mismatch(mcp.MethodDiscover, version, mcp.Versions(), r)
	case actFail, actNone:
		if r.means == meansUnsupported {
			return n.mismatch(mcp.MethodDiscover, version, mcp.Versions(), r)
		}
		return r.err
	case actSession:
	}
	n.doubtful = r.means == meansNothing
	offered := r.session
	if offered == "" {
		offered = mcp.LatestSession
	}
	err := n.session(ctx, offered)
	var e *mcperrors.Error
	if next == actRestart && r.err != nil && errors.As(err, &e) && e.Process == nil {
		e.Process = r.err.Process // of the first start, as the best evidence available
	}
	return err
}

// older uses the transport's fallback. cause is the error of initialize, which older returns if
// the fallback fails too.
func (n *Finder) older(ctx context.Context, offered mcp.Version, cause error) error {
	t := FallbackOf(n.t)
	if t == nil {
		return cause
	}
	began := time.Now()
	if err := n.reach(ctx, t); err != nil {
		n.note(http.MethodGet, "", errorText(err), time.Since(began))
		return cause
	}
	n.note(http.MethodGet, "", "an event stream of HTTP+SSE", time.Since(began))
	n.result.Fallback = true
	return n.session(ctx, offered)
}

// FallbackOf returns the fallback of a transport, nil for none.
func FallbackOf(t transport.Transport) transport.Transport {
	if f, ok := t.(link.Fallback); ok {
		return f.Fallback()
	}
	return nil
}

func (n *Finder) note(method string, version mcp.Version, reply string, took time.Duration) {
	n.result.Tried = append(n.result.Tried, event.ProbeStep{Method: method, Version: version, Reply: reply, Took: took})
}

// failure returns the error of a request that failed in the transport.
func (n *Session) failure(method string, err error) *mcperrors.Error {
	sent := outcome.Sent{Method: method, Restarts: n.restarted}
	out := outcome.OfFailure(&sent, outcome.FailureOf(err))
	return n.About(outcome.Subject{Method: method}, out.Err)
}
