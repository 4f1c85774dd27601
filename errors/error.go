package mcperrors

import (
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Error is the error of a call on a client. Use errors.As to get it, and
// errors.Is to match its cause.
type Error struct {
	// Code is the application code, such as [CodeUnavailable]. It is empty for a
	// call that its caller canceled.
	Code Code
	// Kind is the class of the failure.
	Kind Kind
	// Message describes what happened. If the server answered with an error,
	// Message is the server's text.
	Message string
	// UserMessage is a text that an end user may see.
	UserMessage string
	// SuggestedAction is what an end user can do.
	SuggestedAction string
	// Retryable reports whether a later attempt may succeed. Delivery tells
	// whether another attempt is harmless.
	Retryable bool
	// RetryAfter is the time to wait before the next attempt, 0 if it is unknown.
	RetryAfter time.Duration
	// Delivery reports whether the server may have run the request.
	Delivery Delivery
	// OriginalMCPCode is the code of the server's JSON-RPC error, or nil.
	OriginalMCPCode *int64

	// Server is the name of the server, Method the MCP method, and Tool the name
	// of the tool in tools/call. RequestID is the id of the last attempt.
	Server, Method, Tool, RequestID string
	// Attempts is the number of requests that were sent for the call.
	Attempts int

	// RPC is the server's JSON-RPC error, HTTP the HTTP response, and Process the
	// state of the server's process. Each is nil if it does not apply.
	RPC     *jsonrpc.Error
	HTTP    *HTTPEvidence
	Process *ProcessEvidence

	// Cause is the underlying error, or nil.
	Cause error
}

// HTTPEvidence describes the HTTP response behind an error.
type HTTPEvidence struct {
	// Status is the status code. URL is the endpoint without its query.
	Status int    `json:"status"`
	URL    string `json:"url,omitempty"`
	// ContentType is the Content-Type header, unchanged.
	ContentType string `json:"contentType,omitempty"`
	// Header has the response headers that help to find the reason:
	// WWW-Authenticate, Retry-After, X-Request-Id, Date, RateLimit-* and
	// X-RateLimit-*. Each value is cut at 500 characters. Header is nil if there
	// are none.
	Header http.Header `json:"header,omitempty"`
	// Body is the start of the body, at most 2 KiB.
	Body string `json:"body,omitempty"`
}

// ProcessEvidence describes the process of a server, which may still run.
type ProcessEvidence struct {
	// Command is the program and its arguments.
	Command []string `json:"command,omitempty"`
	// PID is the process id, 0 if the process never started.
	PID int `json:"pid,omitempty"`
	// Exited reports whether the process has ended. Exit is its exit status, -1 if
	// a signal ended it. Signal is the name of that signal, such as SIGKILL.
	Exited bool   `json:"exited"`
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	// Age is how long the process has run.
	Age time.Duration `json:"-"`
	// Stderr has lines that the process wrote to stderr. Of a long output it keeps
	// the first and the last lines, and lines between them that look like errors.
	Stderr []string `json:"stderrTail,omitempty"`
	// Earlier is how many of the first lines of Stderr explain no failure, because the
	// program worked after them: it wrote them before the handshake ended, or before
	// its last answer. The text of the error leaves them out.
	Earlier int `json:"-"`
	// Noise is the first line on stdout that is not a message, or empty.
	Noise string `json:"noise,omitempty"`
}

// Delivery reports whether the server may have run a request, and so whether
// another attempt can do harm.
type Delivery uint8

const (
	// Unknown means that the server may have run the request. Check before you
	// repeat it. Unknown is the zero value.
	Unknown Delivery = iota
	// NotSent means that no complete request left this process. Another attempt is
	// harmless.
	NotSent
	// Rejected means that the server refused the request before it ran anything.
	// The proof is an HTTP status that precedes the processing of a request, or an
	// error that names an unknown tool or a part of the request that the server
	// cannot accept. Another attempt is harmless.
	Rejected
	// Answered means that the server sent a result or an error. Unless the error
	// says otherwise, the server has run the request.
	Answered
)

// String returns the name used in JSON: "not-sent", "rejected", "unknown" or
// "answered".
func (d Delivery) String() string {
	switch d {
	case NotSent:
		return "not-sent"
	case Rejected:
		return "rejected"
	case Answered:
		return "answered"
	default:
		return "unknown"
	}
}

// Error returns one line: what happened, where, and what to do if that is
// known. Control characters in text from the server are escaped.
func (e *Error) Error() string { return e.text() }

// Unwrap returns the cause and the server's JSON-RPC error.
func (e *Error) Unwrap() []error {
	var out []error
	if e.Cause != nil {
		out = append(out, e.Cause)
	}
	if e.RPC != nil && !isItself(e.Cause, e.RPC) {
		out = append(out, e.RPC)
	}
	return out
}

// isItself reports whether err is rpc itself and not an error that wraps it.
func isItself(err error, rpc *jsonrpc.Error) bool {
	return err == error(rpc) //nolint:errorlint // identity is the question
}
