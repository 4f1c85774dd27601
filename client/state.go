package client

import (
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// State tells whether the client has a usable connection to its server.
type State uint8

// The states of a client. [Connect] returns a client in StateReady. StateEnded and
// StateClosed are final; from every other state the client can return to
// StateReady.
const (
	// StateConnecting lasts until Connect returns.
	StateConnecting = State(life.Connecting)
	// StateReady: the conversation is open. It does not say that the server is
	// healthy; see [Client.Breaker].
	StateReady = State(life.Ready)
	// StateRestarting: the program or the session is gone, and the client opens the
	// next one. Calls wait for it.
	StateRestarting = State(life.Restarting)
	// StateBackoff: the client waits before it restarts a program in a crash loop, or it
	// could not reopen a lost session. Calls fail at once, with RetryAfter set. A
	// program is restarted automatically; a session is reopened by the first call
	// after that time.
	StateBackoff = State(life.Backoff)
	// StateEnded: the program exited or the stream ended, and the client cannot open
	// it again: [Restart].Off is set, the program no longer exists, or the application
	// opened the stream. Calls fail; close the client.
	StateEnded = State(life.Ended)
	// StateClosed: [Client.Close] was called.
	StateClosed = State(life.Closed)
)

var stateNames = [...]string{"connecting", "ready", "restarting", "backoff", "ended", "closed"}

// String returns the name of the state, in lower case.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// MarshalText implements [encoding.TextMarshaler] with the names of String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// StateChanged reports that the connection entered another [State]. From is the To
// of the event before; the first event leaves StateReady, which [Connected]
// reports. [Client.Close] emits no event.
type StateChanged struct {
	source

	From, To State
	// Cause is why: how the program exited, or why the next one does not work. It is
	// nil for StateReady.
	Cause error
	// RetryAfter is how long StateBackoff lasts. It is 0 in other states, and where the
	// next call may reopen the session at once.
	RetryAfter time.Duration
}

func (e StateChanged) hidden(from source, now mcperrors.Secrets) Event {
	e.source = from
	e.Cause = now.HideError(e.Cause)
	return e
}

// State returns the current state of the connection. It takes no lock.
func (c *Client) State() State { return State(c.life.State()) }

// transition moves the client into a state and reports it.
func (c *Client) transition(to State, cause error, held time.Duration) {
	c.life.Move(life.State(to), func(from life.State) {
		if from != life.Connecting {
			c.emit(StateChanged{From: State(from), To: to, Cause: cause, RetryAfter: held}) // queued in order, it never waits
		}
	})
}
