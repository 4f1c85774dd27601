// Package run makes calls. A [Runner] sends the requests of a [Call] until it ends. [Decide],
// [Retries] and [Hedging] decide the next step; they send nothing.
package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/catalog"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/inbound"
	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Runner makes the calls of one client: it sends a request, then takes the steps that the outcome
// requires, until the call ends. Set its fields before the first call. Its methods may be called
// from many goroutines at once.
type Runner struct {
	*core.Core
	Set    *Settings
	Client Client
	Keeper keeper.Holder
	Guard  guard.Gate

	learned core.Lazy[learned]
}

// Settings configure the calls of a client. They are immutable, and clients may share them.
type Settings struct {
	// Wait limits the wait for an answer. Its Max also limits the whole call.
	Wait  jsonrpc.Wait
	Retry RetrySettings
	Hedge HedgeSettings
	// Beats enables [Runner.Beats].
	Beats bool
	// NextID makes request ids; nil means [NextID].
	NextID func() jsonrpc.ID
	// KeyPrefix is the prefix of idempotency keys, "" for none.
	KeyPrefix string
	// NoTokens omits progress tokens from calls that do not ask for progress.
	NoTokens bool
	// Typed rejects results of the stateless era that have no resultType.
	Typed bool
	// Offer is what the client offers to the server. Asked is set if requests of the server may
	// reach handlers.
	Offer   *ask.Offer
	Asked   bool
	Profile mcperrors.Profile
}

// Client is the client that a Runner makes calls for.
type Client interface {
	// Catalog returns the known tools of the server.
	Catalog() *catalog.Catalog
	// Inbound returns the receiver of messages that the server sends on its own.
	Inbound() *inbound.Inbound
	// InputError returns the error of a call that failed in a round with the given state.
	InputError(err error, state json.RawMessage) *mcperrors.Error
	// MissingCapability returns a better error for a request that needs a capability which this
	// client does not declare, nil if there is none.
	MissingCapability(err *mcperrors.Error) error
	// RenewVersion switches to another revision after a server refused a request for its
	// revision. It reports whether to send the request again.
	RenewVersion(VersionRefusal) (again bool, _ error)
}

// VersionRefusal is a request whose revision the server refused.
type VersionRefusal struct {
	Err  *mcperrors.Error
	Sent mcp.Version
	// Repeatable is set if the request may run twice, and Before if it was already sent again
	// with another revision.
	Repeatable, Before bool
}

// learned is the state that a Runner creates on first use.
type learned struct {
	beats   atomic.Int64 // see Beats
	budget  core.Lazy[resilience.Budget]
	hedging core.Lazy[Hedging]
	untyped atomic.Bool // the missing resultType was logged
}

// Do makes a call: it sends requests until an outcome ends the call.
func (r *Runner) Do(ctx context.Context, c *Call) (json.RawMessage, error) {
	result, err := r.do(ctx, c)
	if err != nil && c.Retries != nil {
		c.Retries.Owed.Count()
	}
	return result, err
}

func (r *Runner) do(ctx context.Context, c *Call) (json.RawMessage, error) {
	c.Began = time.Now().Add(-c.asking)
	c.Token = c.Method == mcp.MethodToolsCall && !r.Set.NoTokens && c.Progress == nil && !c.HasToken()
	if err := r.awaitLink(ctx, c); err != nil {
		return nil, err
	}
	if err := r.findHeaders(ctx, c); err != nil {
		return nil, err
	}
	for {
		out := r.Attempt(ctx, c)
		again, err := r.follow(ctx, c, &out)
		if again && err == nil {
			err = r.timedOut(c, out.Record.Delivery)
		}
		if err != nil {
			return nil, err
		}
		if !again {
			return out.Result, nil
		}
	}
}

// awaitLink waits while a program is restarted or a session is renewed: no call goes before the
// handshake.
func (r *Runner) awaitLink(ctx context.Context, c *Call) error {
	waited, e := r.Keeper.Peek().Await(ctx, r.Span(c))
	if c.Waited = c.Waited || waited; e != nil {
		return r.about(c, e)
	}
	return nil
}

// findHeaders finds the arguments of a tool call that headers repeat.
func (r *Runner) findHeaders(ctx context.Context, c *Call) (err error) {
	if c.Method != mcp.MethodToolsCall || c.Name == "" || !r.Links.Load().StatelessHTTP() {
		return nil
	}
	var unlisted bool
	tools := c.Tools(ctx, r.Client.Catalog())
	if err := r.Unasked(c); err != nil {
		return err
	}
	if c.Headers, unlisted, err = tools.Headers(c.Name, c.Params); !unlisted {
		return err
	}
	c.Waited = true
	ctx, cancel := r.Span(c).Bound(ctx)
	defer cancel()
	c.Headers, err = tools.FindHeaders(ctx, c.Name, c.Params)
	c.Caller = tools.Caller()
	return err
}

