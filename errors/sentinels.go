package mcperrors

import (
	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// ErrCircuitOpen is [breaker.ErrOpen]. It matches the error of a call that a
// circuit breaker of the client refused. Nothing was sent.
var ErrCircuitOpen = breaker.ErrOpen

// ErrClosed is [jsonrpc.ErrClosed]. It matches the error of a call on a closed
// connection.
var ErrClosed = jsonrpc.ErrClosed
