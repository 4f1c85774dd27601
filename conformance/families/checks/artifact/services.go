package artifact

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// approveServiceScenarios judge what an approval asks of the two services, and
// what it does when they fail. The suite plays them.
func approveServiceScenarios() []engine.Scenario {
	needs := onServices()
	return []engine.Scenario{
		{ID: "S0-APPROVE-14", Needs: needs, Run: runApproveAsks},
		{ID: "S0-APPROVE-16", Needs: needs, Run: runApproveNoResearch},
		{ID: "S0-APPROVE-18-REQUESTS", Needs: needs, Run: runApproveAsksNothing},
		{ID: "S0-APPROVE-20-REQUESTS", Needs: needs, Run: runApproveStories},
		{ID: "S0-APPROVE-06-REQUESTS", Starts: 1, Needs: needs, Run: runApproveRefusedFirst},
		{ID: "S0-APPROVE-21", Needs: reading(needs), Run: runApproveNoIDs},
		{ID: "S0-APPROVE-22", Needs: reading(needs), Run: runApproveNoTasks},
		{ID: "S0-APPROVE-24", Needs: needs, Run: runApproveUnconfirmed},
		{ID: "S0-APPROVE-25-REQUESTS", Needs: needs, Run: runApproveTwiceAsks},
	}
}

// researchFiles are the research documents of the seed, by the name of the
// input they are.
var researchFiles = map[string]string{
	"business_research":       "AI_Agent_MCP_Server_business_research.md",
	"implementation_research": "AI_Agent_MCP_Server_implementation_research.md",
}

// writeResearch puts both research documents into the artifacts folder, with a
// status, or takes them away with "".
func writeResearch(t *engine.Trial, status string) {
	dir := filepath.Join(surroundings.Of(t).Artifacts, "research")
	if status == "" {
		t.NoError(engine.SuiteError(os.RemoveAll(dir)))
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the server may be another user
		t.NoError(engine.SuiteError(err))
		return
	}
	for name, file := range researchFiles {
		content := "# " + name + "\n\n## Metadata\n\n- **Status:** " + status + "\n\n## Findings\n\nWritten by the conformance suite.\n"
		t.NoError(writeFile(dir, file, []byte(content)))
	}
}

func runApproveAsks(t *engine.Trial) {
	writeResearch(t, "Finalized")
	s, services := playing(t, nil)
	d := storedPRD(t, s, threeStories)
	got := done[approval](t, s, ToolApprove, approveArguments(d.id))
	reserves := services.requests("POST /ids/reserve")
	t.Check("S0-APPROVE-14", len(reserves) == 1 && rawjson.Text(reserves[0].body["type"]) == "HLS" && string(reserves[0].body["count"]) == "3" &&
		rawjson.Text(reserves[0].body["project_id"]) == ServiceProject, "one request {type HLS, count 3, project_id}", "%s", describeRequests(reserves))
	batches := services.requests("POST /tasks/batch")
	if len(batches) != 1 {
		for _, check := range []string{"S0-APPROVE-15/tasks", "S0-APPROVE-15/mandatory", "S0-APPROVE-15/recommended"} {
			t.Fail(check, "one batch", "%s", describeRequests(batches))
		}
		return
	}
	checkBatch(t, d, got, batches[0])
	confirms := services.requests("POST /ids/confirm")
	t.Check("S0-APPROVE-17", len(confirms) == 1 && rawjson.Text(confirms[0].body["reservation_id"]) == got.Reservation && got.Reservation != "" &&
		!confirms[0].at.Before(batches[0].at), "one confirmation of "+got.Reservation, "%s", describeRequests(confirms))
}

func checkBatch(t *engine.Trial, d draft, got approval, batch restRequest) {
	tasks := batch.tasks()
	var ids []string
	mandatory, recommended := "", ""
	for _, task := range tasks {
		ids = append(ids, task.ArtifactID)
		if task.Generator != "hls-generator" || task.Status != "pending" {
			ids = append(ids, task.Generator+" "+task.Status)
		}
		prd, found := input(task, "prd")
		if !found || prd.Classification != "mandatory" || prd.ArtifactID != d.id || prd.Status != "Approved" || prd.uri() != uriOf(d.id, 1) {
			mandatory = string(rawjson.Encode(task.Inputs))
		}
		for name, file := range researchFiles {
			in, found := input(task, name)
			if !found || in.Classification != "recommended" || in.Status != "Finalized" || in.uri() != "mcp://resources/artifacts/research/"+file {
				recommended = string(rawjson.Encode(task.Inputs))
			}
		}
	}
	t.Check("S0-APPROVE-15/tasks", len(tasks) == 3 && slices.Equal(ids, got.Detected), "tasks of the hls-generator for each sub-artifact", "%v", ids)
	t.Check("S0-APPROVE-15/mandatory", len(tasks) > 0 && mandatory == "", "the input prd, mandatory and Approved", "%s", rawjson.Clip(mandatory, 300))
	t.Check("S0-APPROVE-15/recommended", len(tasks) > 0 && recommended == "", "two recommended inputs, Finalized", "%s", rawjson.Clip(recommended, 300))
}