// Attempt admits, sends and settles one request.
func (r *Runner) Attempt(ctx context.Context, c *Call) outcome.Outcome {
	if r.Life.Closed() {
		return outcome.Refused(r.about(c, life.ErrClosed()))
	}
	permit, err := r.Guard.Admit(ctx, r.request(c))
	c.Waited = permit.Waited
	if err != nil {
		if permit.Lost != nil {
			c.Link = permit.Lost // the lost link, which is replaced
		}
		return outcome.Refused(err)
	}
	defer permit.Release()
	l := r.Links.Load()
	if c.Purpose == link.Handshake {
		l = r.Links.Newest()
	}
	c.Begin(l, r.NextID())
	if prefix := r.Set.KeyPrefix; prefix != "" && c.Method == mcp.MethodToolsCall {
		if err := c.SetStamp(prefix, r.Span(c).Remaining(ctx)); err != nil {
			return outcome.Refused(r.about(c, err))
		}
	}
	req := c.Frame()
	req.Wait = r.patience(c)
	permit.Sending(l)
	var out outcome.Outcome
	if r.Set.Hedge.Share > 0 && l.Traits.Exchanges && !c.Purpose.Opens() {
		out = r.hedge(ctx, c, req)
	} else {
		out = r.exchange(ctx, c, req)
	}
	if out.Result != nil && r.Set.Beats {
		r.Beat()
	}
	r.settle(ctx, c, &permit, &out)
	return out
}

// Beat records a liveness signal of the server.
func (r *Runner) Beat() { r.learned.Get().beats.Add(1) }

// Beats returns the number of liveness signals, if [Settings].Beats is set.
func (r *Runner) Beats() int64 { return r.learned.Get().beats.Load() }

// request describes the next request of a call to the guard.
func (r *Runner) request(c *Call) guard.Request {
	return guard.Request{Subject: c.Subject(), Purpose: c.Purpose, Span: r.Span(c), Waited: c.Waited}
}

// NextID returns the id of a new request.
func (r *Runner) NextID() jsonrpc.ID {
	if own := r.Set.NextID; own != nil {
		return own()
	}
	return NextID()
}

// exchange sends one request over the link of its call. Every request of the client goes through
// exchange or hedge, except the notifications of the handshake.
func (r *Runner) exchange(ctx context.Context, c *Call, req transport.Request) outcome.Outcome {
	drops := r.Links.Drops()
	mark := drops.Mark()
	if r.Set.Asked && req.Wait.Idle > 0 && c.Link.Agreed.Era == mcp.EraSession {
		patience := &r.Client.Inbound().Asks().Patience
		defer patience.End(patience.Begin(c.Link.Conn.Touch, req.ID, req.Wait.Idle))
	}
	answer, err := r.Exchange(ctx, c.Link, req)
	c.answered(answer)
	out := r.outcomeOf(c, answer, err)
	switch {
	case err == nil:
		drops.Answered()
	case c.Link.Traits.Exchanges: // the dropped request may belong to another call
	case out.Err != nil && (out.Err.Kind == mcperrors.KindTimeout || out.Err.Kind == mcperrors.KindTransport):
		if asked := drops.Since(mark); asked != "" {
			out.Err.Message += "; the server asked " + r.Secrets().Hide(asked) + ", which this era does not allow, and got no answer"
		}
	}
	return out
}

// answered keeps the caller of the request, and the credentials that the server refused.
func (c *Call) answered(answer transport.Answer) {
	if answer.Caller != nil {
		c.Caller = answer.Caller
	}
	if answer.Challenged != nil {
		c.Challenged = answer.Challenged
	}
}

// Once sends a request of a call that has begun. It does not repeat it, and bypasses all limits.
func (r *Runner) Once(ctx context.Context, c *Call, wait jsonrpc.Wait) outcome.Outcome {
	req := c.Frame()
	req.Wait = wait
	return r.exchange(ctx, c, req)
}

