package mcperrors

import (
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// KindOf returns the kind of err. It also knows [ErrCircuitOpen] and the errors
// of package context. It returns 0 for nil and for any other error.
func KindOf(err error) Kind {
	if e := as(err); e != nil {
		return e.Kind
	}
	switch {
	case errors.Is(err, ErrCircuitOpen):
		return KindCircuitOpen
	case errors.Is(err, context.Canceled):
		return KindCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	default:
		return 0
	}
}

// CodeOf returns the application code of err, or "" if it has none.
func CodeOf(err error) Code {
	if e := as(err); e != nil {
		return e.Code
	}
	return ""
}

// DeliveryOf reports whether the server may have run the request. It returns
// [Unknown] for an error that does not tell.
func DeliveryOf(err error) Delivery {
	if e := as(err); e != nil {
		return e.Delivery
	}
	if errors.Is(err, ErrCircuitOpen) {
		return NotSent
	}
	return Unknown
}

// SafeToRetry reports whether another attempt is harmless, because the request
// was not sent or the server refused it before it ran anything. It does not
// report whether another attempt may succeed: it is true for a tool that the
// server does not have. A loop that repeats a call must also ask [Retryable].
func SafeToRetry(err error) bool {
	if err == nil {
		return false
	}
	d := DeliveryOf(err)
	return d == NotSent || d == Rejected
}

// Retryable reports whether a later attempt may succeed. Ask [SafeToRetry]
// whether another attempt is harmless.
func Retryable(err error) bool {
	if e := as(err); e != nil {
		return e.Retryable
	}
	return errors.Is(err, ErrCircuitOpen)
}

// RetryAfter returns the time to wait before the next attempt, 0 if it is
// unknown.
func RetryAfter(err error) time.Duration {
	if e := as(err); e != nil {
		return e.RetryAfter
	}
	var open *breaker.OpenError
	if errors.As(err, &open) {
		return open.RetryAfter()
	}
	return 0
}

// IsNotFound reports whether the server does not have the tool, prompt or
// resource. It covers the codes of all revisions: a missing resource is -32002
// up to 2025-11-25, and -32602 since 2026-07-28.
func IsNotFound(err error) bool { return KindOf(err) == KindNotFound }

// FromPeer reports whether err comes from the server, as a JSON-RPC error or as
// the error of a tool. It is false for errors that the client found itself.
func FromPeer(err error) bool {
	if KindOf(err) == KindTool {
		return true
	}
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc)
}
