package mcperrors

import (
	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// ErrCircuitOpen is [breaker.ErrOpen]: a breaker of ours refused the call and
// nothing was sent.
var ErrCircuitOpen = breaker.ErrOpen

// ErrClosed is [jsonrpc.ErrClosed]: the connection was closed on this side.
var ErrClosed = jsonrpc.ErrClosed
