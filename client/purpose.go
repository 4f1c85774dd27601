package client

import "github.com/mainstay-mcp/mainstay/jsonrpc"

// purpose is what a request is for. It decides what may hold the request back.
type purpose uint8

const (
	// ordinary is a request of the application.
	ordinary purpose = iota
	// handshake is initialize. It is never cancelled (LC-10).
	handshake
	// restore gives a new session what the old one had.
	restore
	// liveness asks for an answer and nothing else (UTIL-02).
	liveness
)

// opens reports whether the request makes a session usable. It does not wait for
// calls of the session before.
func (p purpose) opens() bool { return p == handshake || p == restore }

// subject is the call that an error or a signal is about.
type subject struct {
	method, tool string
	id           jsonrpc.ID // of the last request, zero before the first
	attempts     int
}

func (cl *call) subject() subject {
	return subject{method: cl.method, tool: cl.tool, id: cl.id, attempts: cl.attempts}
}
