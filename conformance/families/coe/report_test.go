package coe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/agent"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
)

const observationExample = `{"taskId":"TASK-001","observation":"Found that HSL color format is better for theme switching than HEX","type":"discovery","severity":"medium",
	"details":{"what":"HSL colors allow easier manipulation of lightness for dark mode","why":"Current implementation uses HEX, making theme switching complex","impact":"More maintainable theming system if we switch to HSL","suggestedAction":"Refactor color system to use HSL format"},
	"createNewTask":true,"newTaskDetails":{"title":"Refactor color format from HEX to HSL","priority":"medium","estimatedHours":3},
	"references":["https://developer.mozilla.org/en-US/docs/Web/CSS/color_value"],"attachedFiles":["src/styles/colors.css"],"relatedToTask":"TASK-002"}`

func TestObserve_S1_OBS_01_TaskCreated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.call("reportObservation", observationExample).ok()
	require.Equal(t, "OBS-001", got["observationId"])
	require.Equal(t, "task-created", got["status"])
	require.Equal(t, map[string]any{
		"taskId": "TASK-089", "title": "Refactor color format from HEX to HSL", "priority": "medium", "addedToQueue": true,
		"position": "after current task dependencies",
	}, got["newTaskCreated"])
	require.Equal(t, true, dig(t, got, "dashboardAlert", "visible"))
	requireTimestamp(t, dig(t, got, "dashboardAlert", "timestamp"))
	require.Equal(t, 35.0, r.next(`{}`)["queueLength"], "36 tasks wait, one is returned")
	rec := r.records(ledger.Observation)[0]
	require.Equal(t, 3, rec.Rank)
	require.Equal(t, `"discovery"`, string(mustMember(t, rec.Body, "type")))
}

func TestObserve_S1_OBS_02_Logged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.call("reportObservation", `{"taskId":"TASK-001","observation":"x","type":"issue","severity":"low",
		"newTaskDetails":{"title":"not asked for","priority":"low","estimatedHours":0}}`).ok()
	require.Equal(t, "logged", got["status"])
	require.NotContains(t, got, "newTaskCreated")
	require.Equal(t, false, dig(t, got, "dashboardAlert", "visible"))
	require.Equal(t, 34.0, r.next(`{}`)["queueLength"])
}

func TestObserve_S1_OBS_03_Refused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	with := func(member string) string {
		return `{"taskId":"TASK-001","observation":"x","type":"issue","severity":"low",` + member + `}`
	}
	for args, field := range map[string]string{
		`{"taskId":"TASK-001","observation":"x","type":"rumour","severity":"low"}`: "type",
		`{"taskId":"TASK-001","observation":"x","type":"issue","severity":"LOW"}`:  "severity",
		`{"taskId":"TASK-001","observation":"","type":"issue","severity":"low"}`:   "observation",
		`{"taskId":"TASK-001","observation":"x","type":"issue"}`:                   "severity",
		`{"observation":"x","type":"issue","severity":"low"}`:                      "taskId",
		`{}`:                                  "taskId",
		with(`"createNewTask":true`):          "newTaskDetails",
		with(`"createNewTask":"yes"`):         "createNewTask",
		with(`"newTaskDetails":{}`):           "newTaskDetails.title",
		with(`"details":{"what":"x"}`):        "details.why",
		with(`"attachedFiles":["a/../../b"]`): "attachedFiles[0]",
		with(`"references":[1]`):              "references[0]",
		with(`"category":"other"`):            "category",
		with(`"createNewTask":true,"newTaskDetails":{"title":"x","priority":"urgent","estimatedHours":1}`): "newTaskDetails.priority",
		with(`"createNewTask":true,"newTaskDetails":{"title":"x","priority":"low","estimatedHours":-1}`):   "newTaskDetails.estimatedHours",
	} {
		require.Equal(t, field, r.call("reportObservation", args).number(400, "")["field"], args)
	}
	unknown := `{"taskId":"TASK-999","observation":"x","type":"issue","severity":"low","createNewTask":true,"newTaskDetails":{"title":"x","priority":"low","estimatedHours":1}}`
	require.NotEmpty(t, r.call("reportObservation", unknown).number(404, "Task not found")["suggestion"])
	require.Empty(t, r.records(ledger.Observation))
	require.Equal(t, 34.0, r.next(`{}`)["queueLength"])
}

