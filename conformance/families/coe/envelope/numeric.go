package envelope

import (
	"maps"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// The codes of the v1.0 tools. They are HTTP's, outside the range JSON-RPC
// reserves (C-04).
const (
	BadRequest         = 400
	Forbidden          = 403
	NotFound           = 404
	Conflict           = 409
	TooManyRequests    = 429
	ServerError        = 500
	ServiceUnavailable = 503
)

// statuses are the words of S1's table for the codes.
var statuses = map[int64]string{
	BadRequest: "Bad Request", Forbidden: "Forbidden", NotFound: "Not Found", Conflict: "Conflict",
	TooManyRequests: "Too Many Requests", ServerError: "Server Error", ServiceUnavailable: "Service Unavailable",
}

// Numeric returns a JSON-RPC error of a v1.0 tool. The words of S1's table
// become data.status; without a message they are the message as well.
func Numeric(code int64, message string, data map[string]any) *family.Error {
	if message == "" {
		message = statuses[code]
	}
	d := map[string]any{"status": statuses[code]}
	maps.Copy(d, data)
	return &family.Error{Code: code, Message: message, Data: d}
}
