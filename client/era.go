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
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/object"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// negotiation is one use of package era, with what that needs of the client, and
// what it reports to the application.
type negotiation struct {
	c      *Client
	era    *era.Negotiator
	steps  []ProbeStep
	result era.Result
	again  bool
}

// newNegotiation needs what options say of connecting, which a client keeps only
// while it may connect.
func (c *Client) newNegotiation(again bool) *negotiation {
	n := &negotiation{c: c, again: again}
	cfg := n.sessionConfig()
	cfg.Version, cfg.Store = mcp.Version(c.cfg.version), c.eraStore()
	probe := c.cfg.era.probe
	cfg.ProbeTimeout = probe.Timeout
	cfg.Policy = era.Policy{
		FreshProcess: probe.FreshProcess, SilenceIsSession: probe.SilenceIsSession,
		AuthIsSession: probe.AuthIsSession, AnyRefusal: probe.AnyRefusal,
	}
	cfg.StartTimeout = orElse(c.res.Restart.StartTimeout, defaultStartTimeout)
	cfg.CountAll = c.res.Breaker != nil && c.res.Breaker.CountAll()
	cfg.Probing, cfg.Connect, cfg.Admit, cfg.Discover = &c.probing, n.connect, n.admit, n.discover
	cfg.Meta, cfg.Note, cfg.Restarted = c.requestMeta, n.note, n.restarted
	n.era = era.New(cfg)
	return n
}

// sessionConfig is what opening a session needs.
func (n *negotiation) sessionConfig() era.Config {
	c := n.c
	return era.Config{
		Server: c.server, Log: c.log, Links: &c.live, Required: c.cfg.required, Wait: c.wait(&run.Options{}),
		Initialize: n.initialize, Agree: n.agree, Failed: n.failed, About: n.about, Mismatch: mismatchError,
	}
}

// negotiate opens the transport and the conversation.
func (c *Client) negotiate(ctx context.Context, t transport.Transport) (err error) {
	n := c.newNegotiation(false)
	if n.result, err = n.era.Find(ctx, t); err != nil {
		return n.explain(err)
	}
	n.settled()
	agreed := c.live.Agreed()
	info := agreed.Server()
	if c.log.Enabled(ctx, slog.LevelInfo) {
		c.log.Info(fmt.Sprintf("[MCP] Connected to %s v%s", jsonrpc.Printable(info.Name, 100), jsonrpc.Printable(info.Version, 50)), "server", c.server)
		c.log.Info(fmt.Sprintf("[MCP] Protocol version: %s", agreed.Version), "server", c.server)
	}
	c.emit(Connected{Server: info, Version: agreed.Version})
	return nil
}

// negotiateAgain opens the conversation with a restarted program, beside the live
// link: as it was open before, unless the options pin a revision or the program
// refuses it (fault F1).
func (c *Client) negotiateAgain(ctx context.Context, t transport.Transport) (n *negotiation, err error) {
	n = c.newNegotiation(true)
	if n.result, err = n.era.FindAgain(ctx, t, c.live.Agreed().Version); err != nil {
		return nil, n.explain(err)
	}
	return n, nil
}

// settled remembers how the conversation was opened, and reports it. Of one that
// was opened again it reports changes only.
func (n *negotiation) settled() {
	c := n.c
	now := Negotiated{
		Era: n.result.Era, Version: n.result.Version, Evidence: n.result.Evidence, Tried: n.steps,
		Remembered: n.result.Remembered, Restarted: n.result.Restarted, Fallback: n.result.Fallback,
	}
	n.era.Remember()
	if before := c.negotiated.Load(); n.again && before.Era == now.Era && before.Version == now.Version {
		return
	}
	kept := now // the rest is not needed any more
	c.negotiated.Store(&kept)
	if c.log.Enabled(c.life.Context(), slog.LevelInfo) {
		c.log.Info("[MCP] Era chosen", "server", c.server, "era", now.Era.String(), "version", string(now.Version),
			"evidence", now.Evidence, "round_trips", len(now.Tried), "remembered", now.Remembered, "tried", stepsText(now.Tried))
	}
	c.emit(now)
}

// openSession opens a session on the live link.
func (c *Client) openSession(ctx context.Context, offered mcp.Version) error {
	n := &negotiation{c: c}
	return era.New(n.sessionConfig()).OpenSession(ctx, offered)
}

func (n *negotiation) connect(ctx context.Context, t transport.Transport) (transport.Conn, error) {
	return t.Connect(ctx, n.c.handler())
}

// initialize is never cancelled by a notification: connecting has failed when ctx
// ends, and the transport is closed (LC-10).
func (n *negotiation) initialize(ctx context.Context, offered mcp.Version, wait jsonrpc.Wait) (json.RawMessage, error) {
	params, err := mcp.Marshal(&mcp.InitializeParams{
		ProtocolVersion: offered, ClientInfo: n.c.cfg.info, Capabilities: n.c.cfg.offer.Capabilities(offered),
	})
	if err != nil {
		return nil, badOption(err)
	}
	cl := &run.Call{Request: run.Request{Method: mcp.MethodInitialize, Purpose: link.Handshake}, Params: object.Open(params)}
	if wait != (jsonrpc.Wait{}) {
		cl.Wait = unbounded(wait)
	}
	out := n.c.attempt(ctx, cl)
	return out.Result, out.Error()
}

// unbounded says with -1 what wait does not bound: as an option of a call, 0 would be
// the client's bound.
func unbounded(wait jsonrpc.Wait) jsonrpc.Wait {
	return jsonrpc.Wait{Idle: cmp.Or(wait.Idle, -1), Max: cmp.Or(wait.Max, -1)}
}

// admit takes the permit of a probe from the server's circuit.
func (n *negotiation) admit() (breaker.Permit, error) {
	permit, err := n.c.guard.AcquireProbe()
	if err != nil {
		return permit, n.c.local(err, mcp.MethodDiscover)
	}
	return permit, nil
}

// discover sends a probe, once and past all limits. counted says that the circuit
// knows of the failure already.
func (n *negotiation) discover(ctx context.Context, l *link.Link, wait jsonrpc.Wait) (out outcome.Outcome, counted bool) {
	cl := &run.Call{Request: run.Request{
		Method: mcp.MethodDiscover, Options: run.Options{Wait: unbounded(wait)},
	}}
	cl.Begin(l, n.c.cfg.nextID())
	req := cl.Frame()
	req.Wait = wait
	out = n.c.exchange(ctx, cl, req)
	return out, n.c.guard.EndCounted(l, &out)
}

// agree sets what a handshake agreed.
func (n *negotiation) agree(a *link.Agreement) {
	n.c.live.Agree(a)
}

func (n *negotiation) failed(method string, err error) *mcperrors.Error {
	return n.c.failed(outcome.Subject{Method: method}, err)
}

func (n *negotiation) about(method string, attempts int, e *mcperrors.Error) *mcperrors.Error {
	return n.c.about(outcome.Subject{Method: method, Attempts: attempts}, e)
}

func (n *negotiation) note(s era.Step) { n.steps = append(n.steps, ProbeStep(s)) }

func (n *negotiation) restarted(cause *mcperrors.Error) { n.c.emit(Restarted{Cause: cause}) }

// explain adds what was tried to an error, where that is more than the error
// says itself.
func (n *negotiation) explain(err error) error {
	var e *mcperrors.Error
	if len(n.steps) < 2 || !errors.As(err, &e) {
		return err
	}
	cause := &EraError{Tried: n.steps, Err: e.Cause}
	e.Cause = cause
	e.Message += "; " + cause.Error()
	return e
}