func TestObserve_S1_OBS_05_Length(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("reportObservation", `{"category":"other","observation":`+quoted(1000)+`}`).ok()
	e := r.call("reportObservation", `{"category":"other","observation":`+quoted(1001)+`}`).enveloped("INVALID_PARAM")
	require.Equal(t, map[string]any{"field": "observation", "reason": "length"}, e["details"])
}

func TestObserve_S1_OBS_04_V11(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.Equal(t, `{"logged":true,"observation_id":"OBS-001"}`,
		r.call("reportObservation", `{"observation":"x","category":"style_note","priority":1,"task_id":"TASK-001","file_path":"src/a.go"}`).text)
	for args, field := range map[string]string{
		`{"category":"other","observation":""}`:             "observation",
		`{"category":"other"}`:                              "observation",
		`{"observation":"x","category":"gossip"}`:           "category",
		`{"observation":"x","priority":4}`:                  "priority",
		`{"observation":"x","priority":null}`:               "priority",
		`{"observation":"x","file_path":"../x"}`:            "file_path",
		`{"observation":"x","task_id":"../x"}`:              "task_id",
		`{"observation":"x","priority":1,"severity":"low"}`: "severity",
	} {
		r.call("reportObservation", args).field(field)
	}
}

func TestObserve_S1_OBS_06_SurvivesShutdown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	withDir := func(o *Options) { o.DataDir = dir }
	opts := Options{}
	withDir(&opts)
	fam, err := New(opts)
	require.NoError(t, err)
	const n = 50
	r := &rig{t: t, fam: fam, logs: &logs{}, agent: "a"}
	r.fam.Admit = newRig(t).fam.Admit // without limits
	for i := range n {
		r.call("reportObservation", fmt.Sprintf(`{"observation":"number %d","file_path":null}`, i)).ok()
	}
	require.NoError(t, fam.Close(t.Context()))

	again := newRig(t, withDir)
	recs := again.records(ledger.Observation)
	require.Len(t, recs, n)
	require.Equal(t, "OBS-001", recs[0].ID)
	require.Equal(t, 3, recs[0].Rank, "S1-OBS-04: priority 3 by default")
	got := again.call("reportObservation", `{"observation":"later","priority":2}`).ok()
	require.Equal(t, fmt.Sprintf("OBS-%03d", n+1), got["observation_id"], "ids go on where they ended")
}

func TestObserve_S1_OBS_07_Dispatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for args, later := range map[string]bool{
		`{"observation":"x","category":"other"}`:                     true,
		`{"observation":"x","priority":2}`:                           true,
		`{"observation":"x","task_id":"TASK-001"}`:                   true,
		`{"observation":"x","file_path":null}`:                       true,
		`{"observation":"x"}`:                                        true, // valid by the schema of v1.1
		`{"observation":"x","taskId":"TASK-001"}`:                    false,
		`{"observation":"x","taskId":"TASK-001","category":"other"}`: false,
		`{"observation":"x","type":"issue"}`:                         false,
		`{}`:                                                         false,
	} {
		p := r.call("reportObservation", args)
		if later {
			p.ok()
		} else {
			p.number(400, "")
		}
	}
	r.meta = `{"version":"1.1"}`
	r.call("reportObservation", observationExample).field("attachedFiles")
	r.meta = `{"version":"1.0"}`
	r.call("reportObservation", `{"observation":"x","category":"other"}`).number(400, "")
	r.meta = `{"version":"3"}`
	r.call("reportObservation", `{"observation":"x"}`).field("_meta.version")
}

func TestIssue_S1_ISSUE(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for args, escalated := range map[string]bool{
		`{"issue_description":"x","severity":1}`: true,
		`{"issue_description":"x","severity":2}`: false,
		`{"issue_description":"x","severity":3}`: false,
		`{"issue_description":"x","severity":3,"immediate":true,"task_id":"TASK-001","file_path":null,"repro_steps":"run it"}`: true,
		`{"severity":2,"issue_description":` + quoted(800) + `}`:                                                               false,
	} {
		require.Equal(t, map[string]any{"logged": true, "escalated": escalated}, r.call("reportIssue", args).ok(), "S1-ISSUE-01")
	}
	require.Len(t, r.records(ledger.Issue), 5)
	for args, field := range map[string]string{ // S1-ISSUE-02
		`{"issue_description":"x","severity":0}`:                        "severity",
		`{"issue_description":"x","severity":4}`:                        "severity",
		`{"issue_description":"x","severity":"1"}`:                      "severity",
		`{"issue_description":"x"}`:                                     "severity",
		`{"severity":1}`:                                                "issue_description",
		`{"severity":1,"issue_description":` + quoted(801) + `}`:        "issue_description",
		`{"issue_description":"x","severity":1,"immediate":"now"}`:      "immediate",
		`{"issue_description":"x","severity":1,"file_path":"C:\\boot"}`: "file_path",
	} {
		r.call("reportIssue", args).field(field)
	}
}