// Ping sends a liveness probe that bypasses all caches and limits: ping in the session era,
// server/discover in the stateless era.
func (r *Runner) Ping(ctx context.Context, bound time.Duration) outcome.Outcome {
	ctx, cancel := context.WithTimeout(ctx, bound+time.Second) // in case a transport ignores Wait
	defer cancel()
	c := Call{Request: Request{Method: mcp.MethodPing, Purpose: link.Liveness}}
	c.Begin(r.Links.Load(), r.NextID())
	c.Wait = jsonrpc.Wait{Idle: -1, Max: bound}
	if c.Link.Agreed.Era == mcp.EraStateless {
		c.Method = mcp.MethodDiscover
	}
	return r.Once(ctx, &c, jsonrpc.Wait{Max: bound})
}

// outcomeOf returns the outcome of a request from the transport's return values.
func (r *Runner) outcomeOf(c *Call, answer transport.Answer, err error) outcome.Outcome {
	agreed := c.Link.Agreed
	sent := outcome.Sent{
		Method: c.Method, Tool: c.Tool, Resource: c.Name, Version: agreed.Version, Era: agreed.Era,
		Exchanges: c.Link.Traits.Exchanges, Wait: r.Wait(&c.Options), Profile: r.Set.Profile,
	}
	switch { // a result needs neither, and Declared costs an allocation
	case err != nil:
		sent.Restarts = r.Keeper.Peek().Restarting()
	case answer.Error != nil:
		sent.Declared = r.Set.Offer.Capabilities
	}
	out := outcome.Of(&sent, answer, err)
	switch {
	case out.Err != nil:
		r.failed(c, &out)
	case out.Kind != mcp.ResultInputRequired:
		c.Challenged.Succeed()
	}
	return out
}

// failed completes the outcome of a failed request.
func (r *Runner) failed(c *Call, out *outcome.Outcome) {
	a := &out.Record
	switch {
	case out.Failure != nil:
		if a.Reused && c.Retries != nil {
			a.Repeated = c.Retries.Last.Reused
		}
		a.Repeated = c.Crashes.Note(c.Link, out.Failure) || a.Repeated
		if a.Class == resilience.ClassTimeout {
			// Neither the short timeout of one caller nor a call that the server runs before this
			// one may open the circuit for all.
			a.OwnTimer = (c.Purpose == link.Liveness || !r.impatient(&c.Options)) && !r.Guard.Busy(c.Link)
		}
	case out.Err.Kind == mcperrors.KindNotFound && c.Method == mcp.MethodToolsCall:
		r.Client.Catalog().Doubt()
	}
	if doubt := c.Link.Agreed.Doubt; doubt != nil && out.Err.RPC != nil {
		out.Err.Message += "; " + *doubt
	}
	out.Err = r.About(c.Subject(), out.Err)
}

// settle records the end of a request.
func (r *Runner) settle(ctx context.Context, c *Call, permit *guard.Permit, out *outcome.Outcome) {
	if out.Err == nil {
		permit.Settle(out)
		if c.Retries != nil {
			c.Retries.Owed.Succeeded()
		}
		if c.Attempts == 1 && out.Record.Class != resilience.ClassBrokenResult {
			r.Budget().Success()
		}
		return
	}
	if c.Retries == nil {
		c.Retries = &Retries{}
	}
	if c.Began.IsZero() { // it has a single attempt
		permit.Settle(out)
	} else {
		permit.SettleLater(out, &c.Retries.Owed)
	}
	c.Retries.Failed(out.Record)
	if f := out.Failure; f != nil && c.Cancelable() {
		r.Abandon(ctx, c, c.ID, f)
	}
}

// cancelTimeout limits the cancel notification of an abandoned call.
const cancelTimeout = 5 * time.Second

// Abandon sends a cancel notification for a request that may have arrived and that this side gave
// up. The notification has the credentials of the call's caller.
func (r *Runner) Abandon(ctx context.Context, c *Call, id jsonrpc.ID, f *transport.Failure) {
	l, who := c.Link, c.Caller
	gaveUp := f.Reason == transport.ReasonCanceled || f.Reason == transport.ReasonTimeout
	if !gaveUp || f.NotSent || l.StatelessHTTP() { // closing the exchange cancels the request
		return
	}
	params, err := mcp.Marshal(&mcp.CancelledParams{RequestID: id, Reason: f.Err.Error()})
	if err != nil {
		return // cannot happen: the members are an id and a text
	}
	r.Life.Background(func(context.Context) {
		ctx, end := r.Life.With(ctx)
		defer end()
		ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
		defer cancel()
		// The call has failed already. If the notification fails too, the session may be lost.
		if err := l.Notify(ctx, jsonrpc.Notification{Method: mcp.MethodCancelled, Params: params}, who); err != nil {
			r.Keeper.NoteLoss(l, err)
		}
	})
}

