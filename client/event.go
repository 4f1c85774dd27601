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
// [RequestDropped], [LoginChanged] and [CallbackFailed].
// Ignore unknown events: more may be added.
type Event = event.Event

// The events.
type (
	// StateChanged reports that the connection entered another [State]. From is the To
	// of the event before; the first event leaves StateReady, which [Connected]
	// reports. [Client.Close] emits no event.
	StateChanged = event.StateChanged

	// Negotiated reports how the client found the era and the revision. It is
	// emitted once, before [Connected], and again before [Restarted] if a
	// restarted program speaks another revision. [Client.Negotiated] returns it
	// too.
	Negotiated = event.Negotiated

	// Connected reports that the conversation is open. It is emitted once. After a
	// program exits, [Restarted] follows; after a lost session, [Reinitialized].
	Connected = event.Connected

	// Disconnected reports that the connection has ended for good, and not because
	// of [Client.Close]. Either the transport's only stream has ended, or the
	// program has exited and cannot be restarted ([Restart].Off is set, or it no
	// longer exists).
	//
	// It is emitted once, and every later call fails: close the client and connect
	// again. Streamable HTTP has no such end. There, failed calls or
	// [Resilience].KeepAlive show that the server is gone.
	Disconnected = event.Disconnected

	// Restarted reports that a new process of the server has replaced one that
	// exited. After connecting, it means that the conversation is open again.
	// Caches are dropped; log level and subscriptions are restored. While
	// connecting, the era probe ended the first process, and Restarted comes
	// before [Connected].
	Restarted = event.Restarted

	// Reinitialized reports that the client has opened a new session because the
	// server had lost the old one, or has reconnected because the stream of an
	// HTTP+SSE server ended. Caches are dropped; log level and subscribed
	// resources are restored.
	Reinitialized = event.Reinitialized

	// SubscriptionGap reports that the client has lost notifications for a while
	// and receives them again. Changes may have been missed: fetch again what
	// depends on them.
	SubscriptionGap = event.SubscriptionGap

	// SubscriptionEnded reports that a subscription has ended for good: the server
	// no longer supports it, or never supported it for [OnListChanged]. Cached
	// values are then used until their time to live is over.
	SubscriptionEnded = event.SubscriptionEnded

	// LivenessFailed reports that a liveness probe of [Resilience].KeepAlive failed.
	LivenessFailed = event.LivenessFailed

	// ListFailed reports that the client could not fetch a list for its own use:
	// the tools while connecting ([CacheConfig].NoPreload), or in the background when they
	// expired in the schema cache. Calls continue. For tools without a known
	// schema, arguments and results are not checked.
	ListFailed = event.ListFailed

	// ToolDrift reports that the definition of a tool has changed, or that a tool
	// is listed for the first time and differs from its pin ([CacheConfig].Pins). What
	// a model knows about the tool, and what a person approved, may be outdated.
	ToolDrift = event.ToolDrift

	// OutputMismatch reports that a result of a tool does not match the tool's output schema,
	// and was returned to the caller nevertheless ([Validation].Results). It is emitted for
	// each such result, but the client logs only the first of each tool and schema.
	OutputMismatch = event.OutputMismatch

	// ElicitationComplete reports that the user has finished what a [URLRequest]
	// asked for. Not every server sends it.
	ElicitationComplete = event.ElicitationComplete

	// RequestDropped reports that the client dropped a request of the server, which gets no
	// answer: the stateless era has no requests of servers, and no server may ask before its
	// era is known. The server may wait for the answer, and not answer a call meanwhile. Over
	// stdio, ping is answered and not dropped.
	RequestDropped = event.RequestDropped

	// LoginChanged reports a change of the login that the requests of the client use: it
	// began, finished, failed, was renewed, was lost, or was ended. The client also logs a
	// warning for a lost login. Several clients may use one login; each reports its changes.
	// The Authorizers of package auth report them; see [transport.LoginReporter].
	LoginChanged = event.LoginChanged

	// CallbackFailed reports that a function of the application panicked, or ended
	// its goroutine with [runtime.Goexit] (as t.FailNow does). The client logs it
	// too. A failure of OnEvent is only logged.
	CallbackFailed = event.CallbackFailed
)

// A function of the application that panics, or ends its goroutine as a failing
// test does, fails by itself: the server's messages are read on, the
// functions after it run, and a call that it belongs to fails with an error. It
// is logged, and [CallbackFailed] tells of it.

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

// callbackFailed tells of a function of the application that did not return.
func (c *Client) callbackFailed(e *callback.Error) {
	if e.Name != callback.LogHandler {
		c.core.Log.Error("[MCP] a function of the application failed", "server", c.core.Server, "error", e.Error(), "stack", string(e.Stack))
	}
	if e.Name != "OnEvent" { // it would be told of that, and so on
		c.emit(CallbackFailed{Callback: e.Name, Value: e.Value, Stack: e.Stack})
	}
}
