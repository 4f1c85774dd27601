// Package outcome turns the end of one request into one value: the error for the caller, and the
// record for circuits, throttles and retries.
package outcome

import (
	"bytes"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Outcome is the outcome of one request, one of three: a result (Err is nil), an error answer
// (Err without Failure), no answer (Err and Failure). A request that was never sent has an Err
// and ClassLocal.
type Outcome struct {
	// Result is the server's result. If Err is set too, it was derived from Result.
	Result json.RawMessage
	// Kind is the resultType of a result of the stateless era; Typed is false if it has none.
	Kind  mcp.ResultType
	Typed bool
	// Err is the error of the request.
	Err *mcperrors.Error
	// Failure is the reason for no answer.
	Failure *transport.Failure
	// Record is the outcome for retries and circuits.
	Record resilience.Attempt
}

// Local reports whether the client refused the request: nothing was sent.
func (o *Outcome) Local() bool { return o.Record.Class == resilience.ClassLocal && o.Failure == nil }

// Refused returns the outcome of a request that the client did not send.
func Refused(err error) Outcome {
	e := errormap.From(err, mcperrors.NotSent)
	return Outcome{Err: e, Record: resilience.Attempt{Class: resilience.ClassLocal, Delivery: e.Delivery, Kind: e.Kind}}
}

// Subject is the call of an error or a signal.
type Subject struct {
	Method, Tool string
	ID           jsonrpc.ID // of the last request, zero before the first
	Attempts     int
}

// Sent has the inputs of an outcome besides the answer.
type Sent struct {
	Method, Tool string
	// Resource is the tool, prompt, URI or task of the request.
	Resource string
	Version  mcp.Version
	Era      mcp.Era
	// Exchanges reports whether each request is an HTTP exchange of its own.
	Exchanges bool
	// Restarts reports whether a program that exits is restarted.
	Restarts bool
	// Wait is the limit of the wait for the answer, zero if it is not known.
	Wait    jsonrpc.Wait
	Profile mcperrors.Profile
	// Declared returns the capabilities that requests of a revision declare.
	Declared func(mcp.Version) mcp.ClientCapabilities
}

// Of returns the outcome of a request from the transport's return values.
func Of(s *Sent, answer transport.Answer, err error) Outcome {
	switch {
	case err != nil:
		return OfFailure(s, FailureOf(err))
	case answer.Error != nil:
		return ofError(s, answer)
	}
	return ofResult(s, answer.Result)
}

// OfFailure returns the outcome of a request without an answer.
func OfFailure(s *Sent, f *transport.Failure) Outcome {
	e := s.errorOf(f)
	out := Outcome{Err: e, Failure: f, Record: resilience.Attempt{
		Method: s.Method, Class: ClassOf(f), Delivery: e.Delivery, Kind: e.Kind,
		RetryAfter: f.RetryAfter, Final: !e.Retryable, Reused: f.Reused && Lost(f), Absent: absent(f),
	}}
	if f.HTTP != nil {
		out.Record.Status = f.HTTP.Status
	}
	return out
}

// ofError returns the outcome of a request that was answered with an error.
func ofError(s *Sent, answer transport.Answer) Outcome {
	e, counts := s.mapped(answer)
	out := Outcome{Err: e, Record: resilience.FromError(s.Method, e)}
	out.Record.RetryAfter = max(out.Record.RetryAfter, answer.RetryAfter)
	out.Record.Counts = counts
	return out
}

// ofResult returns the outcome of a request that was answered with a result.
func ofResult(s *Sent, raw json.RawMessage) Outcome {
	out := Outcome{Result: raw, Record: resilience.Attempt{
		Method: s.Method, Class: resilience.ClassComplete, Delivery: mcperrors.Answered, Alive: true,
	}}
	if s.Profile != nil && s.Method == mcp.MethodToolsCall { // without a profile, the result is not read here
		e, counts := s.toolError(raw)
		if e != nil && e.Delivery == mcperrors.Rejected && e.Retryable {
			return Outcome{Result: raw, Err: e, Record: resilience.FromError(s.Method, e)}
		}
		out.Record.Counts = counts
	}
	if s.Era != mcp.EraStateless {
		return out
	}
	out.Kind, out.Typed = mcp.PeekResultType(raw)
	switch {
	case !out.Typed, out.Kind == mcp.ResultComplete:
	case out.Kind == mcp.ResultInputRequired:
		out.Record.Class = resilience.ClassInputRequired
	case out.Kind == mcp.ResultTask:
		out.Record.Class = resilience.ClassTask
	default:
		out.Record.Class = resilience.ClassBrokenResult
	}
	return out
}

// toolError returns the profile's error for a tool result with isError, and whether circuits
// count it. The error is nil for any other result. If the error states that the call did not run
// and may succeed later, the call is retried; when the retries end, the call returns the result.
func (s *Sent) toolError(raw json.RawMessage) (e *mcperrors.Error, counts bool) {
	if !bytes.Contains(raw, []byte(`"isError"`)) {
		return nil, false
	}
	res := &mcp.CallToolResult{}
	// Decoding the result later must not change the error, so decode a copy.
	if mcp.UnmarshalValid(bytes.Clone(raw), res) != nil || !res.IsError {
		return nil, false //nolint:nilerr // the caller that decodes the result reports it
	}
	return errormap.ReadTool(res.Text(), res.StructuredContent, errormap.Options{Method: s.Method, Tool: s.Tool, Profile: s.Profile})
}

// Error returns the error of the request, nil for a result.
func (o *Outcome) Error() error {
	if o.Err == nil {
		return nil
	}
	return o.Err
}
