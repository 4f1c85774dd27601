// Package event defines the events that the parts of a client report to the application.
// Package client exports them under the same names, and describes them and their fields.
package event

import (
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Event is one of the types of this package.
type Event interface {
	// ServerName returns the name of the server that the event is about; see client.WithName.
	ServerName() string
	// hidden returns the event with its source set and its secrets hidden.
	hidden(source, mcperrors.Secrets) Event
}

// From returns the event of a server with its secrets hidden.
func From(server string, now mcperrors.Secrets, e Event) Event { return e.hidden(source{server}, now) }

// source is the part that all events share.
type source struct{ server string }

// ServerName implements [Event].
func (s source) ServerName() string { return s.server }

// StateChanged is described in package client.
type StateChanged struct {
	source

	From, To life.State
	// Cause is the reason: how the program exited, or why the next one failed. It is nil for
	// StateReady.
	Cause error
	// RetryAfter is the duration of StateBackoff. It is 0 in other states, and if the next call
	// may reopen the session at once.
	RetryAfter time.Duration
}

func (e StateChanged) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Cause = now.HideError(e.Cause)
	return e
}

// Negotiated is described in package client.
type Negotiated struct {
	source

	Era     mcp.Era
	Version mcp.Version
	// Evidence is the reason in one word: pinned, remembered, transport (one that exists only in
	// the session era), or a row of the decision table, such as discovered, method-not-found,
	// silence or ended. It is deaf for a program that answered only after a second start without
	// the probe.
	Evidence string
	// Tried are the requests that were sent, in order. Each costs a round trip
	// or a timeout.
	Tried []ProbeStep
	// Remembered is true if a client.Era from the store was used and was correct.
	Remembered bool
	// Restarted is true if the program was restarted because it exited during the probe or wrote
	// nothing; see also FreshProcess of client.Probe.
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

// Connected is described in package client.
type Connected struct {
	source

	Server  mcp.Implementation
	Version mcp.Version
}

func (e Connected) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Server = hideServer(now, e.Server)
	return e
}

// Disconnected is described in package client.
type Disconnected struct {
	source

	Cause error
}

func (e Disconnected) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Cause = now.HideError(e.Cause)
	return e
}

// Restarted is described in package client.
type Restarted struct {
	source

	// Cause is why the previous process ended.
	Cause error
	// Server is how the server identifies itself, and Version the newly negotiated revision. Both
	// are empty while connecting.
	Server  mcp.Implementation
	Version mcp.Version
}

func (e Restarted) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Cause, e.Server = now.HideError(e.Cause), hideServer(now, e.Server)
	return e
}

// Reinitialized is described in package client.
type Reinitialized struct {
	source

	// Server is how the server identifies itself.
	Server mcp.Implementation
	// Version is the newly negotiated revision.
	Version mcp.Version
}

func (e Reinitialized) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Server = hideServer(now, e.Server)
	return e
}

// SubscriptionGap is described in package client.
type SubscriptionGap struct {
	source

	Reason error
}

func (e SubscriptionGap) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Reason = now.HideError(e.Reason)
	return e
}

// SubscriptionEnded is described in package client.
type SubscriptionEnded struct {
	source

	Reason error
}

func (e SubscriptionEnded) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Reason = now.HideError(e.Reason)
	return e
}

// LivenessFailed is described in package client.
type LivenessFailed struct {
	source

	Reason error
}

func (e LivenessFailed) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Reason = now.HideError(e.Reason)
	return e
}

// ListFailed is described in package client.
type ListFailed struct {
	source

	// Method is the list method, such as tools/list.
	Method string
	Reason error
}

func (e ListFailed) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Reason = now.HideError(e.Reason)
	return e
}

// ToolDrift is described in package client.
type ToolDrift struct {
	source

	Tool string
	// Old and New are fingerprints. If the tool was not listed before, Old is its pin.
	Old, New string
	Changed  []string
	Before   *mcp.Tool
	After    mcp.Tool
	Pinned   bool
}

func (e ToolDrift) hidden(from source, _ mcperrors.Secrets) Event {
	e.source = from
	return e
}

// OutputMismatch is described in package client.
type OutputMismatch struct {
	source

	Tool string
	// Reason describes where and why the result does not match, without its values.
	Reason string
}

func (e OutputMismatch) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Reason = now.Hide(e.Reason)
	return e
}

// ElicitationComplete is described in package client.
type ElicitationComplete struct {
	source

	ID string
}

func (e ElicitationComplete) hidden(from source, _ mcperrors.Secrets) Event {
	e.source = from
	return e
}

// RequestDropped is described in package client.
type RequestDropped struct {
	source

	Method string
}

func (e RequestDropped) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Method = now.Hide(e.Method)
	return e
}

// LoginChanged is described in package client.
type LoginChanged struct {
	source

	State transport.LoginState
	// Issuer is the authorization server, "" if it is not known.
	Issuer string
	// Principal is the person or account of the login, as the application named it.
	Principal string
	// Err is why the login failed or was lost. It is nil in other states.
	Err error
}

func (e LoginChanged) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Issuer, e.Err = now.Hide(e.Issuer), now.HideError(e.Err)
	return e
}

// CallbackFailed is described in package client.
type CallbackFailed struct {
	source

	Callback string
	// Value is the value of the panic, nil if the callback called runtime.Goexit.
	Value any
	// Stack is the stack of the panic, nil if the callback called runtime.Goexit.
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

// ProbeStep is described in package client.
type ProbeStep struct {
	Method  string
	Version mcp.Version
	Reply   string
	Took    time.Duration
}

// hideServer returns how a server identifies itself, without secrets. If it repeats a secret,
// icons and unknown members are dropped.
func hideServer(now mcperrors.Secrets, s mcp.Implementation) mcp.Implementation {
	raw, err := mcp.Marshal(&s)
	if err == nil && now.Hide(string(raw)) == string(raw) {
		return s
	}
	return mcp.Implementation{
		Name: now.Hide(s.Name), Version: now.Hide(s.Version), Title: now.Hide(s.Title),
		Description: now.Hide(s.Description), WebsiteURL: now.Hide(s.WebsiteURL),
	}
}
