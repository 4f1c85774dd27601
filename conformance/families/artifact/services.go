package artifact

import (
	"errors"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/rest"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// serviceError is S0's table from exceptions to codes for what one of the two
// services said. No status and no body of HTTP gets through (S0-ERR-02): of a
// refusal the service's sentence, of anything else our own.
func serviceError(err error) *family.Error {
	var e *rest.Error
	if !errors.As(err, &e) {
		return classify(err)
	}
	out := &family.Error{Code: codeInternal, Message: "Internal error: " + e.Error(), Data: map[string]any{"reason": "service"}, Err: err}
	if cause := e.Unwrap(); cause != nil {
		out.Err = cause
	}
	switch e.Kind {
	case rest.Refused:
		out.Code, out.Message = codeInvalidParams, "Invalid params: "+e.Detail
		out.Data["reason"] = "refused"
	case rest.Denied:
		out.Code, out.Message = family.CodeServer, "Permission denied: "+e.Error()
		out.Data["reason"] = "permission"
	case rest.Timeout:
		out.Code, out.Message = family.CodeServer, "Request timeout: "+e.Error()
		out.Data["reason"] = "timeout"
	case rest.Missing:
		out.Code, out.Message = family.CodeNotFound, "Resource not found: "+e.Detail
		out.Data["reason"] = "not_found"
	case rest.Unavailable:
	}
	return out
}
