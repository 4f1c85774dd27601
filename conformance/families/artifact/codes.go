package artifact

import "github.com/modelcontextprotocol/go-sdk/jsonrpc"

// The codes of S0's exception table that JSON-RPC itself defines.
const (
	codeInvalidParams = jsonrpc.CodeInvalidParams
	codeInternal      = jsonrpc.CodeInternalError
)
