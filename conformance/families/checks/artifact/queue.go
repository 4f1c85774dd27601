package artifact

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// addTaskServiceScenarios judge what add_task asks of the Task Tracking
// service, and what it does when that fails. The suite plays it.
func addTaskServiceScenarios() []engine.Scenario {
	needs := onServices()
	return []engine.Scenario{
		{ID: "S0-ADD-12", Needs: needs, Run: runAddAsks},
		{ID: "S0-ADD-02-REQUESTS", Needs: needs, Run: runAddRefusedFirst},
		{ID: "S0-ADD-13", Needs: needs, Run: runAddComesBack},
		{ID: "S0-ADD-14", Needs: needs, Run: runAddStaysAway},
		{ID: "S0-ADD-15", Needs: needs, Run: runAddServiceRefuses},
		{ID: "S0-ADD-18", Needs: needs, Run: runAddLost},
	}
}

const BatchEndpoint = "POST /tasks/batch"

func runAddAsks(t *engine.Trial) {
	s, services := playing(t, nil)
	prd := approvedPRD(t, s)
	id, workflow := unusedID(t, "HLS"), newWorkflow(t)
	task := newTask(id, prd)
	task["task_id"] = "gen-001"
	arguments := addArguments(task)
	arguments["task_id"] = workflow
	done[added](t, s, ToolAddTask, arguments)
	batches := services.requests(BatchEndpoint)
	if len(batches) != 1 || len(batches[0].tasks()) != 1 {
		for _, c := range t.Scenario.Checks {
			t.Fail(c.ID, "one request with one task", "%s", describeRequests(batches))
		}
		return
	}
	got, sent := batches[0], batches[0].tasks()[0]
	t.Check("S0-ADD-12/project", rawjson.Text(got.body["project_id"]) == ServiceProject, ServiceProject, "%s", rawjson.OrAbsent(got.body["project_id"]))
	whole := len(sent.Inputs) == 1 && sent.Inputs[0].uri() == prd.MCPResourceURI && sent.Inputs[0].ResourcePath == prd.ResourcePath &&
		sent.Inputs[0].Classification == "mandatory" && sent.Inputs[0].Status == "Approved"
	t.Check("S0-ADD-12/tasks", sent.ArtifactID == id && sent.Status == "pending" && sent.TaskID == "gen-001" && sent.Generator == "hls-generator" && whole,
		"the task as it was given, pending", "%s", rawjson.Encode(sent))
	t.Check("S0-ADD-12/key", got.header.Get("Authorization") == "Bearer "+ServiceKey && got.header.Get("X-Task-Id") == workflow,
		"Authorization with the API_KEY, X-Task-Id "+workflow, "Authorization of %d characters, X-Task-Id %q", len(got.header.Get("Authorization")), got.header.Get("X-Task-Id"))
	want := "Generate " + id + " from " + prd.ArtifactID
	t.Check("S0-ADD-20", sent.Description == want, want, "%q", sent.Description)
}

func runAddRefusedFirst(t *engine.Trial) {
	s, services := playing(t, nil)
	prd := approvedPRD(t, s)
	id := unusedID(t, "HLS")
	bad := prd
	bad.MCPResourceURI = "http://127.0.0.1/x.md"
	for _, tasks := range [][]map[string]any{
		{newTask("hls-1", prd)}, {newTask(id)}, {newTask(id, prd), newTask(id, prd)}, {newTask(unusedID(t, "HLS"), prd), newTask(id, bad)},
	} {
		_, err := t.Call(s, ToolAddTask, addArguments(tasks...))
		t.NoError(err)
	}
	all := services.requests("")
	t.Check("S0-ADD-02/no-request", len(all) == 0, "no request", "%s", describeRequests(all))
}

// times makes an endpoint fail so many times.
func times(n int, endpoint string, answer RestAnswer) func(restRequest) *RestAnswer {
	var mu sync.Mutex
	return func(r restRequest) *RestAnswer {
		mu.Lock()
		defer mu.Unlock()
		if r.endpoint() != endpoint || n == 0 {
			return nil
		}
		n--
		return &answer
	}
}

