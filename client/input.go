package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Asker is the server that asks for something, and on which occasion, for a
// handler to show to its user.
type Asker struct {
	// Server is what this side knows the server by: its URL or its program.
	Server string
	// Claimed is what the server calls itself; untrusted.
	Claimed mcp.Implementation
	// Method and Tool are the call that the question belongs to. They are empty
	// for a request of the session era, which does not say.
	Method, Tool string

	agreed *link.Agreement
}

// asker describes who asks. method and tool are empty when that is not known.
func (c *Client) asker(agreed *link.Agreement, method, tool string) Asker {
	return Asker{Server: c.server, Claimed: agreed.Server(), Method: method, Tool: tool, agreed: agreed}
}

// ErrRejected is what a handler returns when its user refused: a sampling
// request fails with code -1, an elicitation is declined. In the
// stateless era the call that asked for a model's answer fails with this error.
var ErrRejected = errors.New("the user said no")

// question is a request of the server that has been checked: calling it runs
// the application's handler. The result is bare (MRTR-04).
type question func(ctx context.Context) (json.RawMessage, *refusal)

// refusal is why the server gets no result.
type refusal struct {
	// rpc is what a server of the session era is told.
	rpc *jsonrpc.Error
	// cause stays on this side: it is the handler's, and may hold anything.
	cause error
}

func (r *refusal) Error() string {
	if r.cause != nil {
		return r.cause.Error()
	}
	return r.rpc.Error()
}

func (r *refusal) Unwrap() error { return r.cause }

// refuse is a refusal that only says what the server did wrong.
func refuse(code int64, format string, args ...any) *refusal {
	return &refusal{rpc: jsonrpc.NewError(code, fmt.Sprintf(format, args...), nil)}
}

// prepare checks one thing that the server asks and returns what answers it.
// Nothing is shown to anybody yet.
func (c *Client) prepare(from Asker, method string, params json.RawMessage) (question, *refusal) {
	caps := c.capabilities(from.agreed.Version)
	switch {
	case method == mcp.MethodSamplingCreateMessage && caps.Sampling != nil:
		return c.prepareSampling(from, caps.Sampling, params)
	case method == mcp.MethodElicitationCreate && caps.Elicitation != nil:
		return c.prepareElicitation(from, caps.Elicitation, params)
	case method == mcp.MethodRootsList && caps.Roots != nil:
		return c.listRoots, nil
	}
	return nil, refuse(jsonrpc.CodeMethodNotFound, "Method not found: %s", jsonrpc.Printable(method, 100))
}

// fulfil answers one thing that the server asks. It is the only way to the
// application's handlers, whoever brought the question: a request of the
// session era, a round of a call, a task (MRTR-14). It returns when ctx ends,
// whatever the handler does.
func (c *Client) fulfil(ctx context.Context, from Asker, method string, params json.RawMessage) (json.RawMessage, *refusal) {
	q, no := c.prepare(from, method, params)
	if no != nil {
		return nil, no
	}
	return c.put(ctx, method, q)
}

// fulfilAll answers everything a server wants to know, all at the same time, in
// bare results by the same keys. If one thing cannot be answered nothing is:
// what is asked for in vain is found before anybody is bothered, and the first
// refusal ends the other handlers' contexts (MRTR-03, MRTR-09). The error has
// kind [mcperrors.KindInputRequired] and an [*InputRequired] as its cause, or
// says that ctx ended.
func (c *Client) fulfilAll(ctx context.Context, from Asker, requests mcp.InputRequests) (mcp.InputResponses, error) {
	if len(requests) > maxInputRequests {
		return nil, inputRefused(requests, refuse(jsonrpc.CodeInvalidParams, "%d questions at once are too many", len(requests)))
	}
	keys := slices.Sorted(maps.Keys(requests))
	questions := make([]question, len(keys))
	for i, key := range keys {
		if ctx.Err() != nil { // reading what is asked takes time too
			return nil, mcperrors.From(ctx.Err(), mcperrors.Answered)
		}
		var no *refusal
		if questions[i], no = c.prepare(from, requests[key].Method, slices.Clone(requests[key].Params)); no != nil {
			return nil, inputRefused(requests, no)
		}
	}
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		key    string
		result json.RawMessage
		no     *refusal
	}
	answers := make(chan answer, len(keys))
	for i, key := range keys {
		go func() {
			result, no := c.put(ctx, requests[key].Method, questions[i])
			answers <- answer{key, result, no}
		}()
	}
	responses := make(mcp.InputResponses, len(keys))
	var first *refusal
	for range keys { // put ends with ctx, so all of them come
		a := <-answers
		if a.no != nil && first == nil {
			first = a.no
			cancel()
		}
		responses[a.key] = a.result
	}
	switch {
	case first == nil:
		return responses, nil
	case c.isClosed():
		return nil, errClosed()
	case outer.Err() != nil:
		return nil, mcperrors.From(outer.Err(), mcperrors.Answered)
	}
	return nil, inputRefused(requests, first)
}

// maxInputRequests bounds what a server may want to know at once.
const maxInputRequests = 100

// InputRequired is the cause of an error of kind
// [mcperrors.KindInputRequired]: the server wants to know something before it
// answers, and this client did not tell it. The call may be made again with the
// answers, see [WithInput]. It can be stored as JSON; what it holds is between
// the server and whoever answers, and belongs in no log.
type InputRequired struct {
	// Requests is what the server wants to know, by keys of its own; nil when it
	// only wants to be asked again.
	Requests mcp.InputRequests `json:"inputRequests,omitempty"`
	// State is the server's, a JSON text to be sent back as it is; nil for none.
	State json.RawMessage `json:"requestState,omitempty"`
	// Reason is why the client did not answer itself; nil when it was told not
	// to, with [WithManualInput].
	Reason error `json:"-"`
}

func (e *InputRequired) Error() string {
	text := fmt.Sprintf("the server wants to know %d things first", len(e.Requests))
	switch len(e.Requests) {
	case 0:
		text = "the server wants the call to be made again"
	case 1:
		for _, r := range e.Requests {
			text = "the server wants an answer to " + jsonrpc.Printable(r.Method, 100) + " first"
		}
	}
	if e.Reason != nil {
		text += ": " + e.Reason.Error()
	}
	return text
}

// Unwrap returns the reason.
func (e *InputRequired) Unwrap() error { return e.Reason }

func inputRefused(requests mcp.InputRequests, no *refusal) *mcperrors.Error {
	return inputRequired(&InputRequired{Requests: requests, Reason: no})
}

// inputRequired is the error of a call that needs an answer first.
func inputRequired(need *InputRequired) *mcperrors.Error {
	e := mcperrors.New(mcperrors.E201, mcperrors.KindInputRequired, mcperrors.Answered, need.Error(), need)
	e.Retryable = false // it would ask again
	e.SuggestedAction = "Answer what the server asks"
	return e
}
