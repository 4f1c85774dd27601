package client

import (
	"context"
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Event reports a change of the connection to [OnEvent]. It is one of
// [StateChanged], [Negotiated], [Connected], [Disconnected], [Restarted],
// [Reinitialized], [SubscriptionGap], [SubscriptionEnded], [LivenessFailed],
// [ListFailed], [ToolDrift], [OutputMismatch], [ElicitationComplete],
// [RequestDropped], [LoginChanged] and [CallbackFailed].
// Ignore unknown events: more may be added.
type Event interface {
	// ServerName returns the name of the server that the event is about; see [WithName].
	ServerName() string
	// hidden returns the event as one of the source, without secrets.
	hidden(source, mcperrors.Secrets) Event
}

// source is the part that all events have.
type source struct{ server string }

// ServerName implements [Event].
func (s source) ServerName() string { return s.server }

// Connected reports that the conversation is open. It is emitted once. After a
// program exits, [Restarted] follows; after a lost session, [Reinitialized].
type Connected struct {
	source

	// Server is how the server identifies itself.
	Server mcp.Implementation
	// Version is the negotiated revision.
	Version mcp.Version
}

func (e Connected) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Server = core.HideServer(now, e.Server)
	return e
}

// Disconnected reports that the connection has ended for good, and not because
// of [Client.Close]. Either the transport's only stream has ended, or the
// program has exited and cannot be restarted ([Restart].Off is set, or it no
// longer exists).
//
// It is emitted once, and every later call fails: close the client and connect
// again. Streamable HTTP has no such end. There, failed calls or
// [Resilience].KeepAlive show that the server is gone.
type Disconnected struct {
	source

	// Cause is how the connection ended, with the evidence from the program.
	Cause error
}

func (e Disconnected) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Cause = now.HideError(e.Cause)
	return e
}

// ElicitationComplete reports that the user has finished what a [URLRequest]
// asked for. Not every server sends it.
type ElicitationComplete struct {
	source

	// ID is the ElicitationID of the request.
	ID string
}

func (e ElicitationComplete) hidden(from source, _ mcperrors.Secrets) Event {
	e.source = from
	return e
}

// RequestDropped reports that the client dropped a request of the server, which gets no
// answer: the stateless era has no requests of servers, and no server may ask before its
// era is known. The server may wait for the answer, and not answer a call meanwhile. Over
// stdio, ping is answered and not dropped.
type RequestDropped struct {
	source

	// Method is the method of the request, cut to 100 characters.
	Method string
}

func (e RequestDropped) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Method = now.Hide(e.Method)
	return e
}

// Restarted reports that a new process of the server has replaced one that
// exited. After connecting, it means that the conversation is open again.
// Caches are dropped; log level and subscriptions are restored. While
// connecting, the era probe ended the first process, and Restarted comes
// before [Connected].
type Restarted struct {
	source

	// Cause is why the previous process ended.
	Cause error
	// Server is how the server identifies itself, and Version the revision that
	// was negotiated now. Both are empty while connecting.
	Server  mcp.Implementation
	Version mcp.Version
}

func (e Restarted) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Cause, e.Server = now.HideError(e.Cause), core.HideServer(now, e.Server)
	return e
}

// Reinitialized reports that the client has opened a new session because the
// server had lost the old one, or has reconnected because the stream of an
// HTTP+SSE server ended. Caches are dropped; log level and subscribed
// resources are restored.
type Reinitialized struct {
	source

	// Server is how the server identifies itself.
	Server mcp.Implementation
	// Version is the revision that was negotiated now.
	Version mcp.Version
}

func (e Reinitialized) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Server = core.HideServer(now, e.Server)
	return e
}

// ListFailed reports that the client could not fetch a list for its own use:
// the tools while connecting ([CacheConfig].NoPreload), or in the background when they
// expired in the schema cache. Calls continue. For tools without a known
// schema, arguments and results are not checked.
type ListFailed struct {
	source

	// Method is the method that lists, such as tools/list.
	Method string
	// Reason is the error of the request.
	Reason error
}

func (e ListFailed) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Reason = now.HideError(e.Reason)
	return e
}

// OutputMismatch reports that a result of a tool does not match the tool's output schema,
// and was returned to the caller nevertheless ([Validation].Results). It is emitted for
// each such result, but the client logs only the first of each tool and schema.
type OutputMismatch struct {
	source

	Tool string
	// Reason tells where and why the result does not match, without its values.
	Reason string
}

func (e OutputMismatch) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Reason = now.Hide(e.Reason)
	return e
}

// ToolDrift reports that the definition of a tool has changed, or that a tool
// is listed for the first time and differs from its pin ([CacheConfig].Pins). What
// a model knows about the tool, and what a person approved, may be outdated.
type ToolDrift struct {
	source

	Tool string
	// Old and New are fingerprints. If the tool had not been listed before, Old
	// is its pin.
	Old, New string
	// Changed names the members that differ, sorted, for example "description"
	// and "inputSchema". It is nil if the old definition is unknown.
	Changed []string
	// Before and After are the definitions, untrusted. Before is nil if it is
	// unknown. Do not change them.
	Before *mcp.Tool
	After  mcp.Tool
	// Pinned is true if the tool has a pin that differs from New.
	Pinned bool
}

