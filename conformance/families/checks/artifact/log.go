package artifact

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// artifactLogScenarios judge what the tools of the workflow write to the log.
func artifactLogScenarios() []engine.Scenario {
	needs := logging(workflowNeeds())
	rest := needs
	rest.Fixture = surroundings.REST
	token := logging(engine.Needs{Capability: "tools", Profile: "assistant", Tools: []string{"save_artifact"}, SideEffects: conformance.SideEffectsAll})
	return []engine.Scenario{
		{ID: "S0-APPROVE-28", Starts: 1, Needs: needs, Run: runApproveLog},
		{ID: "S0-ADD-23", Starts: 1, Needs: needs, Run: runAddLog},
		{ID: "S0-RES-05", Starts: 1, Needs: needs, Run: runReserveLog},
		{ID: "X-LOG-01-FAILED", Starts: 1, Needs: needs, Run: runFailedLog},
		{ID: "X-LOG-02-TOKEN", Starts: 1, Needs: token, Run: runTokenLog},
		{ID: "S0-E2E-01", Starts: 1, Needs: rest, Run: runWorkflow},
	}
}

func runApproveLog(t *engine.Trial) {
	s := t.Fresh()
	const marker = "planted-approval-do-not-log"
	d := storedPRD(t, s, threeStories+"\n"+marker+"\n")
	workflow := newWorkflow(t)
	got := done[approval](t, s, ToolApprove, map[string]any{"artifact_id": d.id, "task_id": workflow})
	line, found := logLine(t, s, ToolApprove+"_invocation_completed", "task_id", workflow)
	missing := missingMembers(line, "timestamp", "artifact_id", "old_status", "new_status", "placeholder_ids_replaced", "id_mapping",
		"reservation_id", "sub_artifacts_detected", "tasks_created", "task_ids", "success", "duration_ms")
	var mapping map[string]string
	_ = json.Unmarshal(line["id_mapping"], &mapping) // no mapping: not the one of the result
	ok := found && missing == "" && len(mapping) == 3 && len(got.Detected) == 3 && mapping["HLS-AAA"] == got.Detected[0] && rawjson.Text(line["new_status"]) == "Approved"
	t.Check("S0-APPROVE-28", ok, "the members, with the values of the result", "%s", lineFault(line, found, missing))
	t.Check("X-LOG-02/approve", !strings.Contains(s.Conn.Stderr(), marker), "no text of the artifact", "the planted words are in the log")
}

func runAddLog(t *engine.Trial) {
	s := t.Fresh()
	prd := approvedPRD(t, s)
	workflow := newWorkflow(t)
	arguments := addArguments(newTask(unusedID(t, "HLS"), prd))
	arguments["task_id"] = workflow
	done[added](t, s, ToolAddTask, arguments)
	line, found := logLine(t, s, ToolAddTask+"_invocation_completed", "task_id", workflow)
	missing := missingMembers(line, "tasks_added", "artifact_ids", "generators", "task_ids", "inputs_validated",
		"mandatory_inputs_count", "recommended_inputs_count", "success", "duration_ms")
	ok := found && missing == "" && string(line["inputs_validated"]) == "true" && string(line["mandatory_inputs_count"]) == "1" &&
		string(line["recommended_inputs_count"]) == "0" && string(line["generators"]) == `["hls-generator"]`
	t.Check("S0-ADD-23", ok, "the members, with counts 1 and 0", "%s", lineFault(line, found, missing))
}

func runReserveLog(t *engine.Trial) {
	s := t.Fresh()
	workflow := newWorkflow(t)
	arguments := reserveArguments("hls", newProject(t), 3)
	arguments["task_id"] = workflow
	got := done[reserved](t, s, ToolReserve, arguments)
	line, found := logLine(t, s, ToolReserve+"_invocation_completed", "task_id", workflow)
	missing := missingMembers(line, "artifact_type", "count", "reserved_ids", "reservation_id", "duration_ms")
	ids := restReply{members: line}.list("reserved_ids")
	t.Check("S0-RES-05", found && missing == "" && string(line["count"]) == "3" && slices.Equal(ids, got.IDs) && rawjson.Text(line["reservation_id"]) == got.Reservation,
		"the members, with the values of the result", "%s", lineFault(line, found, missing))
	counts, odd := invocationLines(s.Conn.Stderr(), ToolReserve, workflow)
	t.Check("X-LOG-01/allocation", odd == "" && counts["started"] == 1 && counts["completed"] == 1 && counts["failed"] == 0,
		"one started and one completed line", "%v %s", counts, odd)
}

