package mcperrors

import (
	"context"
	"errors"
)

// New returns an error with the user message, the suggested action and the
// retryable flag of the catalogue. The caller may change every field. message
// is for developers: lower case, without a full stop. cause may be nil.
func New(code Code, kind Kind, delivery Delivery, message string, cause error) *Error {
	e := &Error{Code: code, Kind: kind, Delivery: delivery, Message: message, Cause: cause}
	if entry, ok := Lookup(code); ok {
		e.UserMessage = entry.UserMessage
		e.SuggestedAction = entry.SuggestedAction
		e.Retryable = entry.Retryable
	}
	return e
}

// Is implements the interface of errors.Is. It matches [context.Canceled],
// [context.DeadlineExceeded] and [ErrCircuitOpen] by Kind, even if Cause does
// not hold them.
func (e *Error) Is(target error) bool {
	switch target {
	case context.Canceled:
		return e.Kind == KindCanceled
	case context.DeadlineExceeded:
		// A server's own "request timeout" is not a deadline of this process.
		return e.Kind == KindTimeout && e.RPC == nil
	case ErrCircuitOpen:
		return e.Kind == KindCircuitOpen
	}
	return false
}

// as returns the *Error in err's chain, nil if there is none.
func as(err error) *Error {
	if err == nil {
		return nil // the search would allocate
	}
	return find(err)
}

func find(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
