package resilience

import (
	"net/http"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Attempt is the record of one request. Verdicts for circuits, retry decisions and the price of a
// retry depend only on it.
type Attempt struct {
	// Method is the method of the request. Only tools/call has a tool level.
	Method string
	Class  Class
	// Delivery is the delivery of the mapped error; for a result it is Answered.
	Delivery mcperrors.Delivery
	// Kind is the kind of the mapped error, 0 for a result. Families of servers use the same
	// number for different errors, so the class of an answer depends on the mapped error
	// ([FromError]), not on Code.
	Kind mcperrors.Kind
	// Code is the code of the JSON-RPC error, 0 for none, and Status the HTTP status if it was
	// not 2xx, else 0.
	Code   int64
	Status int
	// RetryAfter is the server's Retry-After in any form, unchanged: 0 for none.
	RetryAfter time.Duration
	// Alive is set if anything arrived from the server during the attempt, for any call.
	Alive bool
	// OwnTimer is set if a timer of the client ended the attempt. Without it, a timeout is due to
	// the caller's shorter timeout, and is no evidence about the server.
	OwnTimer bool
	// Reused is set if the connection was used before, so that it may have been closed while the
	// request was being sent.
	Reused bool
	// Repeated is set if the same failure has repeated often enough to count: for the second time
	// on a reused connection in this call, for the third message in a row that could not be read,
	// for the second lost session in 10 s, for the second crash during the same request (the
	// poison rule). [State.Repeats] and [Streak.Note] detect it.
	Repeated bool
	// Counts is set if the application's profile counts the answer as a failure. By default an
	// answer is the result of its call.
	Counts bool
	// Absent is set if no process listens at the address, or the one that did has just gone, so
	// nothing was sent.
	Absent bool
	// Final is set if the error states that a later attempt would end the same way (its Retryable
	// is false). The server's own information overrides the table.
	Final bool
	// Probe is set if the attempt held the permit of a half-open circuit.
	Probe bool
	// Elapsed is how long the attempt took.
	Elapsed time.Duration
}

// ReasonAbsent is the reason of a failure if no process listens. A circuit that opens for it is
// probed early.
const ReasonAbsent = "nothing listens"

// Reason returns the reason of a failure for a circuit.
func (a Attempt) Reason() string {
	if a.Absent {
		return ReasonAbsent
	}
	return a.Class.String()
}

// Class is the kind of outcome of an attempt, one for each cause. If a cause has two rows, a
// field of the attempt distinguishes them: Alive and OwnTimer for ClassTimeout, Reused for
// ClassLost, Method for ClassInternal.
type Class uint8

// The classes. The zero Class is of an attempt without a class: it proves nothing, and is not
// retried.
const (
	ClassNone Class = iota

	// Results. Up to ClassBrokenResult the server has answered.
	ClassComplete      // a result
	ClassToolError     // a result with isError: the tool failed
	ClassInputRequired // the server asks for input first
	ClassTask          // the handle of a task

	// Answers that are errors.
	ClassInvalid        // an invalid request: -32600 to -32602, -32002, -32042, unknown tool
	ClassHeaderMismatch // -32020
	ClassUnsupported    // -32021, -32022
	ClassUnreadable     // -32700, or an error with id null
	ClassInternal       // -32603
	ClassServerError    // a server's own code for a failure
	ClassApp            // any other code: the server works, and rejects the call
	ClassBrokenResult   // an invalid result: resultType, neither result nor error, both, not JSON

	// No answer.
	ClassUnavailable // not reached: name, connection, TLS, program
	ClassExhausted   // not reached for lack of local resources: descriptors, ports
	ClassCertificate // its certificate is not accepted
	ClassUnprocessed // HTTP/2 reports that the server did not process it
	ClassLost        // the connection ended before any of the answer
	ClassTruncated   // the connection ended in the middle of the answer, or of its stream
	ClassExited      // the program exited, or takes no more requests
	ClassTimeout     // a timeout passed
	ClassCanceled    // the caller gave up, by cancellation or deadline
	ClassTooLarge    // over a limit: size, depth, compression

	// HTTP without a JSON-RPC error.
	ClassStatusFailed   // 500, and 5xx of no other class
	ClassStatusNever    // 501, 505
	ClassGateway        // 502, 504
	ClassBusy           // 503
	ClassThrottled      // 429, a rate limit in a JSON-RPC error, and temporary rejections by a profile's rule
	ClassRequestTimeout // 408
	ClassTooEarly       // 425
	ClassUnauthorized   // 401
	ClassForbidden      // 403
	ClassSessionLost    // 404 on a session
	ClassNoEndpoint     // 404, 405, 410, 421
	ClassRefused        // 400, 406, 409, 412, 413, 415, 422, other 4xx, redirects
	ClassNotMCP         // a web page, or nothing, instead of an answer

	// Not caused by the server.
	ClassLocal // refused by the client: breaker, bulkhead, rate, budget, validation, closed
	ClassPanic // a callback of the application panicked
)

// FromError returns the record of an attempt that the server answered with an error, for the
// mapped error. A code with a defined meaning overrides the HTTP status.
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
			return ClassApp // reserved by MCP without a meaning so far
		case e.Code == mcperrors.CodeUnavailable:
			return ClassServerError
		}
		return ClassApp // the server works, and this request failed
	case mcperrors.KindNotFound, mcperrors.KindInvalidArguments, mcperrors.KindUnsupported,
		mcperrors.KindProtocol, mcperrors.KindVersion, mcperrors.KindInputRequired:
		return ClassInvalid
	default: // the server works, and rejects the call
		return ClassApp
	}
}

// StatusBeats reports whether the HTTP status of an answer is more useful than the code of its
// JSON-RPC error. It is for credentials and load, unless the code has a defined meaning.
func StatusBeats(code int64, status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return !defined(code)
	}
	return false
}

// defined reports whether JSON-RPC or MCP defines a code.
func defined(code int64) bool {
	switch code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams,
		jsonrpc.CodeInternalError, mcp.CodeResourceNotFound, mcp.CodeHeaderMismatch,
		mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion, mcp.CodeURLElicitationRequired:
		return true
	}
	return false
}

// OfStatus returns the class of an HTTP status without a JSON-RPC error that is not about a
// session.
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

// Retryable reports whether a later attempt may succeed, judging by the class. Whether a retry is
// safe is a separate question ([Decide]).
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

// Corrected reports whether a call is sent again only after a correction: new headers, another
// revision, a new session, credentials. That is not a retry: it happens once, and costs no
// budget.
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
