package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Failure says why an attempt has no answer, with all the evidence there is.
// It is what everything else (application code, kind, verdict of the breaker,
// safety of a repeat) is derived from.
type Failure struct {
	Reason Reason
	// NotSent is true when it is proved that the server did not get the whole
	// request. Rejected is true when the server refused it unread or undone.
	// Answered is true when what came has the request's id and cannot be used:
	// the server has executed it. With none of them, it may have been executed.
	NotSent, Rejected, Answered bool
	// Reused is true when the connection had been used before and ended before
	// any of the answer: its end may have been on its way already when the request
	// was.
	Reused bool
	// RetryAfter is the server's wish, 0 without one.
	RetryAfter time.Duration
	HTTP       *mcperrors.HTTPEvidence
	Process    *mcperrors.ProcessEvidence
	Err        error
}

// Reason classes failures.
type Reason uint8

const (
	// ReasonCanceled: the caller's context ended, by cancellation or deadline.
	ReasonCanceled Reason = iota + 1
	// ReasonTimeout: a timeout of ours passed.
	ReasonTimeout
	// ReasonUnavailable: the server could not be reached: name, connection,
	// TLS, program.
	ReasonUnavailable
	// ReasonLost: the connection or the process ended before the answer.
	ReasonLost
	// ReasonClosed: this side closed the connection.
	ReasonClosed
	// ReasonStatus: HTTP answered with a status and no JSON-RPC error.
	ReasonStatus
	// ReasonSession: the server does not know the session any more.
	ReasonSession
	// ReasonProtocol: the answer is not what the protocol asks for.
	ReasonProtocol
	// ReasonTooLarge: the answer is over a limit.
	ReasonTooLarge
	// ReasonConfig: what this side was told leads nowhere: a certificate that
	// is not accepted, a redirect that must not be followed.
	ReasonConfig
	// ReasonOption: an option of the transport is wrong, its URL included.
	ReasonOption
	// ReasonNotMCP: what answered is no MCP endpoint: neither JSON nor an event
	// stream came where one of them is due.
	ReasonNotMCP
	// ReasonUnprocessed: HTTP/2 said that the server did not process the request,
	// by REFUSED_STREAM or a GOAWAY below its stream (RFC 9113 section 8.7).
	ReasonUnprocessed
	// ReasonNoRoom: what is held of other answers left no room for this one in its
	// time, or it stalled in room that others waited for; see [Budget].
	ReasonNoRoom
	// ReasonCallback: a function of the application, such as its RoundTripper,
	// panicked or ended its goroutine.
	ReasonCallback
)

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

func optionError(format string, args ...any) *Failure {
	return &Failure{Reason: ReasonOption, NotSent: true, Err: fmt.Errorf(format, args...)}
}

// endOf is the error of a context that has ended: its own, and the cause the
// caller gave it, where there is one.
func endOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w (%w)", cause, err)
}

// callFailure classes the errors of a [jsonrpc.Conn].
func callFailure(ctx context.Context, err error) *Failure {
	f := &Failure{Reason: ReasonLost, Err: err}
	var call *jsonrpc.CallError
	if errors.As(err, &call) {
		f.NotSent = call.NotSent
		f.Err = call.Err
	}
	var broken *jsonrpc.DecodeError
	switch {
	case errors.Is(f.Err, jsonrpc.ErrClosed):
		f.Reason = ReasonClosed
	case errors.Is(f.Err, jsonrpc.ErrDuplicateID):
		f.Reason = ReasonOption // the id generator's fault, not the server's
	case errors.Is(f.Err, jsonrpc.ErrIdle), errors.Is(f.Err, jsonrpc.ErrMaxWait):
		f.Reason = ReasonTimeout
	case errors.As(f.Err, &broken):
		f.unusable(broken)
		f.Answered = true // a broken message fails the call whose id it has
	case ctx.Err() != nil && errors.Is(f.Err, context.Cause(ctx)):
		f.Reason = ReasonCanceled
	}
	return f
}

// unusable is for an answer that cannot be used.
func (f *Failure) unusable(broken *jsonrpc.DecodeError) {
	f.Reason = ReasonProtocol
	if !broken.TooLarge {
		return
	}
	f.Reason = ReasonTooLarge
	f.Err = &limitError{"the answer is " + broken.Reason, "MessageBytes", f.Err}
	if broken.Nested {
		f.Err = &limitError{"the answer is " + broken.Reason, "Depth", f.Err}
	}
}

// limitError is the error of an answer over a limit, and names the limit.
type limitError struct {
	what, limit string
	err         error
}

func (e *limitError) Error() string { return e.what + "; raise Limits." + e.limit }

func (e *limitError) Unwrap() error { return e.err }

// waitFor waits for a group, no longer than bound, and reports whether it is
// done.
func waitFor(group *sync.WaitGroup, bound time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		group.Wait()
	}()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
