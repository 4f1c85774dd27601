package errormap

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// From returns an *Error for any error, nil for nil. Foreign errors are mapped only here; an
// *Error, wrapped or not, is returned unchanged. delivery is what the caller knows about the
// request. Errors that prove more override it: a refusal by the breaker, an answer of the server,
// a request that was not sent.
func From(err error, delivery mcperrors.Delivery) *mcperrors.Error {
	if err == nil {
		return nil
	}
	if e := as(err); e != nil {
		return e
	}
	var (
		rpc     *jsonrpc.Error
		call    *jsonrpc.CallError
		timeout net.Error
	)
	if errors.As(err, &call) && call.NotSent {
		delivery = mcperrors.NotSent
	}
	switch {
	case errors.Is(err, breaker.ErrOpen):
		return fromOpen(err)
	case errors.As(err, &rpc):
		e := FromRPC(rpc, Options{})
		if err != error(rpc) { //nolint:errorlint // the wrapping error has more information
			e.Cause = err
		}
		return e
	case errors.Is(err, jsonrpc.ErrClosed):
		return mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindClosed, delivery, "the client is closed", err)
	case errors.Is(err, context.Canceled):
		return Canceled(delivery, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, jsonrpc.ErrIdle), errors.Is(err, jsonrpc.ErrMaxWait),
		errors.As(err, &timeout) && timeout.Timeout():
		return Timeout(delivery, "no answer in time", 0, err)
	case errors.Is(err, jsonrpc.ErrTooLarge):
		return TooLarge(delivery, "the peer sent "+err.Error(), err)
	case errors.Is(err, jsonrpc.ErrInvalid):
		return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, delivery, "the peer sent an invalid JSON-RPC message", err)
	default:
		return mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, delivery, "the connection failed", err)
	}
}

// as returns the *mcperrors.Error in err's chain, nil if there is none. It is a separate function
// so that From allocates nothing for such an error.
func as(err error) *mcperrors.Error {
	var e *mcperrors.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

func fromOpen(err error) *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindCircuitOpen, mcperrors.NotSent, breaker.ErrOpen.Error(), err)
	var open *breaker.OpenError
	if errors.As(err, &open) {
		e.Server = open.Name
		e.RetryAfter = open.RetryAfter()
	}
	return e
}

// FromHTTP returns the error of an HTTP answer without a JSON-RPC error. retryAfter is the
// Retry-After header, 0 if absent.
func FromHTTP(evidence mcperrors.HTTPEvidence, retryAfter time.Duration) *mcperrors.Error {
	e := httpError(evidence.Status)
	e.HTTP = &evidence
	if e.Retryable {
		e.RetryAfter = min(max(0, retryAfter), maxRetryAfter)
	}
	return e
}

// httpError returns the error of an HTTP status. Few statuses prove that the request did not run:
// a proxy may have forwarded it before a 503, and an application may send 410 or 501 half-way.
func httpError(status int) *mcperrors.Error {
	switch status {
	case http.StatusUnauthorized:
		return mcperrors.New(mcperrors.CodePermissionDenied, mcperrors.KindAuth, mcperrors.Rejected, "the server requires authentication: set an Authorization header that it accepts", nil)
	case http.StatusForbidden:
		return mcperrors.New(mcperrors.CodePermissionDenied, mcperrors.KindAuth, mcperrors.Rejected, "the server denied access", nil)
	case http.StatusTooManyRequests:
		return mcperrors.New(mcperrors.CodeRateLimited, mcperrors.KindOverloaded, mcperrors.Rejected, "the server limits the rate of requests", nil)
	case http.StatusRequestTimeout:
		return mcperrors.New(mcperrors.CodeTimeout, mcperrors.KindServer, mcperrors.Unknown, "the server timed out while waiting for the request", nil)
	case http.StatusTooEarly:
		return mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindServer, mcperrors.Rejected, "the server asks to send the request again later", nil)
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return mcperrors.New(mcperrors.CodeIncompatible, mcperrors.KindUnsupported, mcperrors.Unknown, "the server does not support it", nil)
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusMisdirectedRequest:
		return noEndpoint(mcperrors.Rejected)
	case http.StatusGone:
		return noEndpoint(mcperrors.Unknown)
	case http.StatusNotAcceptable, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Rejected, "the server rejected the request", nil)
	}
	switch {
	case status >= 500:
		return mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindServer, mcperrors.Unknown, "the server failed", nil)
	case status >= 400:
		// A bare 400 proves nothing: an application may send it half-way.
		return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Unknown, "the server rejected the request", nil)
	default:
		return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Unknown, "the answer is not an MCP message", nil)
	}
}

// noEndpoint returns the error of an address without an MCP endpoint.
func noEndpoint(delivery mcperrors.Delivery) *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, delivery, "there is no MCP endpoint at this address: check the URL", nil)
	e.Retryable, e.UserMessage, e.SuggestedAction = false, "There is no MCP server at this address", "Check the URL"
	return e
}
