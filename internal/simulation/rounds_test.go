package simulation

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// asked is the target of a request of an application.
type asked struct {
	key     int    // of the call; 0 for a request of the protocol
	round   int    // number of answered questions
	state   string // id of the last of them
	answers json.RawMessage
}

func paramsOf(req transport.Request) asked {
	var params struct {
		URI       string `json:"uri"`
		Arguments struct {
			Key int `json:"key"`
		} `json:"arguments"`
		State   string          `json:"requestState"`
		Answers json.RawMessage `json:"inputResponses"`
	}
	if json.Unmarshal(req.Params, &params) != nil {
		return asked{}
	}
	a := asked{key: params.Arguments.Key, state: params.State, answers: params.Answers}
	if number, ok := strings.CutPrefix(params.URI, "sim://"); ok {
		a.key, _ = strconv.Atoi(number) // 0 is not from this server
	}
	if a.state != "" {
		_, _ = fmt.Sscanf(a.state, "%d rounds of", &a.round)
	}
	return a
}

// question returns the server's next question before it runs a call, "" for none: depending on
// its number, a call has none, one or two.
func (c *conn) question(a asked) string {
	if !c.shape.rounds || a.round >= a.key%3 {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.questions++
	return fmt.Sprintf(`{"resultType":"input_required","requestState":"%d rounds of %d, question %d","inputRequests":{"ask":{"method":"elicitation/create",`+
		`"params":{"mode":"form","message":"%d","requestedSchema":{"type":"object","properties":{"said":{"type":"string"}}}}}}}`,
		a.round+1, a.key, c.questions, a.key)
}

// take accepts the answer to a question: it is for this call, and valid once.
func (c *conn) take(a asked) {
	if a.state == "" {
		return
	}
	c.history.count(&c.history.report.Rounds)
	if !strings.Contains(a.state, fmt.Sprintf(" of %d,", a.key)) || !strings.Contains(string(a.answers), fmt.Sprintf(`"said":"%d"`, a.key)) {
		c.history.count(&c.history.report.Swapped)
	}
	c.mu.Lock()
	again := c.given[a.state]
	c.given[a.state] = true
	c.mu.Unlock()
	if again {
		c.history.count(&c.history.report.Reused)
	}
}
