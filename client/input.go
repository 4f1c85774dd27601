package client

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Requester identifies the server that asks a handler for something. Show it
// to the user.
type Requester struct {
	// Server is the name of the server; see [WithName]. Only the application sets it.
	Server string
	// Claimed is how the server identifies itself; untrusted.
	Claimed mcp.Implementation
	// Method and Tool are the call that the question belongs to. They are empty
	// for requests of the session era, which do not carry it.
	Method, Tool string
}

// ErrRejected is the error that a handler returns when the user refused. A
// sampling request of the session era then fails with code -1, and an
// elicitation is declined. In the stateless era a rejected sampling request
// fails the call that it belongs to, with this error.
var ErrRejected = ask.ErrRejected

// ServerLimits bounds what a server can make this client hold and do. A field that is 0 has
// its default.
type ServerLimits struct {
	// MemoryBytes bounds what the client holds for the server at the same time: incomplete
	// answers of more than 16 KiB, requests and notifications that wait for handlers, and
	// lists while they are fetched. The default is 64 MiB. A negative value disables the
	// limit.
	//
	// Answers beyond the limit wait until there is room or their calls end, which slows the
	// server down; see [transport.Budget]. Everything else is refused, newest first: a
	// request gets a JSON-RPC error, a notification is dropped and counted in the log, a
	// list fails. A call that fails for lack of room has an error of kind overloaded; its
	// Delivery tells whether it may have run. A higher MessageBytes in [transport.Limits]
	// raises the limit, so that one message always fits.
	//
	// The client can exceed the limit by one message, because one answer at a time may
	// continue without room. Reading a message briefly takes up to twice its size. Not
	// counted are messages being read from a pipe, results that a call has returned, and
	// over HTTP/2 up to 256 KiB of each waiting answer (or the window that your
	// RoundTripper allows).
	MemoryBytes int64
	// Handlers is how many handlers run at once, 16 by default; further questions of the
	// server wait. If a handler calls the server, it must be at least 2, because that call
	// may ask something too.
	Handlers int
	// QuestionsPerMinute is how many questions handlers get in a minute, 120 by default;
	// further questions are refused. Requests for roots do not count.
	QuestionsPerMinute int
	// Rounds is how many times one call may ask, 10 by default. The server may put a call
	// off twice as many times; the client pauses in between, longer each time.
	Rounds int
}

// WithServerLimits bounds what a server can make this client hold and do; see
// [ServerLimits].
func WithServerLimits(l ServerLimits) Option {
	return optionFunc(func(c *config) { overlay(&c.limits, l) })
}

// InputRequired is the cause of an error of kind
// [mcperrors.KindInputRequired]: the server asks something before it answers
// the call, and the client did not answer it. Make the call again with the
// option that [InputRequired.Answer] returns. An InputRequired can be stored as JSON. Do not log
// it: it may hold secrets between the server and its user.
type InputRequired struct {
	// Requests are the server's questions, by the server's keys. nil means that
	// the server only wants the call again.
	Requests mcp.InputRequests `json:"inputRequests,omitempty"`
	// State is the server's state, a JSON text to send back unchanged; nil for
	// none.
	State json.RawMessage `json:"requestState,omitempty"`
	// Reason is why the client did not answer; nil with [WithManualInput].
	Reason error `json:"-"`
}

func (e *InputRequired) Error() string {
	text := fmt.Sprintf("the server asks %d questions before it answers", len(e.Requests))
	switch len(e.Requests) {
	case 0:
		text = "the server asks the client to call again"
	case 1:
		for _, r := range e.Requests {
			text = "the server asks for " + jsonrpc.Printable(r.Method, 100) + " before it answers"
		}
	}
	if e.Reason != nil {
		text += ": " + e.Reason.Error()
	}
	return text
}

// Unwrap returns the reason.
func (e *InputRequired) Unwrap() error { return e.Reason }

// WithManualInput ends the call when the server asks something, with an error of
// kind [mcperrors.KindInputRequired] whose cause is an [*InputRequired]. Answer it
// and make the same call again with [InputRequired.Answer]. No handler runs. The
// server may ask for what the client declares; see [WithCapabilities] for a client
// without handlers.
func WithManualInput() CallOption {
	return callOptionFunc(func(o *callOptions) { o.Manual = true })
}

// Answer returns an option for the call that ended with e: make the same call again with
// it. responses has an answer, an encoded result, for each key of Requests. The state of
// e is good for this one call. From there the client answers automatically, unless the
// call has [WithManualInput] again.
func (e *InputRequired) Answer(responses mcp.InputResponses) CallOption {
	return callOptionFunc(func(o *callOptions) { o.input = &givenInput{responses, e.State} })
}

type givenInput struct {
	responses mcp.InputResponses
	state     json.RawMessage
}

// inputRequired returns the error of a call that needs an answer first.
func inputRequired(need *InputRequired) *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindInputRequired, mcperrors.Answered, need.Error(), need)
	e.Retryable = false // the server would ask again
	e.SuggestedAction = "Answer what the server asks"
	return e
}

// InputError implements [run.Client].
func (*callSupport) InputError(err error, state json.RawMessage) *mcperrors.Error {
	return inputError(err, state)
}

// inputError returns the error of a call whose input failed with err. state is the state of
// that round.
func inputError(err error, state json.RawMessage) *mcperrors.Error {
	var unanswered *ask.Unanswered
	switch {
	case errors.As(err, &unanswered): // the caller may answer manually
		return inputRequired(&InputRequired{Requests: unanswered.Requests, State: state, Reason: unanswered.Reason})
	case errors.Is(err, ask.ErrClosed):
		return life.ErrClosed()
	}
	return errormap.From(err, mcperrors.Answered)
}
