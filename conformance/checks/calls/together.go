package calls

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// mostTogether is how many different calls are made at once, each of them twice.
const mostTogether = 6

// known is a call whose answer is the same each time.
type known struct {
	call
	answer string
}

// runTogether makes calls one after another and then all at once. Answers of different calls that
// were always the same show which call an answer belongs to.
func runTogether(t *engine.Trial) {
	all := tools(t)
	if len(all) == 0 {
		return
	}
	learn(t, all)
	s := t.Shared()
	over := budget(t)
	var alone []known
	for _, c := range append(ofEachTool(t, swift(t, all)), inRounds(t, swift(t, all))...) {
		if len(alone) >= mostTogether || over() {
			break
		}
		one, err := ask(t, s, c, nil)
		if wire.IsLost(err) {
			s = t.Fresh() // another check judges it
			continue
		}
		two, err := ask(t, s, c, nil)
		t.NoError(err)
		if succeeded(one) && string(one.Result) == string(two.Result) {
			alone = append(alone, known{c, string(one.Result)})
		}
	}
	v := verdicts{}
	v.pings(t, s.Timeout, all)
	v.decideOne(t, "CALL-02/ping", "no call takes long enough for a ping beside it")
	s = v.reports(t, s, all)
	v.decideOne(t, "CALL-02/progress", "no call reports progress")
	if len(alone) > 1 {
		v.together(t, s, alone)
	}
	v.decide(t, "no two calls that have the same answer each time")
}

// ofEachTool returns some calls of each tool with values that the server has returned: of two records a
// server may give one for the other.
func ofEachTool(t *engine.Trial, all []wire.Tool) []call {
	const ofTool = 3
	var calls []call
	for _, tool := range all {
		for _, with := range first(t.Rev.Guesses(tool), ofTool) {
			if !destroys(tool) {
				calls = append(calls, call{tool: tool, args: with})
			}
		}
	}
	return calls
}

// lasting is how long a call has to take for a ping beside it.
const lasting = 700 * time.Millisecond

// pings sends a ping while a call of each tool runs that takes some time, twice if it has to wait.
func (v verdicts) pings(t *engine.Trial, wait time.Duration, all []wire.Tool) {
	for _, tool := range all {
		with, took := t.Rev.Longest(tool.Name)
		if took < lasting || took >= wait { // too quick, or without an answer
			var known bool
			if with, known = t.Rev.Heavy(tool.Name); !known {
				continue
			}
		}
		if t.Rev.Stateless() { // without ping
			return
		}
		c := call{tool: tool, args: with}
		waited := false
		for range 2 {
			if waited = pingWaits(t, t.Fresh(), c); !waited {
				break
			}
		}
		v.see(t, "CALL-02/ping", !waited, "an answer to the ping before that to the call", "%s: the ping was answered after the call, or not in %s, twice", c, wait)
		return // one is enough
	}
}

// pingWaits reports whether a ping is answered after a call that was sent before it. It uses the
// session up: the call may still run.
func pingWaits(t *engine.Trial, s *wire.Session, c call) bool {
	t.Step(s)
	t.Calls++
	began, id := time.Now(), s.NewID()
	end := talk.Start(t.Ctx, s, patience*s.Timeout, s.Message(id, mcp.MethodToolsCall, c.params(nil)))
	defer end()
	t.NoError(wire.Pause(t.Ctx, lasting/4)) // until the server has begun with it
	_, err := s.Ping(t.Ctx)
	if errors.Is(err, wire.ErrLate) {
		return true
	}
	t.NoError(err)
	answered := slices.ContainsFunc(s.Unclaimed, func(in wire.Inbound) bool { return in.ID() == id })
	return answered && time.Since(began) > lasting
}

