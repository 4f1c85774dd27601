package run

import (
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Crashes are the programs that ended under a call.
type Crashes struct {
	count int
	last  uint32 // number of the connection to the last of them
}

// Note notes how an attempt over l failed, and reports whether two programs have
// ended under the call: it may be what ends them, and is not retried (the poison
// rule). Noting the same attempt twice does no harm.
func (c *Crashes) Note(l *link.Link, f *transport.Failure) bool {
	if outcome.Lost(f) && !f.NotSent && f.Process != nil && l != nil && c.last != l.Number {
		c.last = l.Number
		c.count++
	}
	return c.count > 1
}
