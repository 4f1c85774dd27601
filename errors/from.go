package mcperrors

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// From makes an *Error of any error, nil of nil. Foreign errors are mapped here
// and nowhere else; an *Error, wrapped or not, is returned as it is. delivery is
// what the caller knows about the request; errors that prove more (a refusal by
// the breaker, an answer of the server, a request that was not sent) overrule
// it.
func From(err error, delivery Delivery) *Error {
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
		delivery = NotSent
	}
	switch {
	case errors.Is(err, breaker.ErrOpen):
		return fromOpen(err)
	case errors.As(err, &rpc):
		e := Map(rpc, MapOptions{})
		if !isItself(err, rpc) {
			e.Cause = err
		}
		return e
	case errors.Is(err, jsonrpc.ErrClosed):
		return New(CodeUnavailable, KindClosed, delivery, "the client is closed", err)
	case errors.Is(err, context.Canceled):
		return Canceled(delivery, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, jsonrpc.ErrIdle), errors.Is(err, jsonrpc.ErrMaxWait),
		errors.As(err, &timeout) && timeout.Timeout():
		return Timeout(delivery, "no answer in time", 0, err)
	case errors.Is(err, jsonrpc.ErrTooLarge):
		return TooLarge(delivery, "the peer sent "+err.Error(), err)
	case errors.Is(err, jsonrpc.ErrInvalid):
		return New(CodeInvalidRequest, KindProtocol, delivery, "the peer sent something that is not a JSON-RPC message", err)
	default:
		return New(CodeUnavailable, KindTransport, delivery, "the connection failed", err)
	}
}

func fromOpen(err error) *Error {
	e := New(CodeUnavailable, KindCircuitOpen, NotSent, breaker.ErrOpen.Error(), err)
	var open *breaker.OpenError
	if errors.As(err, &open) {
		e.Server = open.Name
		e.RetryAfter = open.RetryAfter()
	}
	return e
}

// FromHTTP makes the error of an HTTP answer that holds no JSON-RPC error. The
// body, where there is one, has been judged first: it beats the status code.
// retryAfter is the Retry-After header's, 0 when absent.
func FromHTTP(evidence HTTPEvidence, retryAfter time.Duration) *Error {
	e := httpError(evidence.Status)
	e.HTTP = &evidence
	if e.Retryable {
		e.RetryAfter = min(max(0, retryAfter), maxRetryAfter)
	}
	return e
}

// httpError follows the rows of resilience.md §3.2. A status that is no proof
// of §3.1 says nothing about the request: a proxy may have passed it on before
// a 503, and an application may say 410 or 501 half-way.
func httpError(status int) *Error {
	switch status {
	case http.StatusUnauthorized:
		return New(CodePermissionDenied, KindAuth, Rejected, "the server wants to know who is asking: set an Authorization header that it accepts", nil)
	case http.StatusForbidden:
		return New(CodePermissionDenied, KindAuth, Rejected, "the server does not allow it", nil)
	case http.StatusTooManyRequests:
		return New(CodeRateLimited, KindOverloaded, Rejected, "the server is asked too often", nil)
	case http.StatusRequestTimeout:
		return New(CodeTimeout, KindServer, Unknown, "the server gave up waiting for the request", nil)
	case http.StatusTooEarly:
		return New(CodeUnavailable, KindServer, Rejected, "the server wants the request again, later", nil)
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return New(CodeIncompatible, KindUnsupported, Unknown, "the server does not support it", nil)
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusMisdirectedRequest:
		return noEndpoint(Rejected)
	case http.StatusGone:
		return noEndpoint(Unknown)
	case http.StatusNotAcceptable, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return New(CodeInvalidRequest, KindProtocol, Rejected, "the server did not accept the request", nil)
	}
	switch {
	case status >= 500:
		return New(CodeUnavailable, KindServer, Unknown, "the server failed", nil)
	case status >= 400:
		// A bare 400 proves nothing: an application may say it half-way.
		return New(CodeInvalidRequest, KindProtocol, Unknown, "the server did not accept the request", nil)
	default:
		return New(CodeInvalidRequest, KindProtocol, Unknown, "the answer is not MCP", nil)
	}
}

// noEndpoint is the error of an address where nobody speaks MCP.
func noEndpoint(delivery Delivery) *Error {
	e := New(CodeUnavailable, KindTransport, delivery, "there is no MCP endpoint at this address: check the URL", nil)
	e.Retryable, e.SuggestedAction = false, actionSupport
	return e
}
