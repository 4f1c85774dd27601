package mcperrors

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// New makes an error. User message, suggested action and whether it is
// retryable come from the catalogue; the caller may change every field before
// the error is returned. message is for developers: lower case, no full stop.
// cause may be nil.
func New(code Code, kind Kind, delivery Delivery, message string, cause error) *Error {
	e := &Error{Code: code, Kind: kind, Delivery: delivery, Message: message, Cause: cause}
	if entry, ok := Lookup(code); ok {
		e.UserMessage = entry.UserMessage
		e.SuggestedAction = entry.SuggestedAction
		e.Retryable = entry.Retryable
	}
	return e
}

// Canceled is the error of a call that its caller gave up. It has no code, and
// matches [context.Canceled] whatever cause is.
func Canceled(delivery Delivery, cause error) *Error {
	return New("", KindCanceled, delivery, "the call was cancelled", cause)
}

// Timeout is the error of a call whose deadline passed, the caller's or ours.
// It matches [context.DeadlineExceeded] whatever cause is. what says what did
// not happen in time ("no answer", "no connection"); after is how long was
// waited, 0 when the deadline was the caller's.
func Timeout(delivery Delivery, what string, after time.Duration, cause error) *Error {
	if after > 0 {
		what = fmt.Sprintf("%s within %s", what, after)
	}
	return New(CodeTimeout, KindTimeout, delivery, what, cause)
}

// TooLarge is the error of a call whose answer is over a limit of this side.
// message names the limit. The same call would give the same answer, so it is not
// retryable.
func TooLarge(delivery Delivery, message string, cause error) *Error {
	e := New(CodeIncompatible, KindTooLarge, delivery, message, cause)
	e.UserMessage, e.SuggestedAction = "The answer is too large", "Ask for less at once"
	return e
}

// Is makes errors.Is find the standard library's context errors and
// [ErrCircuitOpen] by what happened, even where no cause carries them.
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

// as returns the *Error in err's chain, nil when there is none.
func as(err error) *Error {
	if err == nil {
		return nil // before the search costs memory
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
