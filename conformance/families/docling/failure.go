package docling

import (
	"context"
	"errors"
	"net/http"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/web"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/conformance/server/front"
)

// The codes of the docling profile beside JSON-RPC's own (tools.md §1.2).
const (
	codeUnavailable = -32000
	codeTimeout     = -32001
	codeConversion  = -32002
	codeExport      = -32003

	// codeConversionStateless is codeConversion in the stateless era, where
	// servers must not send -32002 (2026-07-28, basic#error-codes) and codes of
	// their own belong outside JSON-RPC's reserved range.
	codeConversionStateless = -31002
)

// classify is the family's table from errors to codes.
func classify(err error) *family.Error {
	var failure *worker.Failure
	switch {
	case errors.As(err, &failure):
		return &family.Error{
			Code: codeConversion, Message: "Document conversion failed: " + failure.Message,
			Data: map[string]any{"stage": failure.Stage, "reason": failure.Reason}, Err: failure.Err,
		}
	case errors.Is(err, context.DeadlineExceeded):
		return &family.Error{Code: codeTimeout, Message: "Request timeout: the document took too long", Data: map[string]any{"reason": "timeout"}}
	case errors.Is(err, context.Canceled):
		return &family.Error{Code: codeTimeout, Message: "Request cancelled", Data: map[string]any{"reason": "cancelled"}}
	case errors.Is(err, worker.ErrBusy):
		return unavailable("busy", "too many conversions at once", err)
	case errors.Is(err, worker.ErrUnavailable):
		return unavailable("unavailable", "no converter can be started", err)
	}
	return family.Internal(err)
}

// inEra gives a conversion that failed the code it has in the era of the call.
func inEra(f *family.Family, handle toolHandler) toolHandler {
	return func(ctx context.Context, call *family.Call) (any, error) {
		result, err := handle(ctx, call)
		failure := f.Failure(err)
		if failure == nil || failure.Code != codeConversion || front.EraOf(call.Origin.Version) != front.EraStateless {
			return result, err
		}
		moved := *failure
		moved.Code = codeConversionStateless
		return nil, &moved
	}
}

type toolHandler = func(ctx context.Context, call *family.Call) (any, error)

func unavailable(reason, text string, err error) *family.Error {
	return &family.Error{
		Code: codeUnavailable, Message: "Processing service unavailable: " + text,
		Data: map[string]any{"reason": reason}, Err: err,
	}
}

// failed is a failure before the converter.
func failed(stage, reason, message string) error {
	return &worker.Failure{Stage: stage, Reason: reason, Message: message}
}

// fetchFailure says what a fetch that failed means to the caller: a URL that
// will not do, a document that will not do, or a server that may do later.
func fetchFailure(ctx context.Context, err error) error {
	var status *web.StatusError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, web.ErrBlocked):
		refused := family.Invalid("url", "blocked", "url leads to an address that is not public")
		refused.Err = err
		return refused
	case errors.Is(err, web.ErrURL):
		return family.Invalid("url", "redirect", "url redirects to something that is no http or https URL")
	case errors.Is(err, web.ErrRedirects):
		return family.Invalid("url", "redirects", "url redirects more than %d times", web.MaxRedirects)
	case errors.Is(err, web.ErrEncoding):
		return failed("fetch", worker.Unsupported, err.Error())
	case errors.Is(err, web.ErrEncoded):
		return failed("fetch", worker.Corrupt, err.Error())
	case errors.Is(err, web.ErrTooLarge):
		return failed("fetch", worker.TooLarge, err.Error())
	case errors.As(err, &status) && status.Code < http.StatusInternalServerError && status.Code != http.StatusTooManyRequests:
		return family.Invalid("url", "status", "url cannot be fetched: %v", status)
	}
	return unavailable("unavailable", "the document could not be fetched", err)
}
