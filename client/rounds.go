package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/object"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithManualInput ends the call when the server asks something, with an error of
// kind [mcperrors.KindInputRequired] whose cause is an [*InputRequired]. Answer it
// and make the same call again [WithInput]. No handler runs. The server may ask
// for what the client declares; see [WithCapabilities] for a client without
// handlers.
func WithManualInput() CallOption {
	return callOptionFunc(func(o *callOptions) { o.manualInput = true })
}

// WithInput answers an [*InputRequired]. Make the call that ended with it again:
// the same call, with its State, and with an answer, an encoded result, for each
// key of its Requests. The state is good for this one call. From there the client
// continues automatically, unless the call has [WithManualInput] again.
func WithInput(responses mcp.InputResponses, state json.RawMessage) CallOption {
	return callOptionFunc(func(o *callOptions) { o.input = &givenInput{responses, state} })
}

type givenInput struct {
	responses mcp.InputResponses
	state     json.RawMessage
}

// resume begins a call with the answers its caller brought.
func (c *Client) resume(cl *call) error {
	agreed := c.live.Agreed()
	if !ask.CanAsk(cl.method, agreed.Version) {
		return c.about(cl.subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			fmt.Sprintf("WithInput is for calls that ended with InputRequired; %s never does in revision %s", cl.method, agreed.Version), nil))
	}
	round, err := ask.Encode(cl.opts.input.responses, cl.opts.input.state)
	if cl.round != nil {
		err = errInputTwice
	}
	if err != nil {
		return c.about(cl.subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, err.Error(), err))
	}
	cl.round = round
	return nil
}

var errInputTwice = errors.New("the answers and the state come both WithInput and in the params")

// takeRound takes what belongs to one round out of params that the caller wrote:
// the next round has its own (MRTR-04).
func (cl *call) takeRound() {
	ofRound := func(name []byte) bool { return string(name) == "inputResponses" || string(name) == "requestState" }
	found := false
	// They were checked; only the closing brace is missing.
	_ = jsonrpc.Walk(cl.open, func(name, _ []byte) bool {
		found = ofRound(name)
		return !found
	})
	if !found {
		return
	}
	open, round := []byte{'{'}, []byte{'{'}
	_ = jsonrpc.Walk(cl.open, func(name, value []byte) bool {
		pair := object.Pair(string(name), value)
		if ofRound(name) {
			round = object.Append(round, pair)
		} else {
			open = object.Append(open, pair)
		}
		return true
	})
	cl.open, cl.round = open, round[1:]
}

// answerInput takes one round of a call that the server wants to know more
// about: nil when the call is to be made again. What the user thinks in takes no
// time of any attempt, only of the whole call (MRTR-12).
func (c *Client) answerInput(ctx context.Context, cl *call, raw json.RawMessage) error {
	agreed := cl.link.Agreed
	if !ask.CanAsk(cl.method, agreed.Version) {
		return c.undecodable(cl.subject(), errors.New("it asks for input, which this method cannot"))
	}
	round, err := ask.ReadRound(raw)
	if err != nil {
		return c.undecodable(cl.subject(), err)
	}
	if cl.opts.manualInput {
		return c.about(cl.subject(), inputRequired(&InputRequired{Requests: round.Requests, State: round.State}))
	}
	ctx, cancel := c.span(cl).Bound(ctx)
	defer cancel()
	members, err := c.dispatcher().AnswerRound(ctx, ask.Occasion{Agreed: agreed, Method: cl.method, Tool: cl.tool}, &cl.asked, round)
	if err != nil {
		return c.about(cl.subject(), inputError(err, round.State))
	}
	cl.round = members
	cl.key, cl.earlier = "", cl.attempts // the next round is another request: its answer is not this one's
	if cl.progress != nil {
		c.progressTable().Renew(cl.progress) // MRTR-05
	}
	return nil
}