func input(task restTask, name string) (restInput, bool) {
	i := slices.IndexFunc(task.Inputs, func(in restInput) bool { return in.Name == name })
	if i < 0 {
		return restInput{}, false
	}
	return task.Inputs[i], true
}

func runApproveNoResearch(t *engine.Trial) {
	writeResearch(t, "")
	s, services := playing(t, nil)
	d := storedPRD(t, s, threeStories)
	_, a, err := approve(t, s, d.id)
	if err != nil {
		t.Fail("S0-APPROVE-16", "an approval", "%s", a.OrError(err))
		return
	}
	batches := services.requests("POST /tasks/batch")
	only := len(batches) == 1 && len(batches[0].tasks()) == 3
	for _, b := range batches {
		for _, task := range b.tasks() {
			only = only && len(task.Inputs) == 1 && task.Inputs[0].Name == "prd"
		}
	}
	t.Check("S0-APPROVE-16", only, "tasks with the mandatory input alone", "%s", describeRequests(batches))
}

func runApproveAsksNothing(t *engine.Trial) {
	s, services := playing(t, nil)
	epic := newDraft(unusedID(t, "EPIC"))
	epic.parent = ""
	plain := storedPRD(t, s, "Nothing below it.\n")
	keep(t, s, epic)
	done[approval](t, s, ToolApprove, approveArguments(epic.id))
	reserves := services.requests("POST /ids/reserve")
	t.Check("S0-APPROVE-18/no-reserve", len(reserves) == 0, "no reservation", "%s", describeRequests(reserves))
	services.begin(nil)
	done[approval](t, s, ToolApprove, approveArguments(plain.id))
	all := services.requests("")
	t.Check("S0-APPROVE-19/no-requests", len(all) == 0, "no request", "%s", describeRequests(all))
}

func runApproveStories(t *engine.Trial) {
	s, services := playing(t, nil)
	prd, d := child(t, "PRD", "HLS", "## Stories\n\n- US-AAA\n- US-BBB\n")
	keep(t, s, prd, d)
	done[approval](t, s, ToolApprove, approveArguments(d.id))
	batches := services.requests("POST /tasks/batch")
	ok := len(batches) == 1 && len(batches[0].tasks()) == 2
	for _, b := range batches {
		for _, task := range b.tasks() {
			in, found := input(task, "hls")
			ok = ok && task.Generator == "backlog-story-generator" && found && in.Classification == "mandatory" && in.ArtifactID == d.id
		}
	}
	t.Check("S0-APPROVE-20/generator", ok, "two tasks of the backlog-story-generator with the input hls", "%s", describeRequests(batches))
}

func runApproveRefusedFirst(t *engine.Trial) {
	s, services := playing(t, nil)
	done := newDraft(unusedID(t, "PRD"))
	done.parent, done.status, done.body = "", "Approved", threeStories
	epic, below := child(t, "EPIC", "PRD", threeStories)
	epic.status = "Draft"
	many := storedPRD(t, s, placeholders("HLS", 101))
	keep(t, s, done, epic, below)
	for _, each := range [][2]string{
		{"S0-APPROVE-06/no-reserve", unusedID(t, "PRD")},
		{"S0-APPROVE-07/no-reserve", done.id},
		{"S0-APPROVE-08/no-reserve", below.id},
		{"S0-APPROVE-27/no-reserve", many.id},
	} {
		check, id := each[0], each[1]
		services.begin(nil)
		_, err := tryApprove(t, s, id)
		t.NoError(err)
		all := services.requests("")
		t.Check(check, len(all) == 0, "no request", "%s", describeRequests(all))
	}
}

