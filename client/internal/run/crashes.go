package run

import (
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Crashes counts the programs that exited during a call.
type Crashes struct {
	count int
	last  uint32 // number of the connection to the last of them
}

// Note records the failure of an attempt over l, and reports whether two programs have exited
// during the call. The call may be the cause, so it is not retried. Recording the same attempt
// twice has no effect.
func (c *Crashes) Note(l *link.Link, f *transport.Failure) bool {
	if outcome.Lost(f) && !f.NotSent && f.Process != nil && l != nil && c.last != l.Number {
		c.last = l.Number
		c.count++
	}
	return c.count > 1
}