func TestCompleted_S1_COMPL(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.Equal(t, `{"acknowledged":true,"next_task_suggested":"TASK-002"}`, r.call("reportTaskCompleted",
		`{"task_id":"TASK-001","status":"success","output_summary":`+quoted(500)+`,"files_modified":["a.go"],"coverage_percent":null,"test_results":{"passed":9,"failed":0},"priority_completed":1}`).text)
	require.Equal(t, 1, r.srv.plan.View().Counts().VerificationPending, "C-12: verified like any other end")
	r.call("reportTaskCompleted", `{"task_id":"TASK-002","status":"partial","coverage_percent":81.5}`).ok()
	r.call("reportTaskCompleted", `{"task_id":"TASK-002","status":"failed"}`).ok()
	for args, field := range map[string]string{ // S1-COMPL-02
		`{"task_id":"TASK-003","status":"success","output_summary":` + quoted(501) + `}`: "output_summary",
		`{"task_id":"TASK-003","status":"done"}`:                                         "status",
		`{"task_id":"TASK-003"}`:                                                         "status",
		`{"status":"success"}`:                                                           "task_id",
		`{"task_id":"TASK-003","status":"success","files_modified":["/a"]}`:              "files_modified[0]",
		`{"task_id":"TASK-003","status":"success","coverage_percent":"90"}`:              "coverage_percent",
		`{"task_id":"TASK-003","status":"success","test_results":{"passed":-1}}`:         "test_results.passed",
		`{"task_id":"TASK-003","status":"success","priority_completed":4}`:               "priority_completed",
	} {
		r.call("reportTaskCompleted", args).field(field)
	}
	r.call("reportTaskCompleted", `{"task_id":"TASK-999","status":"success"}`).enveloped("RESOURCE_NOT_FOUND")
	one := newRig(t, seed(r.srv.opts.Seed.Tasks[0]))
	require.Nil(t, one.call("reportTaskCompleted", `{"task_id":"TASK-001","status":"success"}`).ok()["next_task_suggested"], "S1-COMPL-01")
}

func TestCompleted_S1_COMPL_03_CoverageNull(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("reportTaskCompleted", `{"task_id":"TASK-001","status":"partial","coverage_percent":null}`).ok()
	r.call("reportTaskCompleted", `{"task_id":"TASK-001","status":"partial","coverage_percent":81.5}`).ok()
	r.call("reportTaskCompleted", `{"task_id":"TASK-001","status":"success","coverage_percent":"null"}`).field("coverage_percent")
}

func TestAgent_S1_AGENT_01(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := func(args string) string {
		p := r.call("callCOEAgent", args)
		require.Nil(t, p.failure)
		require.False(t, p.isError)
		var s string
		require.NoError(t, json.Unmarshal([]byte(p.text), &s), "X-WIRE-11: the text block is the payload as JSON")
		return s
	}
	require.Contains(t, text(`{"command":"plan","args":{"task":"Add dark mode theme"}}`), "designSystem.darkMode")
	require.Contains(t, text(`{"command":"plan","args":{"task":"Deploy to the moon"}}`), "askQuestion")
	require.Contains(t, text(`{"command":"plan","args":{"task":"Choose an animation library"}}`), "leaves open")
	planned := text(`{"command":"plan","args":{"task":"TASK-002"}}`)
	require.Contains(t, planned, "Plan for TASK-002: ")
	for _, criterion := range r.srv.plan.View().Task("TASK-002").Prompt.AcceptanceCriteria {
		require.Contains(t, planned, "Write a failing test for: "+criterion)
	}
	for _, args := range []string{`"code":"I like bananas"`, `"code":"I like bananas","task":"TASK-001"`, `"code":"func f() { return g([1]) }","task":"Implement color palette system"`} {
		require.Regexp(t, "^FAIL - ", text(`{"command":"verify","args":{`+args+`}}`), args)
	}
	verdict := text(`{"command":"verify","args":{"code":"I like bananas","task":"TASK-001"}}`)
	for _, criterion := range r.srv.plan.View().Task("TASK-001").Prompt.AcceptanceCriteria {
		require.Contains(t, verdict, "\n- not found: "+criterion)
	}
	require.Regexp(t, "^PASS - ", text(`{"command":"verify","args":{"code":"// a withdrawn link\nfunc withdrawLink(l Link) {}","task":"links can be withdrawn"}}`))
	for _, code := range []string{"f(]", "{", ")", "x // TODO later"} {
		require.Regexp(t, "^FAIL - ", text(fmt.Sprintf(`{"command":"verify","args":{"code":%q}}`, code)))
	}
	require.Contains(t, text(`{"command":"ask","args":{"question":"Should sidebar collapse on mobile?","more":1}}`), "hamburger")
}

