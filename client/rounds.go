package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithManualInput ends the call when the server asks something, with an error of
// kind [mcperrors.KindInputRequired] whose cause is an [*InputRequired]. Answer it
// and make the same call again [WithInput]. No handler runs. The server may ask
// for what the client declares; see [WithCapabilities] for a client without
// handlers.
func WithManualInput() CallOption {
	return callOptionFunc(func(o *callOptions) { o.Manual = true })
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

// answerInput takes one round of a call that the server wants to know more
// about: nil when the call is to be made again. What the user thinks in takes no
// time of any attempt, only of the whole call (MRTR-12).
func (c *Client) answerInput(ctx context.Context, cl *run.Call, raw json.RawMessage) error {
	agreed := cl.Link.Agreed
	if !ask.CanAsk(cl.Method, agreed.Version) {
		return c.undecodable(cl.Subject(), errors.New("it asks for input, which this method does not support"))
	}
	round, err := ask.ReadRound(raw)
	if err != nil {
		return c.undecodable(cl.Subject(), err)
	}
	if cl.Manual {
		return c.about(cl.Subject(), inputRequired(&InputRequired{Requests: round.Requests, State: round.State}))
	}
	ctx, cancel := c.span(cl).Bound(ctx)
	defer cancel()
	members, err := c.inbound().Asks().AnswerRound(ctx, ask.Occasion{Agreed: agreed, Method: cl.Method, Tool: cl.Tool}, &cl.Asked, round)
	if err != nil {
		return c.about(cl.Subject(), inputError(err, round.State))
	}
	cl.NextRound(members)
	if cl.Progress != nil {
		c.inbound().Progress().Renew(cl.Progress) // MRTR-05
	}
	return nil
}
