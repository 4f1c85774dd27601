package run

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// CutRound removes the members of one round from params that the caller wrote, and keeps them in
// c.Round: the next round has its own.
func (c *Call) CutRound() {
	ofRound := func(name []byte) bool { return string(name) == "inputResponses" || string(name) == "requestState" }
	found := false
	// The params were checked; only the closing brace is missing.
	_ = jsonrpc.Walk(c.Params, func(name, _ []byte) bool {
		found = ofRound(name)
		return !found
	})
	if !found {
		return
	}
	open, round := []byte{'{'}, []byte{'{'}
	_ = jsonrpc.Walk(c.Params, func(name, value []byte) bool {
		pair := doc.Pair(string(name), value)
		if ofRound(name) {
			round = doc.AppendMembers(round, pair)
		} else {
			open = doc.AppendMembers(open, pair)
		}
		return true
	})
	c.Params, c.Round = open, round[1:]
}

var errRoundTwice = errors.New("answers and state are given both by InputRequired.Answer and in the params; use one")

// Resume starts a call with its caller's answers to an earlier round, under revision v. state is
// the server's state, nil for none.
func (c *Call) Resume(v mcp.Version, responses mcp.InputResponses, state json.RawMessage) *mcperrors.Error {
	if !ask.CanAsk(c.Method, v) {
		return outcome.InvalidArguments(fmt.Errorf("InputRequired.Answer is for calls that ended with InputRequired; %s never does in revision %s", c.Method, v))
	}
	round, err := ask.Encode(responses, state)
	if c.Round != nil {
		err = errRoundTwice
	}
	if err != nil {
		return outcome.InvalidArguments(err)
	}
	c.Round = round
	return nil
}

// NextRound sets the members of the next round. The next round is another request, so it gets
// another idempotency key.
func (c *Call) NextRound(members []byte) {
	c.Round = members
	c.Key, c.Earlier = "", c.Attempts
}
