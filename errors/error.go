package mcperrors

import (
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Error is the one error type of every call on a client. Match it with
// errors.As, its cause with errors.Is.
type Error struct {
	// Code is the application code (E201, E302, …); "" for a call that the
	// caller cancelled.
	Code Code
	// Kind is what happened, from a closed list.
	Kind Kind
	// Message says what happened: the server's own words when it answered.
	Message string
	// UserMessage may be shown to an end user.
	UserMessage string
	// SuggestedAction is what the end user can do.
	SuggestedAction string
	// Retryable says that a later attempt may succeed. Whether repeating is
	// safe is told by Delivery.
	Retryable bool
	// RetryAfter is how long to wait first; 0 when nobody said.
	RetryAfter time.Duration
	// Delivery is what became of the request.
	Delivery Delivery
	// OriginalMCPCode is the code of the server's JSON-RPC error; nil when
	// there was none.
	OriginalMCPCode *int64

	// Server is the name of the server, Method the MCP method, Tool the tool
	// for tools/call, RequestID the id of the last attempt.
	Server, Method, Tool, RequestID string
	// Attempts is how many requests were made, 0 when none was.
	Attempts int

	// RPC is the server's JSON-RPC error, HTTP what the HTTP layer said,
	// Process how the server's process ended; each nil when there is none.
	RPC     *jsonrpc.Error
	HTTP    *HTTPEvidence
	Process *ProcessEvidence

	// Cause is the error underneath, nil when there is none.
	Cause error
}

// HTTPEvidence is what an HTTP server answered.
type HTTPEvidence struct {
	// Status is the status code, URL the endpoint without its query.
	Status int    `json:"status"`
	URL    string `json:"url,omitempty"`
	// ContentType is the media type as sent.
	ContentType string `json:"contentType,omitempty"`
	// Header has the response's headers that say what to do: WWW-Authenticate,
	// Retry-After, X-Request-Id, Date, RateLimit-* and X-RateLimit-*, each cut
	// at 500 characters; nil when there are none.
	Header http.Header `json:"header,omitempty"`
	// Body is the start of the body, at most 2 KiB.
	Body string `json:"body,omitempty"`
}

// ProcessEvidence is how a server's process ended, or what is known while it
// runs.
type ProcessEvidence struct {
	// Command is the program and its arguments.
	Command []string `json:"command,omitempty"`
	// PID is the process id, 0 when it never started.
	PID int `json:"pid,omitempty"`
	// Exited says that the process has ended; Exit is its status, -1 when a
	// signal ended it, and Signal that signal's name.
	Exited bool   `json:"exited"`
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	// Age is how long the process has run or ran.
	Age time.Duration `json:"-"`
	// Stderr is what it wrote to stderr, line by line: of much output the first
	// and the last lines, and those between that look like errors.
	Stderr []string `json:"stderrTail,omitempty"`
	// Noise is the first stdout line that was not a message, "" when none was.
	Noise string `json:"noise,omitempty"`
}

// Delivery is what became of a request: whether repeating it can do harm.
type Delivery uint8

const (
	// Unknown: the request may have been executed. Look before repeating. It is
	// the zero value: an error that nobody judged claims nothing.
	Unknown Delivery = iota
	// NotSent: no complete request left this process. Repeating is safe.
	NotSent
	// Rejected: it is proved that the server refused before it did anything, by an
	// HTTP status that comes before the request is read, or by an error that names
	// the tool unknown or something in the request that the server cannot take.
	// Repeating does no harm.
	Rejected
	// Answered: the server answered, with a result or an error. Unless the error
	// says otherwise, the request was run.
	Answered
)

// String returns the name used in JSON: not-sent, rejected, unknown, answered.
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

// Error implements error: what happened, where, and what to do when known.
// Text from peers is made printable.
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

// isItself reports whether err is rpc and not something around it.
func isItself(err error, rpc *jsonrpc.Error) bool {
	return err == error(rpc) //nolint:errorlint // identity is the question
}
