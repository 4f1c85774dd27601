package run

import (
	"errors"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Step is the next step of a call after an attempt.
type Step uint8

const (
	// End: the call returns the result.
	End Step = iota
	// Untyped: the result has no resultType.
	Untyped
	// Task: the server runs the call as a task.
	Task
	// Round: the server asks for input before it answers.
	Round
	// Misplaced: the type of the result is not allowed here.
	Misplaced
	// Retry: no repair applies; the retry policy decides.
	Retry
	// Refused: the circuit refused the request.
	Refused
	// Relink: the program or the stream ended before it took the request.
	Relink
	// Renew: the session is lost, and the request did not run.
	Renew
	// Lost: the session is lost, and the request must not be sent again.
	Lost
	// Headers: the server refused the headers of the request.
	Headers
	// Version: the server refused the revision of the request.
	Version
	// Missing: the server needs a capability that this client does not declare.
	Missing
	// Visit: the user has to visit URLs before the server takes the call.
	Visit
)

// Repairs are the repairs that a call has had. Each is done at most once.
type Repairs uint8

// The repairs.
const (
	Renewed Repairs = 1 << iota // a new session was opened
	Listed                      // the tools were listed again
	Revised                     // another revision was negotiated
	Visited                     // the user visited the URLs of error -32042
)

// Facts are the inputs of Decide besides the outcome.
type Facts struct {
	Method  string
	Purpose link.Purpose
	// Link is the link of the last attempt, nil before the first.
	Link *link.Link
	Had  Repairs
	// Restarts reports whether a program or stream that ends is restarted.
	Restarts bool
	// Verbatim is set if the caller gets every result unchanged.
	Verbatim bool
	// Visits reports whether the application can show URLs to a user.
	Visits bool
}

// Decide returns the next step of a call after an attempt.
func Decide(out *outcome.Outcome, f *Facts) Step {
	if out.Err == nil {
		return afterResult(out, f)
	}
	var rpc *jsonrpc.Error
	if errors.As(out.Err, &rpc) {
		return afterError(out.Err, rpc, f)
	}
	return afterFailure(out.Err, f)
}

func afterResult(out *outcome.Outcome, f *Facts) Step {
	switch {
	case f.Verbatim, f.Link.Agreed.Era != mcp.EraStateless:
		return End
	case !out.Typed:
		return Untyped
	}
	switch out.Kind {
	case mcp.ResultComplete:
		return End
	case mcp.ResultInputRequired:
		return Round
	case mcp.ResultTask:
		return Task
	}
	return Misplaced
}

// afterError decides after an error that the server returned. A call is sent again only if it did
// not run or may run twice; after Version its caller decides that.
func afterError(err *mcperrors.Error, rpc *jsonrpc.Error, f *Facts) Step {
	switch {
	case rpc.Code == mcp.CodeHeaderMismatch && mcperrors.SafeToRetry(err) && f.Had&Listed == 0 &&
		f.Method == mcp.MethodToolsCall && f.Link.StatelessHTTP():
		return Headers
	case rpc.Code == mcp.CodeUnsupportedProtocolVersion && f.Link.Agreed.Era == mcp.EraStateless:
		return Version
	case rpc.Code == mcp.CodeMissingRequiredClientCapability:
		return Missing
	case rpc.Code == mcp.CodeURLElicitationRequired && f.Had&Visited == 0 && f.Visits:
		return Visit
	}
	return Retry
}

// afterFailure decides after a request without an answer: it was not sent, or its answer was
// lost.
func afterFailure(err *mcperrors.Error, f *Facts) Step {
	switch {
	case err.Kind == mcperrors.KindCircuitOpen:
		return Refused
	case f.Link == nil:
		return Retry
	case f.Restarts && !f.Purpose.Opens() && notTaken(err):
		return Relink
	case err.Kind != mcperrors.KindSessionLost || f.Purpose == link.Handshake || f.Link.Agreed.Era != mcp.EraSession:
		return Retry
	case !mcperrors.SafeToRetry(err) || f.Had&Renewed != 0:
		return Lost
	}
	return Renew
}

// notTaken reports whether the connection was lost before it took the request. An error without a
// transport failure arose in the client, and is no evidence about the server.
func notTaken(err *mcperrors.Error) bool {
	var f *transport.Failure
	return errors.As(err, &f) && outcome.Lost(f) && err.Delivery == mcperrors.NotSent
}
