package client

import (
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
)

// State tells whether the client has a usable connection to its server.
type State = life.State

// The states of a client. [Connect] returns a client in StateReady. StateEnded and
// StateClosed are final; from every other state the client can return to
// StateReady.
const (
	// StateConnecting lasts until Connect returns.
	StateConnecting = life.Connecting
	// StateReady: the conversation is open. It does not say that the server is
	// healthy; see [Client.Breaker].
	StateReady = life.Ready
	// StateRestarting: the program or the session is gone, and the client opens the
	// next one. Calls wait for it.
	StateRestarting = life.Restarting
	// StateBackoff: the client waits before it restarts a program in a crash loop, or it
	// could not reopen a lost session. Calls fail at once, with RetryAfter set. A
	// program is restarted automatically; a session is reopened by the first call
	// after that time.
	StateBackoff = life.Backoff
	// StateEnded: the program exited or the stream ended, and the client cannot open
	// it again: [Restart].Off is set, the program no longer exists, or the application
	// opened the stream. Calls fail; close the client.
	StateEnded = life.Ended
	// StateClosed: [Client.Close] was called.
	StateClosed = life.Closed
)

// State returns the current state of the connection. It takes no lock.
func (c *Client) State() State { return c.core.Life.State() }

// transition moves the client into a state and reports it.
func (c *Client) transition(to State, cause error, held time.Duration) {
	c.core.Life.Move(to, func(from life.State) {
		if from != life.Connecting {
			c.emit(StateChanged{From: from, To: to, Cause: cause, RetryAfter: held}) // queued in order, it never waits
		}
	})
}
