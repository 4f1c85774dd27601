package artifact

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

func validateScenarios() []engine.Scenario {
	needs := engine.Needs{Capability: "tools", Profile: profile.Artifact, Tools: []string{ToolValidate}, SideEffects: conformance.SideEffectsReadOnly}
	logs := needs
	logs.Process = true
	return []engine.Scenario{
		{ID: "S0-VAL-01", Needs: needs, Run: runValidateGood},
		{ID: "S0-VAL-02", Needs: logs, Run: runValidateChecklistID},
		{ID: "S0-VAL-03", Needs: needs, Run: runValidateMissingSection},
		{ID: "S0-VAL-07", Needs: needs, Run: runValidatePlaceholders},
		{ID: "S0-VAL-08", Needs: needs, Run: runValidateDeterminism},
		{ID: "S0-VAL-09", Needs: needs, Run: runValidatePrefix},
		{ID: "X-WIRE-10-BOUNDARY", Needs: needs, Run: runValidateBoundary},
		{ID: "S0-VAL-12", Needs: needs, Run: runValidateTraversal},
		{ID: "S0-VAL-15", Starts: 1, Needs: logs, Run: runValidateLog},
	}
}

func validate(t *engine.Trial, s *wire.Session, content, id string) (verdict, wire.Answer, error) {
	return called[verdict](t, s, ToolValidate, validateArguments(content, id))
}

// judged is validate for checks that need a verdict: without one, the check fails and the
// scenario ends.
func judged(t *engine.Trial, s *wire.Session, check, content, id string) (verdict, wire.Answer) {
	v, a, err := validate(t, s, content, id)
	if err != nil {
		t.Fail(check, "a verdict", "%v", err)
		t.Stop(err)
	}
	return v, a
}

func runValidateGood(t *engine.Trial) {
	s := t.Shared()
	v, a := judged(t, s, "S0-VAL-01/passed", prd(), idPRD)
	failed := v.describe()
	if r, some := v.with(func(r verdictResult) bool { return string(r.Passed) == "false" }); some {
		failed += fmt.Sprintf(", %s: %s", r.ID, r.Details)
	}
	t.Check("S0-VAL-01/passed", v.passed(), "passed true", "%s", failed)
	t.Check("S0-VAL-01/rate", v.Rate == "24/24", `"24/24"`, "%q", v.Rate)
	t.Check("S0-VAL-01/agent", v.Agent != nil && *v.Agent == 2, "2", "%s", v.describe())
	ids, kinds := map[string]bool{}, map[string]int{}
	for _, r := range v.Results {
		ids[r.ID] = true
		kinds[r.ValidationType]++
	}
	t.Check("S0-VAL-01/results", len(v.Results) == 26 && len(ids) == 26 && kinds["automated"] == 24 && kinds["agent"] == 2,
		"26 results, 24 of them automated and 2 of an agent", "%d with %d ids: %s", len(v.Results), len(ids), rawjson.Encode(kinds))
	r, found := v.with(func(r verdictResult) bool { return r.ValidationType == "agent" })
	t.Check("S0-VAL-04", found && string(r.Passed) == "null" && r.AgentReview,
		"passed null, requires_agent_review true", "%s", rawjson.Encode(r))
	t.Check("S0-VAL-06", v.passed() && v.Agent != nil && *v.Agent > 0, "passed true with agent criteria pending", "%s", v.describe())

	result, _ := rawjson.Object(a.Result)
	structured, there := result["structuredContent"]
	if !there {
		t.Skip("X-WIRE-11", conformance.SkipNotInRevision, "no structuredContent")
		return
	}
	members, err := a.Payload()
	t.NoError(err)
	t.Check("X-WIRE-11", sameJSON(structured, rawjson.Encode(members)), "the object of the text block", "%s", rawjson.Clip(string(structured), 160))
}

// sameJSON compares JSON texts as values.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return string(rawjson.Encode(x)) == string(rawjson.Encode(y))
}

