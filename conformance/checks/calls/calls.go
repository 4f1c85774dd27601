// Package calls has the checks of what a server does when its own tools, prompts and templates are
// used as it describes them: with arguments that their schemas allow, or with the examples of the
// user.
package calls

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Scenarios returns the scenarios of the package.
func Scenarios() []engine.Scenario {
	tools := engine.Needs{Capability: "tools"}
	return []engine.Scenario{
		{ID: "CALL-01", Gentle: true, Needs: tools, Run: runEach},
		{ID: "CALL-02", After: "CALL-01", Needs: tools, Run: runTogether},
		{ID: "CALL-04", After: "CALL-01", Needs: tools, Run: runCancelled},
		{ID: "CALL-05", After: "CALL-01", Needs: tools, Run: runLogs},
		{ID: "CALL-06", After: "CALL-01", Gentle: true, Needs: engine.Needs{Capability: "resources"}, Run: runTemplates},
		{ID: "CALL-07", After: "CALL-01", Gentle: true, Needs: engine.Needs{Capability: "prompts"}, Run: runPrompts},
		{ID: "CALL-08", Gentle: true, Needs: engine.Needs{Capability: "completions"}, Run: runCompletions},
		{ID: "CALL-09", After: "CALL-01", Needs: engine.Needs{Capability: "resources.subscribe"}, Run: runChanges},
		{ID: "CALL-10", After: "CALL-01", Needs: engine.Needs{Capability: "tools.listChanged|prompts.listChanged|resources.listChanged"}, Run: runLists},
		{ID: "CALL-11", After: "CALL-01", Needs: tools, Run: runAsks},
		{ID: "CALL-12", After: "CALL-01", Needs: engine.Needs{Capability: "tools", Transport: conformance.TransportHTTP}, Run: runSessions},
	}
}

// tools returns the tools that a scenario may call and that no other scenario is made for. If
// there are none, it skips all checks of the scenario.
func tools(t *engine.Trial) []wire.Tool {
	own := slices.DeleteFunc(t.Callable(), func(tool wire.Tool) bool {
		return t.Rev.HasProfile(tool.Name) || !fixture.IsOrdinary(tool.Name) || onlyAsTask(t, tool)
	})
	if len(own) == 0 {
		t.SkipRest(conformance.SkipNoFixture, "only tools that other checks call")
	}
	return own
}

// onlyAsTask reports whether a tool has to be called as a task, which other checks do.
func onlyAsTask(t *engine.Trial, tool wire.Tool) bool {
	return t.Rev.Revision == mcp.Version2025_11_25 && tool.TaskSupport() == "required"
}

// call is one call of a tool.
type call struct {
	tool wire.Tool
	args engine.Arguments
	// level is the log level that a stateless request carries.
	level string
	// heavy: larger numbers than the tool had when it was quick may rightly take long.
	heavy bool
}

// String names a call in messages.
func (c call) String() string {
	return fmt.Sprintf("%s with %s: %s", c.tool.Name, c.args.What, rawjson.Clip(string(c.args.JSON), 200))
}

// params returns the params of the call, with a progress token unless it is nil.
func (c call) params(token any) map[string]any {
	params := engine.CallParams(c.tool.Name, c.args.JSON)
	meta := map[string]any{}
	if token != nil {
		meta["progressToken"] = token
	}
	if c.level != "" {
		meta[mcp.MetaLogLevel] = c.level
	}
	if len(meta) > 0 {
		params["_meta"] = meta
	}
	return params
}

// swift returns the tools that are not known to be slow.
func swift(t *engine.Trial, tools []wire.Tool) []wire.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(tool wire.Tool) bool { return t.Rev.IsSlow(tool.Name) })
}

// inRounds returns the calls of all tools: first one of each, then the next one.
func inRounds(t *engine.Trial, tools []wire.Tool) []call {
	sets := make([][]engine.Arguments, len(tools))
	for i, tool := range tools {
		sets[i] = t.Rev.ArgumentsOf(tool)
	}
	var calls []call
	for round, more := 0, true; more; round++ {
		more = false
		for i, tool := range tools {
			if round < len(sets[i]) {
				calls, more = append(calls, call{tool: tool, args: sets[i][round]}), true
			}
		}
	}
	return calls
}