// reports makes a call that reports progress twice at once, each with its own token, and again if
// the progress of one of them goes to the other one. It returns the session to go on with.
func (v verdicts) reports(t *engine.Trial, s *wire.Session, all []wire.Tool) *wire.Session {
	for _, tool := range all {
		with, known := t.Rev.Reports(tool.Name)
		if !known {
			continue
		}
		c := call{tool: tool, args: with}
		var mixed string
		for range 2 {
			var err error
			if mixed, err = reportsAtOnce(t, s, c); err != nil {
				return t.Fresh() // another check judges it
			}
			if mixed == "" {
				break
			}
		}
		v.see(t, "CALL-02/progress", mixed == "", "progress that increases under both tokens", "%s, twice at once: %s", c, mixed)
		break // one is enough
	}
	return s
}

// reportsAtOnce makes a call twice at once. It returns what they reported if what one of them got does
// not increase, as it does alone: it is that of both. It returns "" for no such fault.
func reportsAtOnce(t *engine.Trial, s *wire.Session, c call) (mixed string, err error) {
	t.Step(s)
	t.Calls += 2
	had := len(s.Unsolicited)
	var ids, tokens []string
	var messages [][]byte
	for range 2 {
		id := s.NewID()
		token := "at-once-" + strings.Trim(id, `"`)
		ids, tokens = append(ids, id), append(tokens, token)
		messages = append(messages, s.Message(id, mcp.MethodToolsCall, c.params(token)))
	}
	end := talk.Start(t.Ctx, s, patience*s.Timeout, messages...)
	defer end()
	for _, id := range ids {
		a, err := s.Await(t.Ctx, id)
		if err != nil || !succeeded(a) {
			return "", err // it may refuse to run twice
		}
	}
	came := map[string][]float64{}
	for _, in := range s.Unsolicited[min(had, len(s.Unsolicited)):] {
		if in.Method() == mcp.MethodProgress {
			token := rawjson.Text(wire.Param(in, "progressToken"))
			value, _ := strconv.ParseFloat(string(wire.Param(in, "progress")), 64) // another check judges it
			came[token] = append(came[token], value)
		}
	}
	one, two := came[tokens[0]], came[tokens[1]]
	increases := func(values []float64) bool {
		return slices.IsSorted(values) && len(slices.Compact(slices.Clone(values))) == len(values)
	}
	if !increases(one) || !increases(two) { // none at all is for the server to choose
		return fmt.Sprintf("progress %v for the token %s, %v for %s", one, tokens[0], two, tokens[1]), nil
	}
	return "", nil
}

// together makes the calls at once, each of them twice.
func (v verdicts) together(t *engine.Trial, s *wire.Session, alone []known) {
	t.Step(s)
	var ids []string
	var messages [][]byte
	for i := range 2 * len(alone) {
		c := alone[i%len(alone)]
		ids = append(ids, s.NewID())
		messages = append(messages, s.Message(ids[i], mcp.MethodToolsCall, c.params(nil)))
	}
	stop := talk.Start(t.Ctx, s, patience*s.Timeout, messages...)
	defer stop()
	answers := make([]string, len(ids))
	for i, id := range ids {
		a, err := s.Await(t.Ctx, id)
		v.see(t, "CALL-02/answered", err == nil, "an answer to each", "%s, sent with %d others: %s", alone[i%len(alone)], len(ids)-1, a.OrError(err))
		if err != nil {
			t.NoError(err)
		}
		answers[i] = string(a.Result)
	}
	frames := t.Trace.Since(t.EvidenceFrom)
	for i, answer := range answers {
		c := alone[i%len(alone)]
		if answer == c.answer {
			v.see(t, "CALL-02/own", true, "", "")
			continue
		}
		// An answer of its own that differs: the tool may count, or tell the time.
		other := slices.IndexFunc(alone, func(k known) bool { return k.answer == answer })
		if other < 0 {
			continue
		}
		// Calls after the first two may have changed what it returns: then it still has this answer.
		if now, err := ask(t, s, c.call, nil); err != nil || string(now.Result) != answer {
			v.blame("CALL-02/own", "the answer that it has alone", fmt.Sprintf("%s has the answer of %s when both are sent at once", c, alone[other]), frames)
			return
		}
	}
}
