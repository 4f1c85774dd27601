package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/era"
	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// negotiation opens a conversation by means of package era, and reports the outcome to the
// application.
type negotiation struct {
	c      *Client
	era    *era.Finder
	result era.Result
	again  bool // with a restarted program
}

// newNegotiation needs the options in config.connecting, which a client keeps only as long
// as it may connect.
func newNegotiation(c *Client, again bool) *negotiation {
	n := &negotiation{c: c, again: again}
	probe, restart, circuit := c.cfg.era.probe, c.cfg.resilience.Restart, c.cfg.resilience.Breaker
	n.era = &era.Finder{
		Session: newSession(c), Host: n, Store: c.cfg.era.storeFor(c.core.Failed), Probing: &c.probing,
		ProbeTimeout: probe.Timeout, StartTimeout: restart.StartTimeout, CountAll: circuit != nil && circuit.CountAll(),
		Policy: era.Policy{
			FreshProcess: probe.FreshProcess, SilenceIsSession: probe.SilenceIsSession,
			AuthIsSession: probe.AuthIsSession, AnyRefusal: probe.AnyRefusal,
		},
	}
	n.era.Version, n.era.Pin = mcp.Version(c.cfg.version), c.cfg.versionBy
	return n
}

// Connect implements [era.Host].
func (n *negotiation) Connect(ctx context.Context, t transport.Transport) (transport.Conn, error) {
	return t.Connect(ctx, n.c.handler())
}

// Admit implements [era.Host].
func (n *negotiation) Admit() (breaker.Permit, error) { return n.c.calls.Guard.AcquireProbe() }

// Level implements [era.Host].
func (n *negotiation) Level() json.RawMessage { return n.c.subscriptions.Peek().Level() }

// newSession opens sessions for a client.
func newSession(c *Client) era.Session {
	return era.Session{Core: &c.core, Required: c.cfg.required, Wait: c.calls.Set.Wait, Self: c.cfg.identity(), Client: (*callSupport)(c)}
}

// Initialize implements [era.Client]. The request is never canceled by a notification:
// connecting has failed when ctx ends, and the transport is closed.
func (s *callSupport) Initialize(ctx context.Context, params json.RawMessage, wait jsonrpc.Wait) (json.RawMessage, error) {
	cl := &run.Call{Request: run.Request{Method: mcp.MethodInitialize, Purpose: link.Handshake}, Params: doc.OpenObject(params)}
	if wait != (jsonrpc.Wait{}) {
		cl.Wait = unbounded(wait)
	}
	out := s.calls.Attempt(ctx, cl)
	return out.Result, out.Error()
}

// unbounded replaces 0 by -1. Both mean no bound here, but in an option of a call 0 means
// the client's bound.
func unbounded(wait jsonrpc.Wait) jsonrpc.Wait {
	return jsonrpc.Wait{Idle: cmp.Or(wait.Idle, -1), Max: cmp.Or(wait.Max, -1)}
}

// open opens the transport and the conversation.
func (n *negotiation) open(ctx context.Context, t transport.Transport) (err error) {
	n.c.finding.Store(n.era)
	defer n.c.finding.Store(nil)
	if n.result, err = n.era.Find(ctx, t); err != nil {
		return n.explain(err)
	}
	n.settled()
	c := n.c
	agreed := c.core.Links.Agreed()
	info := agreed.Server()
	if c.core.Log.Enabled(ctx, slog.LevelInfo) {
		c.core.Log.Info(fmt.Sprintf("[MCP] Connected to %s v%s", jsonrpc.Printable(info.Name, 100), jsonrpc.Printable(info.Version, 50)), "server", c.core.Server)
		c.core.Log.Info(fmt.Sprintf("[MCP] Protocol version: %s", agreed.Version), "server", c.core.Server)
	}
	c.emit(Connected{Server: info, Version: agreed.Version})
	return nil
}

// openAgain opens the conversation with a restarted program while the old link is still in
// place. It uses the revision of before, unless the options pin one or the program refuses
// it.
func (n *negotiation) openAgain(ctx context.Context, t transport.Transport) (err error) {
	if n.result, err = n.era.FindAgain(ctx, t, n.c.core.Links.Agreed().Version); err != nil {
		return n.explain(err)
	}
	return nil
}

// settled stores how the conversation was opened, and reports it. After a restart it
// reports only changes.
func (n *negotiation) settled() {
	c := n.c
	now := event.From(c.core.Server, mcperrors.Secrets{}, Negotiated{
		Era: n.result.Era, Version: n.result.Version, Evidence: n.result.Evidence, Tried: n.result.Tried,
		Remembered: n.result.Remembered, Restarted: n.result.Restarted, Fallback: n.result.Fallback,
	}).(Negotiated)
	n.era.Remember()
	if before := c.negotiated.Load(); n.again && before.Era == now.Era && before.Version == now.Version {
		return
	}
	kept := now // only this copy escapes to the heap
	c.negotiated.Store(&kept)
	if c.core.Log.Enabled(c.core.Life.Context(), slog.LevelInfo) {
		c.core.Log.Info("[MCP] Era chosen", "server", c.core.Server, "era", now.Era.String(), "version", string(now.Version),
			"evidence", now.Evidence, "round_trips", len(now.Tried), "remembered", now.Remembered, "tried", stepsText(now.Tried))
	}
	c.emit(now)
}

// Discover implements [era.Host]. The probe passes all limits.
func (n *negotiation) Discover(ctx context.Context, l *link.Link, wait jsonrpc.Wait) (out outcome.Outcome, counted bool) {
	cl := &run.Call{Request: run.Request{
		Method: mcp.MethodDiscover, Options: run.Options{Wait: unbounded(wait)},
	}}
	cl.Begin(l, n.c.calls.NextID())
	out = n.c.calls.Once(ctx, cl, wait)
	return out, n.c.calls.Guard.EndCounted(l, &out)
}

// explain adds the requests that were sent to the error, if there was more than one.
func (n *negotiation) explain(err error) error {
	var e *mcperrors.Error
	if len(n.result.Tried) < 2 || !errors.As(err, &e) {
		return err
	}
	cause := &EraError{Tried: n.result.Tried, Err: e.Cause}
	e.Cause = cause
	e.Message += "; " + cause.Error()
	return e
}