func runValidateChecklistID(t *engine.Trial) {
	s := t.Shared()
	for _, c := range []struct{ check, id, checklist string }{
		{"S0-VAL-02/epic", "EPIC-006", "epic_validation_v1"},
		{"S0-VAL-02/story", "US-040", "backlog_story_validation_v1"},
	} {
		t.Step(s)
		if _, _, err := validate(t, s, newDraft(c.id).text(), c.id); err != nil {
			t.Fail(c.check, "a verdict", "%v", err)
			continue
		}
		line, found := logLine(t, s, ToolValidate+"_invocation_completed", "artifact_id", c.id)
		t.Check(c.check, found && rawjson.Text(line["checklist_id"]) == c.checklist,
			"checklist_id "+c.checklist+" in the completed line", "%s", describeLine(line, found))
	}
}

// logLine returns the last log line of an event in which a member has a value.
// The line may come a moment after the answer.
func logLine(t *engine.Trial, s *wire.Session, event, member, value string) (map[string]json.RawMessage, bool) {
	var last map[string]json.RawMessage
	wire.WaitUntil(t.Ctx, min(s.Timeout, 2*wire.Lag), func() bool {
		for _, line := range logLines(s.Conn.Stderr()) {
			if rawjson.Text(line["event"]) == event && rawjson.Text(line[member]) == value {
				last = line
			}
		}
		return last != nil
	})
	return last, last != nil
}

func describeLine(line map[string]json.RawMessage, found bool) string {
	if !found {
		return "no such line"
	}
	return rawjson.Clip(string(rawjson.Encode(line)), 300)
}

func runValidateMissingSection(t *engine.Trial) {
	s := t.Shared()
	v, a, err := validate(t, s, prdWithout(PRDSection), idPRD)
	if !t.Check("S0-VAL-03/result", err == nil, "a result that is no error", "%s", a.OrError(err)) {
		t.NoError(err)
		return
	}
	r, found := v.with(func(r verdictResult) bool { return strings.Contains(r.Details, "Missing sections") })
	t.Check("S0-VAL-03/criterion", found && string(r.Passed) == "false" && strings.Contains(r.Details, PRDSection),
		`a failed criterion with "Missing sections: `+PRDSection+`"`, "%s", rawjson.Encode(r))
	t.Check("S0-VAL-03/rate", v.Rate == "23/24", `"23/24"`, "%q", v.Rate)
	t.Check("S0-VAL-03/overall", v.Passed != nil && !*v.Passed, "passed false", "%s", v.describe())
}

func runValidatePlaceholders(t *engine.Trial) {
	s := t.Shared()
	placeholder := func(r verdictResult) bool {
		return string(r.Passed) == "false" && strings.Contains(strings.ToLower(r.Details), "placeholder")
	}
	v, _, err := validate(t, s, prd(), idPRD)
	t.NoError(err)
	r, found := v.with(placeholder)
	t.Check("S0-VAL-07/draft", !found && v.passed(), "no finding for HLS-AAA", "%s", rawjson.Encode(r))
	t.Step(s)
	open := strings.Replace(prd(), "## Executive Summary\n", "## Executive Summary\n\n[Fill in]\n", 1)
	v, _, err = validate(t, s, open, idPRD)
	t.NoError(err)
	_, found = v.with(func(r verdictResult) bool {
		return string(r.Passed) == "false" && strings.Contains(r.Details, "[Fill in]")
	})
	t.Check("S0-VAL-07/leftover", found && !v.passed(), "a failed criterion that names [Fill in]", "%s", v.describe())
}

func runValidateDeterminism(t *engine.Trial) {
	s := t.Shared()
	var first string
	for i := range 50 {
		t.Step(s)
		a, err := t.Call(s, ToolValidate, validateArguments(prdWithout(PRDSection), idPRD))
		t.NoError(err)
		if i == 0 {
			first = string(a.Result)
		}
		if string(a.Result) != first {
			t.Fail("S0-VAL-08", "the bytes of the first answer", "other bytes in answer %d", i+1)
			return
		}
	}
	t.Pass("S0-VAL-08")
}