func (e ToolDrift) hidden(from source, _ mcperrors.Secrets) Event {
	e.source = from
	return e
}

// SubscriptionGap reports that the client has lost notifications for a while
// and receives them again. Changes may have been missed: fetch again what
// depends on them.
type SubscriptionGap struct {
	source

	// Reason is what interrupted the notifications.
	Reason error
}

func (e SubscriptionGap) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Reason = now.HideError(e.Reason)
	return e
}

// SubscriptionEnded reports that a subscription has ended for good: the server
// no longer supports it, or never supported it for [OnListChanged]. Cached
// values are then used until their time to live is over.
type SubscriptionEnded struct {
	source

	// Reason is the server's error.
	Reason error
}

func (e SubscriptionEnded) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Reason = now.HideError(e.Reason)
	return e
}

// LivenessFailed reports that a liveness probe of [Resilience].KeepAlive failed.
type LivenessFailed struct {
	source

	// Reason is the error of the probe.
	Reason error
}

func (e LivenessFailed) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Reason = now.HideError(e.Reason)
	return e
}

// Negotiated reports how the client found the era and the revision. It is
// emitted once, before [Connected], and again before [Restarted] if a
// restarted program speaks another revision. [Client.Negotiated] returns it
// too.
type Negotiated struct {
	source

	Era     mcp.Era
	Version mcp.Version
	// Evidence is the reason in one word: pinned, remembered, transport (one
	// that exists only in the session era), or a row of the decision table,
	// such as discovered, method-not-found, silence or ended. It is deaf for
	// a program that answered only after a second start without the probe.
	Evidence string
	// Tried are the requests that were sent, in order. Each costs a round trip
	// or a timeout.
	Tried []ProbeStep
	// Remembered is true if an [Era] from the store was used and was right.
	Remembered bool
	// Restarted is true if the program was restarted because the probe had
	// ended it, or because it wrote nothing; see also [Probe].FreshProcess.
	Restarted bool
	// Fallback is true if the server was reached over the transport's fallback,
	// which is HTTP+SSE.
	Fallback bool
}

func (e Negotiated) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Tried = slices.Clone(e.Tried)
	for i := range e.Tried {
		e.Tried[i].Reply = now.Hide(e.Tried[i].Reply)
	}
	return e
}

// A function of the application that panics, or ends its goroutine as a failing
// test does, fails by itself (G6): the server's messages are read on, the
// functions after it run, and a call that it belongs to fails with an error. It
// is logged, and [CallbackFailed] tells of it.

// CallbackFailed reports that a function of the application panicked, or ended
// its goroutine with [runtime.Goexit] (as t.FailNow does). The client logs it
// too. A failure of OnEvent is only logged.
type CallbackFailed struct {
	source

	// Callback names the function by its option, for example "OnLog",
	// "WithProgress" or "Trace.Sent".
	Callback string
	// Value is the value of the panic; nil if the goroutine was ended.
	Value any
	// Stack is the stack of the panic; nil if the goroutine was ended.
	Stack []byte
}

func (e CallbackFailed) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	switch v := e.Value.(type) {
	case nil:
	case error:
		e.Value = now.HideError(v)
	default:
		text := fmt.Sprint(v)
		if hidden := now.Hide(text); hidden != text {
			e.Value = hidden
		}
	}
	if hidden := now.Hide(string(e.Stack)); hidden != string(e.Stack) {
		e.Stack = []byte(hidden)
	}
	return e
}

// OnEvent registers a handler for events of the connection. It runs in order
// with the other handlers; see [OnNotification]. Several OnEvent options add
// up, and the handlers run in the order of the options.
func OnEvent(f func(ctx context.Context, e Event)) Option {
	return optionFunc(func(c *config) {
		if f != nil {
			c.onEvent = append(c.onEvent, f)
		}
	})
}

// emit hands an event to the application. It never waits.
func (c *Client) emit(e Event) {
	if c.cfg.onEvent != nil {
		c.inbound().Notifier().Event(e.hidden(source{c.calls.Errors.Server}, c.calls.Errors.Secrets.Secrets()))
	}
}

// report calls functions for an event. One that ends the goroutine does not stop the
// next. failed gets those that do not return.
func report(ctx context.Context, failed func(*callback.Error), e Event, to []func(context.Context, Event)) {
	if len(to) == 0 {
		return
	}
	if e, ok := e.(CallbackFailed); ok && e.Callback == callback.LogHandler {
		failed = nil // by a log whose handler fails: that would be an event again, forever
	}
	defer report(ctx, failed, e, to[1:])
	callback.Run("OnEvent", failed, func() { to[0](ctx, e) })
}

// callbackFailed tells of a function of the application that did not return.
func (c *Client) callbackFailed(e *callback.Error) {
	if e.Name != callback.LogHandler {
		c.calls.Log.Error("[MCP] a function of the application failed", "server", c.calls.Errors.Server, "error", e.Error(), "stack", string(e.Stack))
	}
	if e.Name != "OnEvent" { // it would be told of that, and so on
		c.emit(CallbackFailed{Callback: e.Name, Value: e.Value, Stack: e.Stack})
	}
}
