package preflights

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// The codes of S3 §5.1.
const (
	codeValidation   = "VALIDATION_FAILED"
	codeExpired      = "SESSION_EXPIRED"
	codeNoSession    = "SESSION_NOT_FOUND"
	codeFilesystem   = "FILESYSTEM_ERROR"
	codeParse        = "PARSE_ERROR"
	codeRepoNotFound = "REPO_NOT_FOUND"
	codeExtraction   = "PATCH_EXTRACTION_FAILED"
)

// A fault is a failure of the family, which is answered in a result (S3-ERR-04).
type fault struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
	Hint    string         `json:"recovery_hint"`

	cause error // for the log only
}

func (f *fault) Error() string {
	if f.cause != nil {
		return f.Code + ": " + f.Message + ": " + f.cause.Error()
	}
	return f.Code + ": " + f.Message
}

func (f *fault) Unwrap() error { return f.cause }

func failure(code, message, hint string, details map[string]any) *fault {
	if details == nil {
		details = map[string]any{}
	}
	return &fault{Code: code, Message: message, Details: details, Hint: hint}
}

// fileFailure is what the file system said, without paths of the machine.
func fileFailure(err error) *fault {
	f := failure(codeFilesystem, "Cannot read or write the documents of the repository", "Check the permissions of docs and try again", nil)
	f.cause = err
	if errors.Is(err, fs.ErrPermission) {
		f.Details["reason"] = "permission"
	}
	return f
}

// answered turns a failure of the family into a result; any other error stays
// one: bad arguments are -32602, a cancelled call is not answered at all.
func answered(call *family.Call, err error) (any, error) {
	var f *fault
	if !errors.As(err, &f) {
		if err != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
			return nil, &family.Error{Code: family.CodeServer, Message: "The call was cancelled", Data: map[string]any{"reason": "cancelled"}, Err: err}
		}
		return nil, err
	}
	call.Failed(slog.String("error_code", f.Code), slog.String("error", f.Error()))
	return &family.Result{Payload: map[string]any{"status": "error", "error": f}, IsError: true}, nil
}