// provider answers with what it got, or an error.
type provider struct{ err error }

func (p provider) Answer(_ context.Context, r agent.Request) (string, error) {
	raw, err := json.Marshal(r)
	return "FAIL - asked " + string(raw), errors.Join(err, p.err)
}

// TestAgent_Provider: a provider answers instead of the rules, and they answer when it
// fails.
func TestAgent_Provider(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Agent = provider{} })
	for args, want := range map[string]string{
		`{"command":"verify","args":{"code":"x","task":"TASK-001"}}`:                 `"id":"TASK-001","title":"Implement color palette system"`,
		`{"command":"plan","args":{"task":"Add dark mode theme"}}`:                   `"advice":["Follow `,
		`{"command":"ask","args":{"question":"Should sidebar collapse on mobile?"}}`: `"text":"Should sidebar collapse on mobile?"`,
	} {
		var got string
		require.NoError(t, json.Unmarshal([]byte(r.call("callCOEAgent", args).text), &got))
		require.Contains(t, got, want)
		require.Contains(t, got, "FAIL - asked {")
	}
	r = newRig(t, func(o *Options) { o.Agent = provider{io.ErrUnexpectedEOF} })
	text := r.call("callCOEAgent", `{"command":"verify","args":{"code":"x"}}`).text
	require.Contains(t, text, "FAIL - there is no criterion to look at")
	require.Contains(t, text, "the built-in rules answered")
	require.Contains(t, r.logs.String(), "coe_agent_fallback")
}

func TestAgent_S1_AGENT_02(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for args, field := range map[string]string{
		`{"command":"dance","args":{}}`:            "command",
		`{"command":"plan"}`:                       "args",
		`{"args":{}}`:                              "command",
		`{"command":"plan","args":{}}`:             "args.task",
		`{"command":"verify","args":{"task":"x"}}`: "args.code",
		`{"command":"ask","args":{"task":"x"}}`:    "args.question",
		`{"command":"ask","args":{"question":1}}`:  "args.question",
		`{"command":"ask","args":{"question":""}}`: "args.question",
		`{"command":"ask","args":"x"}`:             "args",
	} {
		data := r.call("callCOEAgent", args).number(-32602, agentUsage)
		require.Equal(t, field, data["field"], args)
	}
	r.call("_test/inject", `{"tool":"callCOEAgent","kind":"internal"}`).ok()
	r.call("callCOEAgent", `{"command":"plan","args":{"task":"x"}}`).number(-32603, "Internal error")
}

func TestAdmin_S1_ADMIN_01(t *testing.T) {
	t.Parallel()
	names := func(r *rig) []string {
		var names []string
		for _, tool := range r.fam.Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	require.Len(t, names(newRig(t)), 12)
	require.NotContains(t, names(newRig(t)), "clearQueue")

	r := newRig(t, func(o *Options) { o.Admin = true })
	require.Len(t, names(r), 14)
	require.Equal(t, `{"success":true,"tasks":0}`, r.call("clearQueue", `{}`).text)
	require.Nil(t, r.nextID())
	require.Equal(t, `{"success":true,"tasks":35}`, r.call("resetPlan", ``).text)
	require.Equal(t, "TASK-001", r.nextID())
	r.call("clearQueue", `{"really":true}`).number(400, "")
}

func TestDirectShapes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := newCall(familyCall("callCOEAgent", `{"command":"verify","args":{"code":"x"}}`))
	c.Origin.Direct = true
	res, err := r.srv.callAgent(context.WithoutCancel(t.Context()), c)
	require.NoError(t, err)
	text, ok := payloadOf(t, res).(string)
	require.True(t, ok, "a direct result is the string itself")
	require.Contains(t, text, "FAIL - there is no criterion to look at")
}
