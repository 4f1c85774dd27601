package client

import "github.com/mainstay-mcp/mainstay/jsonrpc"

// subject is the call that an error or a signal is about.
type subject struct {
	method, tool string
	id           jsonrpc.ID // of the last request, zero before the first
	attempts     int
}

func (cl *call) subject() subject {
	return subject{method: cl.method, tool: cl.tool, id: cl.id, attempts: cl.attempts}
}