func runValidatePrefix(t *engine.Trial) {
	s := t.Shared()
	a, err := t.Call(s, ToolValidate, validateArguments(prd(), "NOPE-001"))
	ok := a.HasCode(err, wire.CodeInvalidParams) && strings.HasPrefix(a.Err.Message, "Invalid params:")
	for _, known := range StoredTypes {
		ok = ok && strings.Contains(a.Err.Message, known.Prefix)
	}
	t.Check("S0-VAL-09", ok, `error -32602 "Invalid params: …" with the valid prefixes`, "%s", a.OrError(err))
	t.NoError(err)
}

func runValidateBoundary(t *engine.Trial) {
	s := t.Shared()
	arguments := validateArguments(prd(), idPRD)
	arguments["task_id"] = strings.Repeat("ä", 128)
	_, _, err := called[verdict](t, s, ToolValidate, arguments)
	t.Check("X-WIRE-10/boundary", err == nil, "a verdict", "%v", err)
}

func runValidateTraversal(t *engine.Trial) {
	s := t.Shared()
	const climbing = "../etc/passwd"
	a, err := t.Call(s, ToolValidate, validateArguments(prd(), climbing))
	t.Check("S0-VAL-12/refused", a.HasCode(err, wire.CodeInvalidParams), "error -32602", "%s", a.OrError(err))
	if !t.Rev.IsProcess() {
		t.Skip("S0-VAL-12/log", conformance.SkipControl, "needs a server the suite starts as a program")
		t.NoError(err)
		return
	}
	var line map[string]json.RawMessage
	wire.WaitUntil(t.Ctx, s.Timeout, func() bool {
		for _, l := range logLines(s.Conn.Stderr()) {
			if rawjson.Text(l["artifact_id"]) == climbing && rawjson.Text(l["tool_name"]) == ToolValidate && strings.Contains(string(rawjson.Encode(l)), "traversal") {
				line = l
			}
		}
		return line != nil
	})
	t.Check("S0-VAL-12/log", line != nil, "a log line about it", "no such line")
	t.NoError(err)
}

func runValidateLog(t *engine.Trial) {
	s := t.Fresh()
	marker := "planted-" + strings.Trim(s.NewID(), `"`) + "-do-not-log"
	task := "log-" + TaskID
	arguments := validateArguments(prd()+"\n"+marker+"\n", idPRD)
	arguments["task_id"] = task
	_, err := t.Call(s, ToolValidate, arguments)
	t.NoError(err)
	line, found := logLine(t, s, ToolValidate+"_invocation_completed", "task_id", task)
	missing := missingMembers(line, "artifact_id", "checklist_id", "automated_pass_rate", "agent_review_count", "passed", "duration_ms")
	t.Check("S0-VAL-15", found && missing == "", "the members of a completed line", "%s", lineFault(line, found, missing))

	counts := map[string]int{}
	complete := true
	for _, l := range logLines(s.Conn.Stderr()) {
		if event := rawjson.Text(l["event"]); rawjson.Text(l["task_id"]) == task && strings.HasPrefix(event, ToolValidate+"_invocation_") {
			counts[event]++
			complete = complete && missingMembers(l, "timestamp", "event", "tool_name", "task_id") == ""
		}
	}
	t.Check("X-LOG-01/validate", complete && len(counts) == 2 && counts[ToolValidate+"_invocation_started"] == 1 && counts[ToolValidate+"_invocation_completed"] == 1,
		"one started and one completed line", "%v", counts)
	t.Check("X-LOG-02/validate", !strings.Contains(s.Conn.Stderr(), marker), "no text of the artifact", "the planted words are in the log")
}

// missingMembers names the members a log line lacks.
func missingMembers(line map[string]json.RawMessage, names ...string) string {
	var missing []string
	for _, name := range names {
		if _, there := line[name]; !there {
			missing = append(missing, name)
		}
	}
	return strings.Join(missing, ", ")
}

func lineFault(line map[string]json.RawMessage, found bool, missing string) string {
	if !found {
		return "no such line"
	}
	return "no " + missing + " in " + rawjson.Clip(string(rawjson.Encode(line)), 300)
}
