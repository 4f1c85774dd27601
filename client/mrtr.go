package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithManualInput makes the call end where the server wants to know something,
// with an error of kind [mcperrors.KindInputRequired] whose cause is an
// [*InputRequired]: answer it and make the same call again [WithInput]. Handlers
// are not called. What the server may ask for is what the client declares; see
// [WithCapabilities] for one without handlers.
func WithManualInput() CallOption {
	return callOptionFunc(func(o *callOptions) { o.manualInput = true })
}

// WithInput makes a call again that ended with an [*InputRequired]: the same
// call, with its State, and with an answer, an encoded result, for each key of
// its Requests. The state is good for this one call. The client goes on
// by itself from there, unless it is told [WithManualInput] again.
func WithInput(responses mcp.InputResponses, state json.RawMessage) CallOption {
	return callOptionFunc(func(o *callOptions) { o.input = &givenInput{responses, state} })
}

type givenInput struct {
	responses mcp.InputResponses
	state     json.RawMessage
}

// inputLoop is how far a call has come that the server keeps asking about.
type inputLoop struct {
	rounds, waits int
}

// resume begins a call with the answers its caller brought.
func (c *Client) resume(cl *call) error {
	agreed := c.live.Agreed()
	if !mayAsk(cl.method, agreed.Version) {
		return c.about(cl.subject(), mcperrors.New(mcperrors.E203, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			fmt.Sprintf("WithInput is for calls that ended with InputRequired; %s never does in revision %s", cl.method, agreed.Version), nil))
	}
	round, err := encodeRound(cl.opts.input.responses, cl.opts.input.state)
	if cl.round != nil {
		err = errInputTwice
	}
	if err != nil {
		return c.about(cl.subject(), mcperrors.New(mcperrors.E203, mcperrors.KindInvalidArguments, mcperrors.NotSent, err.Error(), err))
	}
	cl.round = round
	return nil
}

var errInputTwice = errors.New("the answers and the state come both WithInput and in the params")

// lift takes what belongs to one round out of the params a caller wrote himself:
// the next round has its own (MRTR-04).
func (cl *call) lift() {
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
		pair := append(append(jsonrpc.AppendString(nil, string(name)), ':'), value...)
		if ofRound(name) {
			round = member(round, pair)
		} else {
			open = member(open, pair)
		}
		return true
	})
	cl.open, cl.round = open, round[1:]
}

// mayAsk reports the three methods whose results may ask for input (MRTR-01).
func mayAsk(method string, v mcp.Version) bool {
	info, ok := mcp.LookupMethod(method, v)
	return ok && info.InputRequired
}

// answerInput takes one round of a call that the server wants to know more
// about: nil when the call is to be made again. What the user thinks in takes no
// time of any attempt, only of the whole call (MRTR-12).
func (c *Client) answerInput(ctx context.Context, cl *call, raw json.RawMessage) error {
	if !mayAsk(cl.method, cl.link.Agreed.Version) {
		return c.undecodable(cl.subject(), errors.New("it asks for input, which this method cannot"))
	}
	need, err := readInputRequired(raw)
	if err != nil {
		return c.undecodable(cl.subject(), err)
	}
	if cl.opts.manualInput {
		return c.about(cl.subject(), inputRequired(need))
	}
	ctx, cancel := c.inTime(ctx, cl)
	defer cancel()
	var responses mcp.InputResponses
	if len(need.Requests) == 0 {
		err = c.waitRound(ctx, cl)
	} else {
		responses, err = c.answerRound(ctx, cl, need.Requests)
	}
	if err == nil {
		cl.round, err = encodeRound(responses, need.State)
		cl.key, cl.earlier = "", cl.attempts // the next round is another request: its answer is not this one's
	}
	if err != nil {
		e := mcperrors.From(err, mcperrors.Answered)
		var refused *InputRequired
		if errors.As(err, &refused) { // the caller may go on by hand
			refused.Requests, refused.State = need.Requests, need.State
		}
		return c.about(cl.subject(), e)
	}
	if cl.progress != nil {
		c.progress.get().renew(cl.progress) // MRTR-05
	}
	return nil
}

// answerRound puts a round's questions to the handlers.
func (c *Client) answerRound(ctx context.Context, cl *call, requests mcp.InputRequests) (mcp.InputResponses, error) {
	loop := &cl.loop
	if loop.rounds++; loop.rounds > c.cfg.limits.Rounds {
		return nil, inputRefused(requests, refuse(codeBusy, "the server asked more than %d times", c.cfg.limits.Rounds))
	}
	return c.fulfilAll(ctx, c.asker(cl.link.Agreed, cl.method, cl.tool), requests)
}

// The pauses before a call is made again that the server did not ask anything
// about: it sheds load (MRTR-08).
const (
	firstPause   = 50 * time.Millisecond // and up to 5 times as long
	longestPause = 5 * time.Second
)

// waitRound waits before a call is made again.
func (c *Client) waitRound(ctx context.Context, cl *call) error {
	loop := &cl.loop
	if loop.waits++; loop.waits > c.cfg.limits.Waits {
		return inputRefused(nil, refuse(codeBusy, "the server put the call off more than %d times", c.cfg.limits.Waits))
	}
	pause := firstPause + rand.N(4*firstPause) //nolint:gosec // spreads load, guards nothing
	pause = min(pause<<min(loop.waits-1, 10), longestPause)
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.life.Done():
		return errClosed()
	}
}

// readInputRequired reads an interim result. The state stays the text it is
// (MRTR-04).
func readInputRequired(raw json.RawMessage) (*InputRequired, error) {
	var res mcp.InputRequiredResult
	if err := mcp.Unmarshal(slices.Clone(raw), &res); err != nil {
		return nil, err
	}
	need := &InputRequired{Requests: res.InputRequests}
	if res.RequestState != nil {
		if err := jsonrpc.Members(raw, func(name, value []byte) bool {
			if string(name) == "requestState" {
				need.State = slices.Clone(value)
			}
			return need.State == nil
		}); err != nil {
			return nil, err
		}
	}
	if need.Requests == nil && need.State == nil {
		return nil, errors.New("it asks for input and does not say for which (MRTR-02)")
	}
	return need, nil
}

// encodeRound returns what a round adds to the params of the call: the answers
// to the latest questions only, and the state, if there was one (MRTR-04,
// MRTR-07).
func encodeRound(responses mcp.InputResponses, state json.RawMessage) ([]byte, error) {
	var out []byte
	if responses != nil {
		out = append(out, `"inputResponses":{`...)
		for _, key := range slices.Sorted(maps.Keys(responses)) {
			if firstByte(responses[key]) != '{' {
				return nil, fmt.Errorf("the input response %q must be a JSON object", jsonrpc.Printable(key, 100))
			}
			pair, err := jsonrpc.AppendValue(append(jsonrpc.AppendString(nil, key), ':'), responses[key])
			if err != nil {
				return nil, fmt.Errorf("the input response %q: %w", jsonrpc.Printable(key, 100), err)
			}
			out = member(out, pair)
		}
		out = append(out, '}')
	}
	if state != nil {
		if firstByte(state) != '"' {
			return nil, errors.New("the state must be the JSON string that the server gave")
		}
		if len(out) > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = jsonrpc.AppendValue(append(out, `"requestState":`...), state); err != nil {
			return nil, fmt.Errorf("the state: %w", err)
		}
	}
	return out, nil
}