// follow takes the next step after an outcome. It reports whether to send the call again. If not,
// and there is no error, the call returns the outcome's result.
func (r *Runner) follow(ctx context.Context, c *Call, out *outcome.Outcome) (again bool, err error) {
	facts := r.facts(c, out)
	step := Decide(out, &facts)
	switch step {
	case End:
		return false, nil
	case Untyped:
		return false, r.acceptUntyped(c)
	case Task:
		if c.acceptTask(r.Set.Offer) {
			return false, nil
		}
		return false, r.misplaced(c, out.Kind)
	case Misplaced:
		return false, r.misplaced(c, out.Kind)
	case Round:
		return true, r.answerRound(ctx, c, out.Result)
	default:
	}
	ctx, cancel := r.Span(c).Bound(ctx)
	defer cancel()
	if again, err = r.repair(ctx, c, step, out); again || err != nil {
		return again, c.Retries.InDoubt(err)
	}
	return r.retry(ctx, c, out)
}

func (r *Runner) facts(c *Call, out *outcome.Outcome) Facts {
	return Facts{
		Method: c.Method, Purpose: c.Purpose, Link: c.Link, Had: c.Repairs, Verbatim: c.Verbatim,
		Restarts: out.Err != nil && r.Keeper.Peek().Restarting(), Visits: r.Set.Offer.URL != nil && !c.Verbatim,
	}
}

// misplaced returns the error of a result whose type is not allowed here.
func (r *Runner) misplaced(c *Call, kind mcp.ResultType) error {
	return r.about(c, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
		"the server answered with an unexpected result type, "+strconv.Quote(jsonrpc.Printable(string(kind), 40)), nil))
}

// acceptUntyped accepts a result without a resultType as complete, unless the application wants
// strict servers.
func (r *Runner) acceptUntyped(c *Call) error {
	if r.Set.Typed {
		return r.about(c, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
			"the server's result has no resultType", nil))
	}
	if r.learned.Get().untyped.CompareAndSwap(false, true) {
		r.Log.Warn("[MCP] the server's results have no resultType; they count as complete", "server", r.Server,
			"method", c.Method)
	}
	return nil
}

// Unasked returns the error of a call that ended while the application was asked who makes it,
// nil for any other call.
func (r *Runner) Unasked(c *Call) error {
	if c.Caller == nil || c.Caller.Err == nil {
		return nil // the usual case; e escapes to the heap
	}
	var e *mcperrors.Error
	if !errors.As(c.Caller.Err, &e) {
		return nil
	}
	own := *e // several calls may share the Caller
	return r.about(c, &own)
}

// about sets in an error, nil for none, the call that failed.
func (r *Runner) about(c *Call, e *mcperrors.Error) error { return r.Refusal(c.Subject(), e) }

// Span returns the time limit of a call.
func (r *Runner) Span(c *Call) core.Span { return core.Span{Began: c.Began, Wait: r.Wait(&c.Options)} }

// Wait returns the wait for an answer.
func (r *Runner) Wait(o *Options) jsonrpc.Wait {
	return jsonrpc.Wait{Idle: max(cmp.Or(o.Wait.Idle, r.Set.Wait.Idle), 0), Max: max(cmp.Or(o.Wait.Max, r.Set.Wait.Max), 0)}
}

// impatient reports whether a call's own timeouts are shorter than the client's.
func (r *Runner) impatient(o *Options) bool {
	less := func(own, general time.Duration) bool { return own > 0 && (general == 0 || own < general) }
	return less(o.Wait.Idle, r.Set.Wait.Idle) || less(o.Wait.Max, r.Set.Wait.Max)
}

// patience returns the wait for the answer to a request: what earlier attempts and waits have
// left.
func (r *Runner) patience(c *Call) jsonrpc.Wait {
	if c.Attempts > 1 || c.Waited || c.asking > 0 {
		return r.Span(c).Patience()
	}
	return r.Wait(&c.Options)
}

// timedOut returns an error if the time of a call is over while no request is in flight. delivery
// is the delivery of the last attempt.
func (r *Runner) timedOut(c *Call, delivery mcperrors.Delivery) error {
	whole := r.Span(c)
	if !whole.Over() {
		return nil
	}
	return c.Retries.InDoubt(r.about(c, errormap.Timeout(delivery, "the call did not end", whole.Wait.Max, nil)))
}
