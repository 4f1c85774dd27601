// Package outcome turns what came of one request into one value: the error that
// the caller gets, and the record that circuits, throttles and retries go by.
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

// Outcome is what came of one request. Exactly one of three things happened: a
// result (Err is nil), an error answer (Err without Failure), no answer (Err and
// Failure). A request that was never sent has an Err and ClassLocal.
type Outcome struct {
	// Result is the server's result. An Err beside it was read from it.
	Result json.RawMessage
	// Kind is the type that a result of the stateless era names; Typed is false
	// when it names none.
	Kind  mcp.ResultType
	Typed bool
	// Err is the error of the request.
	Err *mcperrors.Error
	// Failure says why there is no answer.
	Failure *transport.Failure
	// Record is what happened, as retries and circuits see it.
	Record resilience.Attempt
}

// Local reports whether this side refused the request: nothing was sent.
func (o *Outcome) Local() bool { return o.Record.Class == resilience.ClassLocal && o.Failure == nil }

// Refused is the outcome of a request that this side did not send.
func Refused(err error) Outcome {
	e := errormap.From(err, mcperrors.NotSent)
	return Outcome{Err: e, Record: resilience.Attempt{Class: resilience.ClassLocal, Delivery: e.Delivery, Kind: e.Kind}}
}

// Subject is the call that an error or a signal is about.
type Subject struct {
	Method, Tool string
	ID           jsonrpc.ID // of the last request, zero before the first
	Attempts     int
}

// Sent is what an outcome depends on besides what came back.
type Sent struct {
	Method, Tool string
	// Resource is what the request names: the tool, prompt, URI or task.
	Resource string
	Version  mcp.Version
	Era      mcp.Era
	// Exchanges reports whether each request is an HTTP exchange of its own.
	Exchanges bool
	// Restarts reports whether a program that ended is started again.
	Restarts bool
	// Wait is how long the answer was waited for, zero where that is not known.
	Wait    jsonrpc.Wait
	Profile mcperrors.Profile
	// Declared returns the capabilities that requests of a revision declare.
	Declared func(mcp.Version) mcp.ClientCapabilities
}

// Of returns the outcome of a request from what its transport returned.
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
	if s.Profile != nil && s.Method == mcp.MethodToolsCall { // otherwise nobody reads it here
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

// toolError returns what the profile says about a tool's result that reports an error: the
// error, and whether circuits count it. The error is nil for any other result. If the
// error says that nothing was done and a later attempt may succeed, the call is retried;
// when the retries end, the result is the answer.
func (s *Sent) toolError(raw json.RawMessage) (e *mcperrors.Error, counts bool) {
	if !bytes.Contains(raw, []byte(`"isError"`)) {
		return nil, false
	}
	res := &mcp.CallToolResult{}
	// A copy: the error must not change when the result is decoded.
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
