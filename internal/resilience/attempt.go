package resilience

import (
	"net/http"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Attempt is the record of one request. The verdicts for circuits, the decision to retry
// and the price of a retry depend only on it.
type Attempt struct {
	// Method is the method of the request. Only tools/call has a tool level.
	Method string
	Class  Class
	// Delivery is what became of the request, of the mapped error; of a result
	// it is Answered.
	Delivery mcperrors.Delivery
	// Kind is the mapped error's, 0 for a result. The same number means
	// different things in different families of servers, so that the class of
	// an answer comes from the mapped error ([FromError]) and not from Code.
	Kind mcperrors.Kind
	// Code is the code of the JSON-RPC error, 0 without one, and Status the HTTP
	// status where it was not 2xx, else 0.
	Code   int64
	Status int
	// RetryAfter is the server's wish in whatever form it came, as it came: 0
	// without one.
	RetryAfter time.Duration
	// Alive: something came from this server during the attempt, for whomever.
	Alive bool
	// OwnTimer: what ended the attempt is a timer of the client. A timeout
	// without it is one caller's impatience (shorter times than the client's)
	// and says nothing of the server.
	OwnTimer bool
	// Reused: the connection had been used before, so that its end may have been
	// on its way when the request was.
	Reused bool
	// Repeated: the same has happened before, as often as it takes to count: the
	// second time on a reused connection for this call, the third message in a
	// row that could not be read, the second lost session in 10 s, the second
	// crash under the same request (the poison rule). [State.Repeats] and
	// [Streak.Note] find it out.
	Repeated bool
	// Counts: the application's profile counts the answer as a failure. By default an
	// answer is the result of its call.
	Counts bool
	// Absent: nothing listens at the address, and nothing was sent.
	Absent bool
	// Final: the error says that a later attempt would end the same way (its
	// Retryable is false). A server's own word beats the table.
	Final bool
	// Probe: the attempt held the permit of a HALF_OPEN breaker.
	Probe bool
	// Elapsed is how long the attempt took.
	Elapsed time.Duration
}

// ReasonAbsent is the reason of a failure where nothing listens. A circuit that opens for
// it is probed early.
const ReasonAbsent = "nothing listens"

// Reason returns the reason of a failure for a circuit.
func (a Attempt) Reason() string {
	if a.Absent {
		return ReasonAbsent
	}
	return a.Class.String()
}

// Class is what happened, a value for each cause. Where a
// cause has two rows, a field of the attempt tells them apart: Alive and
// OwnTimer for ClassTimeout, Reused for ClassLost, Method for ClassInternal.
type Class uint8

// The classes. The zero Class is of an attempt that nobody classed: it proves
// nothing, and is not repeated.
const (
	ClassNone Class = iota

	// Results. From here to ClassBrokenResult the server has answered.
	ClassComplete      // a result
	ClassToolError     // a result with isError: the tool says no
	ClassInputRequired // the server wants to know something first
	ClassTask          // the handle of a task

	// Answers that are errors.
	ClassInvalid        // the request is at fault: -32600 to -32602, -32002, -32042, unknown tool
	ClassHeaderMismatch // -32020
	ClassUnsupported    // -32021, -32022
	ClassUnreadable     // -32700, or an error with id null
	ClassInternal       // -32603
	ClassServerError    // a server's own code for "it does not work"
	ClassApp            // any other code: alive, and it said no
	ClassBrokenResult   // no result of the protocol: resultType, neither, both, not JSON

	// No answer.
	ClassUnavailable // not reached: name, connection, TLS, program
	ClassExhausted   // not reached for want of something on this side: descriptors, ports
	ClassCertificate // its certificate is not accepted
	ClassUnprocessed // HTTP/2 says that the server did not process it
	ClassLost        // the connection ended before any of the answer
	ClassTruncated   // it ended in the middle of the answer, or of its stream
	ClassExited      // the program ended, or does not take requests any more
	ClassTimeout     // a timeout passed
	ClassCanceled    // the caller gave up, by cancellation or deadline
	ClassTooLarge    // over a limit: size, depth, compression

	// HTTP without a JSON-RPC error.
	ClassStatusFailed   // 500, and 5xx of no other class
	ClassStatusNever    // 501, 505
	ClassGateway        // 502, 504
	ClassBusy           // 503
	ClassThrottled      // 429, a limit named in a JSON-RPC error, and what a profile says was refused for now
	ClassRequestTimeout // 408
	ClassTooEarly       // 425
	ClassUnauthorized   // 401
	ClassForbidden      // 403
	ClassSessionLost    // 404 on a session
	ClassNoEndpoint     // 404, 405, 410, 421
	ClassRefused        // 400, 406, 409, 412, 413, 415, 422, other 4xx, redirects
	ClassNotMCP         // a web page, or nothing, where an answer is due

	// Nothing of the server's.
	ClassLocal // refused here: breaker, bulkhead, rate, budget, validation, closed
	ClassPanic // a hook of the user's
)

// FromError returns the record of an attempt that the server answered with an
// error, from the error that it was mapped to. A code with a meaning overrides the HTTP
// status.
func FromError(method string, e *mcperrors.Error) Attempt {
	a := Attempt{
		Method: method, Class: classOf(e), Delivery: e.Delivery, Kind: e.Kind,
		RetryAfter: e.RetryAfter, Final: !e.Retryable, Alive: true,
	}
	if e.RPC != nil {
		a.Code = e.RPC.Code
	}
	if e.HTTP != nil {
		a.Status = e.HTTP.Status
	}
	return a
}

func classOf(e *mcperrors.Error) Class {
	var code int64
	if e.RPC != nil {
		code = e.RPC.Code
	}
	if e.HTTP != nil && (e.RPC == nil || StatusBeats(code, e.HTTP.Status)) {
		return OfStatus(e.HTTP.Status)
	}
	if e.Delivery == mcperrors.Rejected && e.Retryable { // by the application's profile
		return ClassThrottled
	}
	switch code {
	case jsonrpc.CodeParseError:
		return ClassUnreadable
	case mcp.CodeHeaderMismatch:
		return ClassHeaderMismatch
	case mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion:
		return ClassUnsupported
	}
	switch e.Kind {
	case mcperrors.KindTool:
		return ClassToolError
	case mcperrors.KindOverloaded:
		return ClassThrottled
	case mcperrors.KindTimeout:
		return ClassServerError
	case mcperrors.KindServer:
		switch {
		case code == jsonrpc.CodeInternalError && e.Code == mcperrors.CodeUnavailable:
			return ClassInternal
		case code >= -32099 && code <= -32020:
			return ClassApp // reserved by MCP and not given a meaning yet: it has none
		case e.Code == mcperrors.CodeUnavailable:
			return ClassServerError
		}
		return ClassApp // the server works, and this request failed
	case mcperrors.KindNotFound, mcperrors.KindInvalidArguments, mcperrors.KindUnsupported,
		mcperrors.KindProtocol, mcperrors.KindVersion, mcperrors.KindInputRequired:
		return ClassInvalid
	default: // alive, and it said no
		return ClassApp
	}
}

// StatusBeats reports whether the HTTP status of an answer says more than the code of
// its JSON-RPC error: about credentials and load, unless the code has a meaning.
func StatusBeats(code int64, status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return !defined(code)
	}
	return false
}

