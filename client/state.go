package client

import (
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// State is what the connection to the server is at this moment, in one word.
type State uint8

// The states of a client. [Connect] returns one that is ready; every other state
// leads back to [StateReady] but [StateEnded] and [StateClosed], which are final.
const (
	// StateConnecting is before Connect has returned.
	StateConnecting State = iota
	// StateReady: the conversation is open. Whether the server is well is the
	// breaker's business.
	StateReady
	// StateRestarting: the program, or the session, is gone and a new one is
	// being opened. Calls wait for it.
	StateRestarting
	// StateHeld: the program ends again and again and is left alone for a time, or
	// a lost session could not be opened anew. Calls are refused at once and told
	// when the next try is; the first call after that makes it, where it is about a
	// session.
	StateHeld
	// StateEnded: the program or the stream has ended, and nothing starts it again:
	// [Restart.Off], a program that is not there any more, a stream that somebody
	// else has opened. Calls fail; close the client.
	StateEnded
	// StateClosed is after [Client.Close].
	StateClosed
)

var stateNames = [...]string{"connecting", "ready", "restarting", "held", "ended", "closed"}

// String returns the name of the state in lower case.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// final reports a state in which calls fail for good.
func (s State) final() bool { return s == StateEnded || s == StateClosed }

// MarshalText writes the name, for health reports.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// StateChanged says that the connection has come into another [State]. From is
// always the To of the one before; the first is from ready, which [Connected]
// tells of. That the client was closed is not told: it was you.
type StateChanged struct {
	From, To State
	// Cause is why, nil for ready: how the program has ended, or what kept the
	// next one from working.
	Cause error
	// RetryAfter is how long the server is held, 0 in other states, and where the
	// next call may open a session.
	RetryAfter time.Duration
}

func (e StateChanged) hidden(now mcperrors.Secrets) Event {
	e.Cause = now.HideError(e.Cause)
	return e
}

// State returns what the connection is at this moment. It reads one word and
// never waits.
func (c *Client) State() State { return State(c.state.Load()) }

// enter brings the client into a state and tells of it. Nothing leaves the final
// ones.
func (c *Client) enter(to State, cause error, held time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.State()
	if from == to || from == StateClosed || (from == StateEnded && to != StateClosed) {
		return
	}
	c.state.Store(uint32(to))
	if c.done != nil && to.final() && !from.final() {
		defer close(c.done)
	}
	if from != StateConnecting && to != StateClosed {
		c.emit(StateChanged{From: from, To: to, Cause: cause, RetryAfter: held}) // queued in order, it never waits
	}
}