func runAddComesBack(t *engine.Trial) {
	s, services := playing(t, times(2, BatchEndpoint, restRefusal(http.StatusServiceUnavailable, "try again later")))
	prd := approvedPRD(t, s)
	got, a, err := add(t, s, newTask(unusedID(t, "HLS"), prd))
	first := services.requests(BatchEndpoint)
	t.Check("S0-ADD-13/success", err == nil && got.Added == 1 && len(first) == 3, "success at the third attempt", "%s, %d attempts", a.OrError(err), len(first))
	if len(first) == 3 {
		gaps := []time.Duration{first[1].at.Sub(first[0].at), first[2].at.Sub(first[1].at)}
		t.Check("S0-ADD-13/gaps", gaps[0] >= 100*time.Millisecond && gaps[1] >= 200*time.Millisecond, "at least 100 ms and 200 ms", "%v", gaps)
	} else {
		t.Fail("S0-ADD-13/gaps", "3 attempts", "%d", len(first))
	}
	done[added](t, s, ToolAddTask, addArguments(newTask(unusedID(t, "HLS"), prd)))
	var keys []string
	for _, r := range services.requests(BatchEndpoint) {
		keys = append(keys, r.header.Get("Idempotency-Key"))
	}
	ok := len(keys) == 4 && keys[0] != "" && keys[0] == keys[1] && keys[1] == keys[2] && keys[3] != "" && keys[3] != keys[0]
	t.Check("S0-ADD-18/key", ok, "one key for three attempts, another for the next call", "%q", keys)
}

func runAddStaysAway(t *engine.Trial) {
	s, services := playing(t, breaking(BatchEndpoint, restRefusal(http.StatusServiceUnavailable, "try again later")))
	prd := approvedPRD(t, s)
	a, err := t.Call(s, ToolAddTask, addArguments(newTask(unusedID(t, "HLS"), prd)))
	t.Check("S0-ADD-14/error", saysCode(a, err, wire.CodeInternal, "Internal error"), `error -32603 "Internal error: …"`, "%s", a.OrError(err))
	n := len(services.requests(BatchEndpoint))
	t.Check("S0-ADD-14/attempts", n == 3, "3 attempts", "%d", n)
	t.NoError(err)
}

func runAddServiceRefuses(t *engine.Trial) {
	s, services := playing(t, nil)
	prd := approvedPRD(t, s)
	for _, c := range []struct {
		requirement string
		status      int
		code        int64
		parts       []string
	}{
		{"S0-ADD-15", http.StatusBadRequest, wire.CodeInvalidParams, []string{"Invalid params: ", httpBody}},
		{"S0-ADD-16", http.StatusUnauthorized, CodeServer, []string{"Permission denied"}},
	} {
		services.begin(breaking(BatchEndpoint, restRefusal(c.status, httpBody)))
		t.Step(s)
		a, err := t.Call(s, ToolAddTask, addArguments(newTask(unusedID(t, "HLS"), prd)))
		t.Check(c.requirement+"/error", saysCode(a, err, c.code, c.parts...), fmt.Sprintf("error %d %s", c.code, strings.Join(c.parts, "… ")), "%s", a.OrError(err))
		n := len(services.requests(BatchEndpoint))
		t.Check(c.requirement+"/attempts", n == 1, "1 attempt", "%d", n)
		t.NoError(err)
	}
}

func runAddLost(t *engine.Trial) {
	s, services := playing(t, times(1, BatchEndpoint, RestAnswer{after: true}))
	prd := approvedPRD(t, s)
	before := services.made()
	got, a, err := add(t, s, newTask(unusedID(t, "HLS"), prd))
	made := services.made() - before
	t.Check("S0-ADD-18/once", err == nil && len(got.TaskIDs) == 1 && made == 1 && slices.Equal(got.TaskIDs, []string{services.lastTask()}),
		"one task, and its id", "%s, %d tasks made", a.OrError(err), made)
}