// defined reports the codes that JSON-RPC or MCP give a meaning.
func defined(code int64) bool {
	switch code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams,
		jsonrpc.CodeInternalError, mcp.CodeResourceNotFound, mcp.CodeHeaderMismatch,
		mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion, mcp.CodeURLElicitationRequired:
		return true
	}
	return false
}

// OfStatus returns the class of an HTTP status that came without a JSON-RPC
// error and not about a session.
func OfStatus(status int) Class {
	switch status {
	case http.StatusUnauthorized:
		return ClassUnauthorized
	case http.StatusForbidden:
		return ClassForbidden
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusMisdirectedRequest:
		return ClassNoEndpoint
	case http.StatusRequestTimeout:
		return ClassRequestTimeout
	case http.StatusTooEarly:
		return ClassTooEarly
	case http.StatusTooManyRequests:
		return ClassThrottled
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return ClassStatusNever
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return ClassGateway
	case http.StatusServiceUnavailable:
		return ClassBusy
	}
	switch {
	case status >= 500:
		return ClassStatusFailed
	case status >= 300:
		return ClassRefused
	default:
		return ClassNotMCP
	}
}

// Retryable reports whether a later attempt may succeed, as far as the class
// tells. Whether repeating does harm is a question of its own ([Decide]).
func (c Class) Retryable() bool {
	switch c {
	case ClassInternal, ClassServerError,
		ClassUnavailable, ClassExhausted, ClassUnprocessed, ClassLost, ClassTruncated, ClassExited, ClassTimeout,
		ClassStatusFailed, ClassGateway, ClassBusy, ClassThrottled, ClassRequestTimeout, ClassTooEarly,
		ClassHeaderMismatch, ClassSessionLost: // these two once, after a correction
		return true
	default:
		return false
	}
}

// Corrected reports the classes after which the call is made again only when
// something was put right first: new headers, another revision, a new session,
// credentials. That is not a retry: it is done once, and costs no budget.
func (c Class) Corrected() bool {
	switch c {
	case ClassHeaderMismatch, ClassUnsupported, ClassSessionLost, ClassUnauthorized, ClassForbidden:
		return true
	default:
		return false
	}
}

// String returns the name used in logs and metrics, in kebab case.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return "unknown"
}

var classNames = [...]string{
	ClassNone: "none", ClassComplete: "complete", ClassToolError: "tool-error", ClassInputRequired: "input-required",
	ClassTask: "task", ClassInvalid: "invalid", ClassHeaderMismatch: "header-mismatch",
	ClassUnsupported: "unsupported", ClassUnreadable: "unreadable", ClassInternal: "internal",
	ClassServerError: "server-error", ClassApp: "app", ClassBrokenResult: "broken-result",
	ClassUnavailable: "unavailable", ClassUnprocessed: "unprocessed", ClassExhausted: "exhausted", ClassCertificate: "certificate", ClassLost: "lost",
	ClassTruncated: "truncated", ClassExited: "exited", ClassTimeout: "timeout", ClassCanceled: "canceled",
	ClassTooLarge: "too-large", ClassStatusFailed: "status-failed", ClassStatusNever: "status-never",
	ClassGateway: "gateway", ClassBusy: "busy", ClassThrottled: "throttled", ClassRequestTimeout: "request-timeout",
	ClassTooEarly: "too-early", ClassUnauthorized: "unauthorized", ClassForbidden: "forbidden",
	ClassSessionLost: "session-lost", ClassNoEndpoint: "no-endpoint", ClassRefused: "refused", ClassNotMCP: "not-mcp",
	ClassLocal: "local", ClassPanic: "panic",
}