func runApproveNoIDs(t *engine.Trial) {
	s, services := playing(t, breaking("POST /ids/reserve", RestAnswer{lose: true}))
	d := storedPRD(t, s, threeStories)
	a, err := tryApprove(t, s, d.id)
	t.Check("S0-APPROVE-21/error", a.HasCode(err, wire.CodeInternal, CodeServer), "error -32603 or -32000", "%s", a.OrError(err))
	t.NoError(err)
	checkUnchanged(t, "S0-APPROVE-21/unchanged", s, d)
	services.begin(nil)
	_, a, err = approve(t, s, d.id)
	t.Check("S0-APPROVE-21/draft", err == nil, "an approval once the service is back", "%s", a.OrError(err))
}

// httpBody is what a service says that must not get through (S0-ERR-02).
const httpBody = "a sentence of the service"

func runApproveNoTasks(t *engine.Trial) {
	s, services := playing(t, breaking("POST /tasks/batch", restRefusal(http.StatusBadRequest, httpBody)))
	d := storedPRD(t, s, threeStories)
	a, err := tryApprove(t, s, d.id)
	t.NoError(err)
	data, _ := rawjson.Object(a.ErrorData())
	t.Check("S0-APPROVE-22/refused", a.HasCode(nil, wire.CodeInvalidParams) && string(data["rolled_back"]) == "true" && rawjson.Text(data["failed_step"]) != "",
		"error -32602 with rolled_back true and failed_step", "%s", a.Describe())
	t.Check("S0-ERR-02", a.Err != nil && data["status_code"] == nil && data["detail"] == nil && !hasMember(a, "status_code"),
		"none of status_code, detail", "%s", a.Describe())
	checkUnchanged(t, "S0-APPROVE-22/unchanged", s, d)
	confirms := services.requests("POST /ids/confirm")
	t.Check("S0-APPROVE-23/unconfirmed", len(confirms) == 0, "no confirmation", "%s", describeRequests(confirms))

	services.begin(breaking("POST /tasks/batch", restRefusal(http.StatusInternalServerError, httpBody)))
	a, err = tryApprove(t, s, d.id)
	data, _ = rawjson.Object(a.ErrorData())
	t.Check("S0-APPROVE-22/failed", err == nil && a.Err != nil && string(data["rolled_back"]) == "true", "an error with rolled_back true", "%s", a.OrError(err))
	t.NoError(err)
	services.begin(nil)
	t.Step(s)
	next := fmt.Sprintf("HLS-%03d", services.given("HLS")+1)
	got, a, err := approve(t, s, d.id)
	t.Check("S0-APPROVE-23/higher", err == nil && inRow(got.Detected, "HLS") && got.Detected[0] == next, "three ids from "+next, "%s", a.OrError(err))
}

// hasMember reports whether the message or its error has a member of that name.
func hasMember(a wire.Answer, name string) bool {
	_, top := a.In.Members[name]
	inner, _ := rawjson.Object(a.In.Members["error"])
	_, below := inner[name]
	return top || below
}

func runApproveUnconfirmed(t *engine.Trial) {
	s, _ := playing(t, breaking("POST /ids/confirm", restRefusal(http.StatusNotFound, "Reservation expired or not found")))
	d := storedPRD(t, s, threeStories)
	got, a, err := approve(t, s, d.id)
	t.Check("S0-APPROVE-24/success", err == nil && got.Success && got.Confirmed != nil && !*got.Confirmed, "success with reservation_confirmed false", "%s", a.OrError(err))
	t.NoError(err, "the approval")
	warned := wire.WaitUntil(t.Ctx, wire.Lag, func() bool {
		return slices.ContainsFunc(logLines(s.Conn.Stderr()), func(line map[string]json.RawMessage) bool {
			return rawjson.Text(line["level"]) == "WARN" && rawjson.Text(line["reservation_id"]) == got.Reservation
		})
	})
	t.Check("S0-APPROVE-24/warning", warned, "a warning about "+got.Reservation, "no such line")
}

func runApproveTwiceAsks(t *engine.Trial) {
	s, services := playing(t, nil)
	d := storedPRD(t, s, threeStories)
	together(t, s, ToolApprove, approveArguments(d.id), approveArguments(d.id))
	reserves := services.requests("POST /ids/reserve")
	t.Check("S0-APPROVE-25/reserve", len(reserves) == 1, "one reservation", "%s", describeRequests(reserves))
	tasks := 0
	batches := services.requests("POST /tasks/batch")
	for _, b := range batches {
		tasks += len(b.tasks())
	}
	t.Check("S0-APPROVE-25/tasks", tasks == 3, "3 tasks", "%d: %s", tasks, describeRequests(batches))
}