// invocationLines counts the lines of a tool's calls by their kind, and names
// one that lacks a member.
func invocationLines(stderr, tool, workflow string) (counts map[string]int, odd string) {
	counts = map[string]int{}
	for _, line := range logLines(stderr) {
		kind, ok := strings.CutPrefix(rawjson.Text(line["event"]), tool+"_invocation_")
		if !ok || rawjson.Text(line["task_id"]) != workflow {
			continue
		}
		counts[kind]++
		want := []string{"timestamp", "tool_name"}
		if kind != "started" {
			want = append(want, "success", "duration_ms")
		}
		if missing := missingMembers(line, want...); missing != "" {
			odd = "the " + kind + " line lacks " + missing
		}
	}
	return counts, odd
}

func runFailedLog(t *engine.Trial) {
	s := t.Fresh()
	workflow := newWorkflow(t)
	a, err := t.Call(s, ToolApprove, map[string]any{"artifact_id": unusedID(t, "PRD"), "task_id": workflow})
	if err != nil || a.Err == nil {
		t.Stop(fmt.Errorf("an approval of what is not there: %s", a.OrError(err)))
	}
	line, found := logLine(t, s, ToolApprove+"_invocation_failed", "task_id", workflow)
	counts, odd := invocationLines(s.Conn.Stderr(), ToolApprove, workflow)
	t.Check("X-LOG-01/failed", found && odd == "" && string(line["success"]) == "false" && counts["failed"] == 1 && counts["completed"] == 0,
		"one failed line with success false", "%v %s %s", counts, odd, describeLine(line, found))
	stage, staged := logLine(t, s, "artifact_not_found", "task_id", workflow)
	t.Check("X-LOG-01/stage", staged, "a line artifact_not_found", "%s", describeLine(stage, staged))
}

func runTokenLog(t *engine.Trial) {
	s := t.Fresh()
	const planted = "5e551070-7a9e-4b3c-9d6f-0123456789ab"
	_, err := t.Call(s, "save_artifact", map[string]any{"session_token": planted, "title": "A title", "content_markdown": "# Text\n"})
	t.NoError(err)
	logged := wire.WaitUntil(t.Ctx, wire.Lag, func() bool { return strings.Contains(s.Conn.Stderr(), "save_artifact") })
	t.Check("X-LOG-02/token", logged && !strings.Contains(s.Conn.Stderr(), planted), "a line about the call, without the token", "the token is in the log, or no line is")
}

func runWorkflow(t *engine.Trial) {
	project, workflow := newProject(t), newWorkflow(t)
	s := t.Open("PROJECT_ID=" + project)
	t.NoError(s.Handshake(t.Ctx, t.Rev.Asked))
	c := restOf(t, s)
	if !c.reach(t) {
		return
	}
	t.Step(s)
	d := storedPRD(t, s, threeStories)
	arguments := validateArguments(prd(), idPRD)
	arguments["task_id"] = workflow
	if v := done[verdict](t, s, ToolValidate, arguments); !v.passed() {
		t.Stop(fmt.Errorf("%s: %s", ToolValidate, v.describe()))
	}
	arguments = storeArguments(d.text())
	arguments["task_id"] = workflow
	done[stored](t, s, ToolStore, arguments)
	got, a, err := called[approval](t, s, ToolApprove, map[string]any{"artifact_id": d.id, "task_id": workflow})
	t.Check("S0-E2E-01/stored", err == nil && got.New == "Approved" && got.Created == 3, "Approved, with 3 tasks", "%s", a.OrError(err))
	t.NoError(err, "the approval")
	var handed []string
	depends := true
	for range 3 {
		r, err := c.do(t.Ctx, http.MethodGet, "/tasks/next?project="+project, nil)
		t.NoError(err)
		task := r.member("task")
		handed = append(handed, rawjson.Text(task["artifact_id"]))
		depends = depends && strings.Contains(string(task["inputs_json"]), d.id)
		for _, status := range []string{"in_progress", "completed"} {
			_, err := c.setStatus(t, rawjson.Text(task["task_id"]), status)
			t.NoError(err)
		}
	}
	last, err := c.do(t.Ctx, http.MethodGet, "/tasks/next?project="+project, nil)
	empty := err == nil && string(last.members["task"]) == "null"
	t.Check("S0-E2E-01/queue", slices.Equal(handed, got.Detected) && empty, fmt.Sprintf("%v, then none", got.Detected), "%v, then %s", handed, last.describe(err))
	t.Check("S0-E2E-01/inputs", depends, "inputs with "+d.id, "a task without")
	lacking := ""
	for _, tool := range []string{ToolValidate, ToolStore, ToolApprove} {
		if _, found := logLine(t, s, tool+"_invocation_completed", "task_id", workflow); !found {
			lacking = tool
		}
	}
	t.Check("S0-E2E-01/task-id", lacking == "", "a completed line of each tool with "+workflow, "none of %s", lacking)
}
