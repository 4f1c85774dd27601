package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// Event reports a change of the connection to [OnEvent]. It is one of
// [StateChanged], [Negotiated], [Connected], [Disconnected], [Restarted],
// [Reinitialized], [SubscriptionGap], [SubscriptionEnded], [LivenessFailed],
// [ListFailed], [ToolDrift], [OutputMismatch], [ElicitationComplete],
// [RequestDropped], [LoginChanged] and [CallbackFailed]. Each lists its fields in its
// docs; its method ServerName returns the name of the server.
// Ignore unknown events: more may be added.
type Event = event.Event

// The events.
type (
	// StateChanged reports that the connection entered another [State]. From is the To
	// of the event before; the first event leaves StateReady, which [Connected]
	// reports. [Client.Close] emits no event.
	//
	//	From, To   State
	//	Cause      error         // how the program exited, or why the next one does not work; nil for StateReady
	//	RetryAfter time.Duration // how long StateBackoff lasts; 0 if the next call may reopen the session at once
	StateChanged = event.StateChanged

	// Negotiated reports how the client found the era and the revision. It is
	// emitted once, before [Connected], and again before [Restarted] if a
	// restarted program speaks another revision. [Client.Negotiated] returns it
	// too. Evidence is the reason in one word: pinned, remembered, transport (one
	// that exists only in the session era), deaf (a program that answered only
	// after a second start without the probe), or what the probe led to, such as
	// discovered, method-not-found, silence or ended.
	//
	//	Era        mcp.Era
	//	Version    mcp.Version
	//	Evidence   string      // the reason in one word
	//	Tried      []ProbeStep // the requests that were sent, in order
	//	Remembered bool        // an Era from the EraStore was used and was right
	//	Restarted  bool        // the program was started again because the probe ended or blocked it
	//	Fallback   bool        // the server was reached over HTTP+SSE
	Negotiated = event.Negotiated

	// Connected reports that the conversation is open. It is emitted once. Later,
	// [Restarted] reports a new process, and [Reinitialized] a new session.
	//
	//	Server  mcp.Implementation // how the server identifies itself
	//	Version mcp.Version        // the negotiated revision
	Connected = event.Connected

	// Disconnected reports that the connection has ended for good, and not because
	// of [Client.Close]. Either the transport's only stream has ended, or the
	// program has exited and cannot be restarted ([Restart].Off is set, or it no
	// longer exists).
	//
	// It is emitted once, and every later call fails: close the client and connect
	// again. Streamable HTTP has no such end. There, failed calls or
	// [Resilience].KeepAlive show that the server is gone.
	//
	//	Cause error // how the connection ended, with the evidence from the program
	Disconnected = event.Disconnected

	// Restarted reports that a new process of the server has replaced one that
	// exited. After connecting, it means that the conversation is open again.
	// Caches are dropped; log level and subscriptions are restored. While
	// connecting, the era probe ended the first process, and Restarted comes
	// before [Connected].
	//
	//	Cause   error              // why the previous process ended
	//	Server  mcp.Implementation // how the server identifies itself; empty while connecting
	//	Version mcp.Version        // the revision negotiated now; empty while connecting
	Restarted = event.Restarted

	// Reinitialized reports that the client has opened a new session because the
	// server had lost the old one, or has reconnected because the stream of an
	// HTTP+SSE server ended. Caches are dropped; log level and subscribed
	// resources are restored.
	//
	//	Server  mcp.Implementation // how the server identifies itself
	//	Version mcp.Version        // the revision negotiated now
	Reinitialized = event.Reinitialized

	// SubscriptionGap reports that the client has lost notifications for a while
	// and receives them again. Changes may have been missed: fetch again what
	// depends on them.
	//
	//	Reason error // what interrupted the notifications
	SubscriptionGap = event.SubscriptionGap

	// SubscriptionEnded reports that a subscription has ended for good: the server
	// no longer supports it, or never supported it for [OnListChanged]. Cached
	// values are then used until their time to live is over.
	//
	//	Reason error // the server's error
	SubscriptionEnded = event.SubscriptionEnded

	// LivenessFailed reports that a liveness probe of [Resilience].KeepAlive failed.
	//
	//	Reason error // the error of the probe
	LivenessFailed = event.LivenessFailed

	// ListFailed reports that the client could not fetch a list for its own use:
	// the tools while connecting ([CacheConfig].NoPreload), or in the background when they
	// expired in the schema cache. Calls continue. For tools without a known
	// schema, arguments and results are not checked.
	//
	//	Method string // such as tools/list
	//	Reason error  // the error of the request
	ListFailed = event.ListFailed

	// ToolDrift reports that the definition of a tool has changed, or that a tool
	// is listed for the first time and differs from its pin ([CacheConfig].Pins). What
	// a model knows about the tool, and what a person approved, may be outdated.
	//
	//	Tool     string
	//	Old, New string    // fingerprints; Old is the pin if the tool was not listed before
	//	Changed  []string  // the members that differ, sorted; nil if the old definition is unknown
	//	Before   *mcp.Tool // untrusted, not to be changed; nil if unknown
	//	After    mcp.Tool  // untrusted, not to be changed
	//	Pinned   bool      // the tool has a pin that differs from New
	ToolDrift = event.ToolDrift

	// OutputMismatch reports that a result of a tool does not match the tool's output schema,
	// and was returned to the caller nevertheless ([Validation].Results). It is emitted for
	// each such result, but the client logs only the first of each tool and schema.
	//
	//	Tool   string
	//	Reason string // where and why the result does not match, without its values
	OutputMismatch = event.OutputMismatch

	// ElicitationComplete reports that the user has finished what a [URLRequest]
	// asked for. Not every server sends it.
	//
	//	ID string // the ElicitationID of the request
	ElicitationComplete = event.ElicitationComplete

	// RequestDropped reports that the client dropped a request of the server and does not
	// answer it. The stateless era has no requests of servers, and no server may ask before
	// its era is known. The server may wait for the answer, and not answer a call meanwhile.
	// Over stdio, the client answers ping.
	//
	//	Method string // cut to 100 characters
	RequestDropped = event.RequestDropped

	// LoginChanged reports a change of the login that the requests of the client use: it
	// began, finished, failed, was renewed, was lost, or was ended. The client also logs a
	// warning for a lost login. Several clients may use one login; each reports its changes.
	// The Authorizers of package auth report them; see [transport.LoginReporter].
	//
	//	State     transport.LoginState
	//	Issuer    string // the authorization server, "" if unknown
	//	Principal string // whose login it is, as the application named the person or account
	//	Err       error  // why the login failed or was lost, else nil
	LoginChanged = event.LoginChanged

	// CallbackFailed reports that a function of the application panicked, or ended
	// its goroutine with [runtime.Goexit] (as t.FailNow does). The client logs it
	// too. A failure of OnEvent is only logged.
	//
	//	Callback string // the function by its option, such as "OnLog" or "Trace.Sent"
	//	Value    any    // the value of the panic; nil if the goroutine was ended
	//	Stack    []byte // the stack of the panic; nil if the goroutine was ended
	CallbackFailed = event.CallbackFailed
)

// OnEvent registers a handler for events of the connection. It runs in order
// with the other handlers; see [OnNotification]. Several OnEvent options add
// up, and the handlers run in the order of the options.
func OnEvent(f func(ctx context.Context, e Event)) Option {
	return optionFunc(func(c *config) {
		if f != nil {
			c.handlers.Event = append(c.handlers.Event, f)
		}
	})
}

// emit hands an event to the application. It never waits.
func (c *Client) emit(e Event) {
	if c.cfg.handlers.Event != nil {
		c.inbound().Notifier().Event(event.From(c.core.Server, c.core.Secrets(), e))
	}
}

// callbackFailed logs and reports that a function of the application panicked, or ended its
// goroutine as a failing test does. Nothing else fails but the call that the function
// belongs to: the client continues to read, and calls the other functions.
func (c *Client) callbackFailed(e *callback.Error) {
	if e.Name != callback.LogHandler {
		c.core.Log.Error("[MCP] a function of the application failed", "server", c.core.Server, "error", e.Error(), "stack", string(e.Stack))
	}
	if e.Name != "OnEvent" { // it would fail again, without end
		c.emit(CallbackFailed{Callback: e.Name, Value: e.Value, Stack: e.Stack})
	}
}
