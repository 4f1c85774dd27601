package client

import (
	"bytes"
	"encoding/json"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// lockedBy is the error of a tool's result that says DB_LOCKED, nil for any other.
// By the profile that the application has chosen that promises that nothing was
// done: such a call is made again like one that was refused by an error
// (resilience.md 3.2, F17). Should it not be, the result is the answer all the
// same.
func (c *Client) lockedBy(cl *call, result json.RawMessage) *mcperrors.Error {
	if cl.method != mcp.MethodToolsCall || !bytes.Contains(result, []byte("DB_LOCKED")) {
		return nil
	}
	res := &mcp.CallToolResult{}
	// A copy: what the error says must not change when the result is read.
	if mcp.UnmarshalValid(bytes.Clone(result), res) != nil || !res.IsError {
		return nil //nolint:nilerr // what cannot be read is judged where the result is
	}
	e := c.toolError(cl.tool, res)
	if e.Code != mcperrors.E401 || e.Delivery != mcperrors.Rejected {
		return nil
	}
	return c.about(cl.subject(), e)
}
