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

// Failure is the error of a request without an answer, with its evidence. The client derives the
// code, the kind, the breaker's verdict and retries from it.
type Failure struct {
	Reason Reason
	// NotSent means that the server did not receive the complete request. Rejected
	// means that the server refused it before it ran anything. Answered means that
	// the answer has the id of the request but cannot be used, so the server has
	// run the request. If none of them is set, the server may have run the
	// request.
	NotSent, Rejected, Answered bool
	// Reused means that the connection was used before, and ended before any part of the answer.
	// The server may have closed it before the request.
	Reused bool
	// RetryAfter is the Retry-After of the server, 0 if there is none.
	RetryAfter time.Duration
	HTTP       *mcperrors.HTTPEvidence
	Process    *mcperrors.ProcessEvidence
	Err        error
}

// Reason is the class of a failure.
type Reason uint8

const (
	// ReasonCanceled: the context of the caller ended by cancellation or deadline.
	ReasonCanceled Reason = iota + 1
	// ReasonTimeout: a timeout of the client passed.
	ReasonTimeout
	// ReasonUnavailable: the server could not be reached, because of its name, the
	// connection, TLS or the program.
	ReasonUnavailable
	// ReasonLost: the connection or the process ended before the answer.
	ReasonLost
	// ReasonClosed: the client closed the connection.
	ReasonClosed
	// ReasonStatus: the answer has an HTTP error status and no JSON-RPC error.
	ReasonStatus
	// ReasonSession: the server no longer knows the session.
	ReasonSession
	// ReasonProtocol: the answer violates the protocol.
	ReasonProtocol
	// ReasonTooLarge: the answer exceeds a limit.
	ReasonTooLarge
	// ReasonConfig: the configuration leads to no usable server: the certificate
	// is not accepted, or a redirect must not be followed.
	ReasonConfig
	// ReasonOption: an option of the transport is wrong, for example its URL.
	ReasonOption
	// ReasonNotMCP: the server is not an MCP endpoint: the answer is neither JSON
	// nor an event stream.
	ReasonNotMCP
	// ReasonUnprocessed: HTTP/2 reports that the server did not process the
	// request, by REFUSED_STREAM or GOAWAY (RFC 9113 section 8.7).
	ReasonUnprocessed
	// ReasonNoRoom: other answers left no memory for this one in time, or it
	// stalled while others waited; see [Budget].
	ReasonNoRoom
	// ReasonCallback: a function of the application, such as its RoundTripper, panicked or called
	// runtime.Goexit.
	ReasonCallback
	// ReasonAuthorization: the [Authorizer] could not obtain credentials. With NotSent, the
	// request was not sent; with Rejected, the server has refused it.
	ReasonAuthorization
)

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }

func optionError(format string, args ...any) *Failure {
	return &Failure{Reason: ReasonOption, NotSent: true, Err: fmt.Errorf(format, args...)}
}

// endOf returns the error of a context that has ended, with its cause if there is one.
func endOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w (%w)", cause, err)
}

// callFailure returns the Failure for an error of a [jsonrpc.Conn].
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
		f.Reason = ReasonOption // an error of the id generator, not of the server
	case errors.Is(f.Err, jsonrpc.ErrIdle), errors.Is(f.Err, jsonrpc.ErrMaxWait):
		f.Reason = ReasonTimeout
	case errors.As(f.Err, &broken):
		f.unusable(broken)
		f.Answered = true // a broken message fails the call with its id
	case ctx.Err() != nil && errors.Is(f.Err, context.Cause(ctx)):
		f.Reason = ReasonCanceled
	}
	return f
}

// unusable sets the reason of an answer that cannot be used.
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

// limitError is the error of an answer over a limit, with the name of the limit.
type limitError struct {
	what, limit string
	err         error
}

func (e *limitError) Error() string { return e.what + "; raise Limits." + e.limit }

func (e *limitError) Unwrap() error { return e.err }

// waitFor waits at most bound for a group, and reports whether it is done.
func waitFor(group *sync.WaitGroup, bound time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		group.Wait()
	}()
	return within(done, bound)
}
