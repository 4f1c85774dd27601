package mcp

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// ProgressParams reports the progress of a request (schema
// ProgressNotificationParams).
type ProgressParams struct {
	// ProgressToken is the token the request carried, with its JSON type.
	ProgressToken jsonrpc.ID
	// Progress grows from one notification to the next.
	Progress float64
	// Total is nil if unknown.
	Total *float64
	// Message is for people, since 2025-03-26.
	Message string
	Meta    json.RawMessage
	Extra   Members
	zero    presence
}

func (v *ProgressParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.id("progressToken", required, &v.ProgressToken)
	c.number("progress", required, &v.Progress)
	c.fraction("total", &v.Total)
	str(c, "message", optional, &v.Message)
	c.raw("_meta", &v.Meta)
}

// CancelledParams cancels a request (schema CancelledNotificationParams).
type CancelledParams struct {
	// RequestID is the request's id, with its JSON type.
	RequestID jsonrpc.ID
	// Reason is for people and logs.
	Reason string
	Meta   json.RawMessage
	Extra  Members
	zero   presence
}

func (v *CancelledParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	// 2025-11-25 lets the id be missing: a task is cancelled otherwise.
	c.id("requestId", optional, &v.RequestID)
	str(c, "reason", optional, &v.Reason)
	c.raw("_meta", &v.Meta)
}
