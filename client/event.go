package client

import (
	"context"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/internal/era"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Event is something that happened to the connection, for [OnEvent]: one of
// [StateChanged], [Negotiated], [Connected], [Disconnected], [Restarted],
// [Reinitialized], [SubscriptionGap], [SubscriptionEnded], [LivenessFailed],
// [ListFailed], [ToolDrift], [ElicitationComplete] and [CallbackFailed]. More may come: ignore those you do
// not know.
type Event interface{ hidden(mcperrors.Secrets) Event }

// Connected says that the conversation is open: after connecting, and never
// again ([Restarted] follows a program that ended, [Reinitialized] a lost
// session).
type Connected struct {
	// Server is what the server calls itself.
	Server mcp.Implementation
	// Version is the revision that was agreed.
	Version mcp.Version
}

func (e Connected) hidden(now mcperrors.Secrets) Event {
	e.Server = hideServer(now, e.Server)
	return e
}

// Disconnected says that the connection has ended for good and this side did not
// end it: the one stream of the transport has ended, or the program has and is
// not started again, since [Restart.Off] says so or it is not there any more. It
// comes once: every later call fails, so [Client.Close] the client and connect
// anew. Over streamable HTTP there is no
// such end: a server that is away is found out by calls, or by [WithKeepAlive].
type Disconnected struct {
	// Cause is how it ended, with what is known of the program.
	Cause error
}

func (e Disconnected) hidden(now mcperrors.Secrets) Event {
	e.Cause = now.HideError(e.Cause)
	return e
}

// ElicitationComplete says that the user has finished what a [URLRequest] asked
// for, where the server says so.
type ElicitationComplete struct {
	// ID is the ElicitationID of the request.
	ID string
}

func (e ElicitationComplete) hidden(mcperrors.Secrets) Event { return e }

// Restarted says that a fresh process of the server runs in place of one that
// ended. While connecting, when the server was asked for its era,
// it comes before [Connected]. Later it says that the conversation is open again
// and calls go on: caches are dropped; the log level, the resources subscribed to
// and the subscriptions are set again.
type Restarted struct {
	// Cause is what became of the process before.
	Cause error
	// Server is what the server calls itself, and Version the revision that was
	// agreed now; empty while connecting.
	Server  mcp.Implementation
	Version mcp.Version
}

func (e Restarted) hidden(now mcperrors.Secrets) Event {
	e.Cause, e.Server = now.HideError(e.Cause), hideServer(now, e.Server)
	return e
}

// Reinitialized says that the server had lost the session and a new one is open
// , or that the stream of an HTTP+SSE server ended and the client is
// connected again. Caches are dropped; the log level and the resources subscribed to
// are set again.
type Reinitialized struct {
	// Server is what the server calls itself.
	Server mcp.Implementation
	// Version is the revision that was agreed now.
	Version mcp.Version
}

func (e Reinitialized) hidden(now mcperrors.Secrets) Event {
	e.Server = hideServer(now, e.Server)
	return e
}

// ListFailed says that a list could not be fetched that the client wanted for
// itself: the tools while connecting ([WithPreload]), or in the background when
// their time in the schema cache is over. Calls go on; arguments and results are
// not checked where nothing is known of a tool.
type ListFailed struct {
	// Method is the method of the list.
	Method string
	// Reason is the error of the request.
	Reason error
}

func (e ListFailed) hidden(now mcperrors.Secrets) Event {
	e.Reason = now.HideError(e.Reason)
	return e
}

// ToolDrift says that a tool is not what it was: this client has listed it with
// another definition under the same name, or for the first time with one that is
// not the pinned one ([WithToolPins]). What a model was told about it, and what a
// person allowed, may not hold any more.
type ToolDrift struct {
	Tool string
	// Old and New are fingerprints; Old is the pin when the tool had not been
	// listed before.
	Old, New string
	// Changed names the members that differ, sorted: "description",
	// "inputSchema"; nil when the old definition is not known.
	Changed []string
	// Before and After are the definitions, untrusted; Before is nil when it is
	// not known. They must not be changed.
	Before *mcp.Tool
	After  mcp.Tool
	// Pinned says that the tool has a pin and New is not it.
	Pinned bool
}

func (e ToolDrift) hidden(mcperrors.Secrets) Event { return e }

// SubscriptionGap says that what the server tells by itself was not heard for a
// time, and is again: changes may have been missed, so whatever depends on them
// should be fetched again.
type SubscriptionGap struct {
	// Reason is what interrupted it.
	Reason error
}

func (e SubscriptionGap) hidden(now mcperrors.Secrets) Event {
	e.Reason = now.HideError(e.Reason)
	return e
}

// SubscriptionEnded says that a subscription is over and cannot be had again:
// the server does not have it any more, or never had it for [OnListChanged].
// What is cached lives for its time then.
type SubscriptionEnded struct {
	// Reason is the server's.
	Reason error
}

func (e SubscriptionEnded) hidden(now mcperrors.Secrets) Event {
	e.Reason = now.HideError(e.Reason)
	return e
}

// LivenessFailed says that the server gave no sign of life when [WithKeepAlive]
// asked for one.
type LivenessFailed struct {
	// Reason is the error of the question.
	Reason error
}

func (e LivenessFailed) hidden(now mcperrors.Secrets) Event {
	e.Reason = now.HideError(e.Reason)
	return e
}

// Negotiated says how the client found the era and the revision of the
// conversation. It comes once, before [Connected], and again before [Restarted] if
// a restarted program speaks another revision. [Client.Negotiated] returns it too.
type Negotiated struct {
	Era     mcp.Era
	Version mcp.Version
	// Evidence is the reason, in one word: pinned, remembered, transport (which
	// exists in the session era only), or the row of the decision table that fitted,
	// such as discovered, method-not-found, silence or ended.
	Evidence string
	// Tried are the requests that were made, in order. Each is a round trip, or
	// the wait for one.
	Tried []ProbeStep
	// Remembered says that an [Era] of the store was used, and was right.
	Remembered bool
	// Restarted says that the program was restarted, because the probe had ended
	// it; see also [ProbePolicy].FreshProcess.
	Restarted bool
	// Fallback says that the server was reached over the transport's
	// fallback, which is HTTP+SSE.
	Fallback bool
}

func (e Negotiated) hidden(now mcperrors.Secrets) Event {
	e.Tried = slices.Clone(e.Tried)
	for i := range e.Tried {
		e.Tried[i].Reply = now.Hide(e.Tried[i].Reply)
	}
	return e
}

// Evidence that is not a row of the decision table; see [Negotiated].
const (
	EvidencePinned     = era.EvidencePinned
	EvidenceRemembered = era.EvidenceRemembered
	EvidenceTransport  = era.EvidenceTransport
)

// OnEvent is called for each event of the connection, in order and together
// with the other handlers; see [OnNotification]. Several OnEvent options add up:
// each function is called, in the order of the options.
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
		c.notifier().Event(e.hidden(c.secrets()))
	}
}
