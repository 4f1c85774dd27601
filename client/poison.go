package client

import "github.com/mainstay-mcp/mainstay/client/transport"

// restartPart is what a call knows of programs that ended under it.
type restartPart struct {
	crashes   int
	crashedOn uint32 // number of the connection to the last of them
}

// crashed notes that a program has ended under a call, and reports whether that
// is the second time: such a call may be what ends it, and is not made again
// (the poison rule, resilience.md §3.7; fault E13). It may be asked more than
// once about one attempt.
func (c *Client) crashed(cl *call, f *transport.Failure) bool {
	if f.Reason == transport.ReasonLost && !f.NotSent && f.Process != nil && cl.link != nil && cl.crashedOn != cl.link.Number {
		cl.crashedOn = cl.link.Number
		cl.crashes++
	}
	return cl.crashes > 1
}
