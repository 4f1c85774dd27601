package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Event is something that happened to the connection, for [OnEvent]. The types
// of this package that end in this file's list are all there are; a program
// should ignore those it does not know.
type Event interface{ event() }

// Connected says that the conversation is open: after connecting, and never
// again ([Reinitialized] follows a lost session).
type Connected struct {
	// Server is what the server calls itself.
	Server mcp.Implementation
	// Version is the revision that was agreed.
	Version mcp.Version
}

func (Connected) event() {}

// ElicitationComplete says that the user has finished what a [URLRequest] asked
// for, where the server says so (ELIC-07).
type ElicitationComplete struct {
	// ID is the ElicitationID of the request.
	ID string
}

func (ElicitationComplete) event() {}

// OnEvent is called for each event of the connection, in order and together
// with the other handlers; see [OnNotification].
func OnEvent(f func(ctx context.Context, e Event)) Option {
	return optionFunc(func(c *config) { c.onEvent = f })
}

// emit hands an event to the application. It never waits.
func (c *Client) emit(e Event) {
	if c.cfg.onEvent != nil {
		c.inbox.put(item{event: e})
	}
}
