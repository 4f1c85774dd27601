package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Round is what a server of the stateless era wants before it answers a call: input, or only the
// same call again.
type Round struct {
	// Requests are the questions, by keys of the server; nil for none.
	Requests mcp.InputRequests
	// State is the server's state, a JSON string to return unchanged; nil for none.
	State json.RawMessage
}

// CanAsk reports whether results of a method may ask for input.
func CanAsk(method string, v mcp.Version) bool {
	info, ok := mcp.LookupMethod(method, v)
	return ok && info.InputRequired
}

// ReadRound decodes a result of type "input_required". The state is not decoded.
func ReadRound(result json.RawMessage) (Round, error) {
	var res mcp.InputRequiredResult
	if err := mcp.Unmarshal(slices.Clone(result), &res); err != nil {
		return Round{}, err
	}
	r := Round{Requests: res.InputRequests}
	if res.RequestState != nil {
		if err := jsonrpc.Members(result, func(name, value []byte) bool {
			if string(name) == "requestState" {
				r.State = slices.Clone(value)
			}
			return r.State == nil
		}); err != nil {
			return Round{}, err
		}
	}
	if r.Requests == nil && r.State == nil {
		return Round{}, errors.New("it has neither inputRequests nor requestState")
	}
	return r, nil
}

// Encode returns the members that the next attempt adds to the params of the call: the answers to
// the latest questions, and the state, if any.
func Encode(responses mcp.InputResponses, state json.RawMessage) ([]byte, error) {
	var out []byte
	if responses != nil {
		answers := []byte{'{'}
		for _, key := range slices.Sorted(maps.Keys(responses)) {
			if doc.First(responses[key]) != '{' {
				return nil, fmt.Errorf("the input response %q must be a JSON object", jsonrpc.Printable(key, 100))
			}
			pair, err := jsonrpc.AppendValue(doc.Pair(key, nil), responses[key])
			if err != nil {
				return nil, fmt.Errorf("the input response %q: %w", jsonrpc.Printable(key, 100), err)
			}
			answers = doc.AppendMembers(answers, pair)
		}
		out = doc.Pair("inputResponses", append(answers, '}'))
	}
	if state != nil {
		if doc.First(state) != '"' {
			return nil, errors.New("the state must be the JSON string that the server gave")
		}
		pair, err := jsonrpc.AppendValue(doc.Pair("requestState", nil), state)
		if err != nil {
			return nil, fmt.Errorf("the state: %w", err)
		}
		if len(out) > 0 {
			out = append(out, ',')
		}
		out = append(out, pair...)
	}
	return out, nil
}

// Tally counts the rounds of one call.
type Tally struct {
	rounds, waits int
}

// Rounds returns the number of completed rounds.
func (t Tally) Rounds() int { return t.rounds + t.waits }

// Pauses before a call is sent again if the server postponed it without a question, to shed load.
const (
	firstPause   = 50 * time.Millisecond // multiplied by up to 5 at random
	longestPause = 5 * time.Second
)

// AnswerRound answers a round with the application's handlers, or pauses if there is no question.
// It returns the members that the next attempt adds to the params of the call. The errors are
// those of [Dispatcher.AnswerAll].
func (d *Dispatcher) AnswerRound(ctx context.Context, o Occasion, t *Tally, r Round) ([]byte, error) {
	if len(r.Requests) == 0 {
		if err := d.pause(ctx, t); err != nil {
			return nil, err
		}
		return Encode(nil, r.State)
	}
	if t.rounds++; t.rounds > d.Offer.Limits.Rounds {
		return nil, &Unanswered{r.Requests, refuse(codeBusy, "the server asked for input more than %d times", d.Offer.Limits.Rounds)}
	}
	responses, err := d.AnswerAll(ctx, o, r.Requests)
	if err != nil {
		return nil, err
	}
	return Encode(responses, r.State)
}

// pause waits before a call is sent again.
func (d *Dispatcher) pause(ctx context.Context, t *Tally) error {
	most := 2 * d.Offer.Limits.Rounds
	if t.waits++; t.waits > most {
		return &Unanswered{nil, refuse(codeBusy, "the server postponed the call more than %d times", most)}
	}
	pause := firstPause + rand.N(4*firstPause) //nolint:gosec // spreads load; no security
	pause = min(pause<<min(t.waits-1, 10), longestPause)
	switch err := d.Life.Sleep(ctx, pause); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return ErrClosed
}