// endless reports whether a tool may rightly work without end on a call: it has a number that may be
// how often something is done, and the schema has no maximum.
func (c call) endless() bool { return strings.Contains(string(c.args.JSON), endlessNumber) }

var endlessNumber = strconv.Itoa(fixture.Largest)

// tooLong is how long a call is waited for that may rightly take long.
const tooLong = 2 * time.Second

// patience is how many times the wait for an answer a call may take while it reports progress.
const patience = 2

// ask makes a call and waits for its answer, longer while progress comes.
func ask(t *engine.Trial, s *wire.Session, c call, token any) (wire.Answer, error) {
	t.Step(s)
	t.Calls++
	t.Rev.NoteCall(c.tool.Name, c.args.Example)
	s.AwaitTurn(t.Ctx)
	began, id := time.Now(), s.NewID()
	data := s.Message(id, mcp.MethodToolsCall, c.params(token))
	stop := talk.Start(t.Ctx, s, patience*s.Timeout, data)
	defer stop()
	rounds, wait := patience, s.Timeout
	if c.endless() || c.heavy {
		rounds, s.Timeout = 1, min(wait, tooLong)
	}
	defer func() { s.Timeout = wait }()
	var a wire.Answer
	var err error
	for range rounds {
		had := len(s.Notifications(mcp.MethodProgress))
		if a, err = s.Await(t.Ctx, id); !errors.Is(err, wire.ErrLate) || len(s.Notifications(mcp.MethodProgress)) == had {
			break
		}
	}
	switch {
	case errors.Is(err, wire.ErrLate) && c.heavy && !c.endless():
		t.Rev.NoteHeavy(c.tool.Name, c.args)
	case err == nil || !c.endless():
		t.Rev.NoteTook(c.tool.Name, c.args, time.Since(began), err == nil && succeeded(a))
	}
	if err == nil && s.Opened != nil {
		t.Rev.Seen.CallResult(a, s.Opened.Revision)
		if succeeded(a) {
			t.Rev.Learn(a)
			t.Rev.Works(c.tool.Name, c.args)
		}
	}
	return a, err
}

// succeeded reports whether an answer is a result without isError.
func succeeded(a wire.Answer) bool {
	result, ok := rawjson.Object(a.Result)
	return ok && a.Err == nil && string(result["isError"]) != "true" && !a.IsInputRequired()
}

// verdict is what a scenario found about one check: the first fault, with its messages.
type verdict struct {
	expected string
	fault    string
	frames   []conformance.Frame
}

// verdicts are those of a scenario, by the id of the check.
type verdicts map[string]*verdict

// see notes one occasion of a check. If it was not ok, the traffic since the last step is the
// evidence.
func (v verdicts) see(t *engine.Trial, id string, ok bool, expected, format string, args ...any) {
	one := v[id]
	if one == nil {
		one = &verdict{}
		v[id] = one
	}
	if !ok && one.fault == "" {
		one.expected, one.fault = expected, fmt.Sprintf(format, args...)
		one.frames = t.Trace.Since(t.EvidenceFrom)
	}
}

// blame fails a check by these messages, unless it has failed already.
func (v verdicts) blame(id, expected, fault string, frames []conformance.Frame) {
	if had := v[id]; had == nil || had.fault == "" {
		v[id] = &verdict{expected: expected, fault: fault, frames: frames}
	}
}

// decide decides the checks that had an occasion, and skips the others.
func (v verdicts) decide(t *engine.Trial, otherwise string) {
	for _, c := range t.Scenario.Checks {
		v.decideOne(t, c.ID, otherwise)
	}
}

func (v verdicts) decideOne(t *engine.Trial, id, otherwise string) {
	switch one := v[id]; {
	case t.Decided(id):
	case one == nil:
		t.Skip(id, conformance.SkipNoFixture, otherwise)
	case one.fault != "":
		t.FailBy(id, one.frames, one.expected, one.fault)
	default:
		t.Pass(id)
	}
}

// budget is the part of the scenario's time after which no other call begins.
func budget(t *engine.Trial) func() bool {
	until := time.Now().Add(t.Rev.Opts.Timeout / 3)
	return func() bool { return time.Now().After(until) }
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b json.RawMessage) bool {
	var one, two any
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &two) != nil {
		return false
	}
	return string(rawjson.Encode(one)) == string(rawjson.Encode(two))
}

// first returns the first n elements.
func first[E any](list []E, n int) []E { return list[:min(n, len(list))] }
