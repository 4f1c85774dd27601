package jsonrpc

import (
	"context"
	"errors"
)

// ended returns why a context is done, as an error that matches both the
// context's own error and its cause.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return &endedError{cause: cause, err: err}
}

// endedError has the text of the cause, which is more specific.
type endedError struct{ cause, err error }

func (e *endedError) Error() string { return e.cause.Error() }

func (e *endedError) Unwrap() []error { return []error{e.cause, e.err} }
