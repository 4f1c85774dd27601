package mcperrors

import (
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// KindOf returns what happened, for an error of this package and for the
// sentinels it knows; 0 for everything else and for nil.
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

// CodeOf returns the application code, "" when err has none.
func CodeOf(err error) Code {
	if e := as(err); e != nil {
		return e.Code
	}
	return ""
}

// DeliveryOf returns what became of the request. [Unknown] for an error that
// does not say: nothing else is safe to assume.
func DeliveryOf(err error) Delivery {
	if e := as(err); e != nil {
		return e.Delivery
	}
	if errors.Is(err, ErrCircuitOpen) {
		return NotSent
	}
	return Unknown
}

// SafeToRetry reports whether sending the request again can do no harm: it was
// not sent, or refused before anything was done. It says nothing about success:
// it is true for a tool that the server does not have. A loop that repeats a
// call asks [Retryable] too.
func SafeToRetry(err error) bool {
	if err == nil {
		return false
	}
	d := DeliveryOf(err)
	return d == NotSent || d == Rejected
}

// Retryable reports whether a later attempt may succeed. Whether it could do
// harm is told by [SafeToRetry].
func Retryable(err error) bool {
	if e := as(err); e != nil {
		return e.Retryable
	}
	return errors.Is(err, ErrCircuitOpen)
}

// RetryAfter is how long to wait before the next attempt; 0 when nobody said.
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

// IsNotFound reports whether there is no such tool, prompt or resource. It
// hides that a missing resource is -32002 in the session era and -32602 in the
// stateless one.
func IsNotFound(err error) bool { return KindOf(err) == KindNotFound }

// FromPeer reports whether err is what the peer said, a JSON-RPC error or a
// tool's, and not a conclusion of ours.
func FromPeer(err error) bool {
	if KindOf(err) == KindTool {
		return true
	}
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc)
}
