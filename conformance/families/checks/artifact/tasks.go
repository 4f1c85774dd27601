package artifact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// addTaskScenarios judge add_task by its answers.
func addTaskScenarios() []engine.Scenario {
	needs := workflowNeeds()
	files := needs
	files.Fixture = surroundings.Artifacts
	return []engine.Scenario{
		{ID: "S0-ADD-01", Needs: needs, Run: runAddThree},
		{ID: "S0-ADD-02", Needs: needs, Run: runAddRefused},
		{ID: "S0-ADD-10", Needs: files, Run: runAddResearch},
		{ID: "S0-ADD-17", Needs: wanting(needs, "a clock")},
		{ID: "S0-ADD-21", Needs: needs, Run: runAddSizes},
	}
}

// added is the result of add_task.
type added struct {
	Success     bool     `json:"success"`
	Added       int      `json:"tasks_added"`
	TaskIDs     []string `json:"task_ids"`
	ArtifactIDs []string `json:"artifact_ids"`
}

func addArguments(tasks ...map[string]any) map[string]any {
	if tasks == nil {
		tasks = []map[string]any{}
	}
	return map[string]any{"tasks": tasks, "task_id": TaskID}
}

// newTask is a task to make an artifact from a PRD, valid as it is.
func newTask(artifactID string, inputs ...restInput) map[string]any {
	return map[string]any{"artifact_id": artifactID, "generator": "hls-generator", "task_id": TaskID, "inputs": inputs}
}

// prdInput is the input of version 1 of a PRD.
func prdInput(id string) restInput {
	return restInput{
		Name: "prd", Classification: "mandatory", ArtifactType: "prd", ArtifactID: id,
		ResourcePath: "artifacts/prds/" + id + "_v1.md", MCPResourceURI: uriOf(id, 1), Status: "Approved",
	}
}

// researchInput is the input of a research document.
func researchInput(status string) restInput {
	const name = "business_research"
	return restInput{
		Name: name, Classification: "recommended", ArtifactType: "research", ArtifactID: "N/A",
		ResourcePath: "artifacts/research/" + researchFiles[name], MCPResourceURI: "mcp://resources/artifacts/research/" + researchFiles[name], Status: status,
	}
}

// approvedPRD stores an approved PRD and returns its input.
func approvedPRD(t *engine.Trial, s *wire.Session) restInput {
	d := newDraft(unusedID(t, "PRD"))
	d.parent, d.status = "", "Approved"
	keep(t, s, d)
	return prdInput(d.id)
}

func add(t *engine.Trial, s *wire.Session, tasks ...map[string]any) (added, wire.Answer, error) {
	return called[added](t, s, ToolAddTask, addArguments(tasks...))
}

func runAddThree(t *engine.Trial) {
	s := t.Shared()
	prd := approvedPRD(t, s)
	ids := []string{unusedID(t, "HLS"), unusedID(t, "HLS"), unusedID(t, "HLS")}
	slices.Reverse(ids) // not in the order of their numbers
	got, a, err := add(t, s, newTask(ids[0], prd), newTask(ids[1], prd), newTask(ids[2], prd))
	t.Check("S0-ADD-01/added", err == nil && got.Success && got.Added == 3 && len(got.TaskIDs) == 3 && distinct(got.TaskIDs),
		"success, tasks_added 3, three task_ids", "%s", a.OrError(err))
	t.NoError(err, "add_task")
	t.Check("S0-ADD-01/order", slices.Equal(got.ArtifactIDs, ids), fmt.Sprint(ids), "%v", got.ArtifactIDs)
	t.Step(s)
	a, err = t.Call(s, ToolAddTask, addArguments(newTask(ids[1], prd)))
	t.Check("S0-ADD-19", saysCode(a, err, wire.CodeInvalidParams, "already exists in queue", ids[1]), `error -32602 "… already exists in queue"`, "%s", a.OrError(err))
	t.NoError(err)
}

func runAddRefused(t *engine.Trial) {
	s := t.Shared()
	good := approvedPRD(t, s)
	open := newDraft(unusedID(t, "PRD"))
	open.parent = ""
	keep(t, s, open)
	id := unusedID(t, "HLS")
	with := func(change func(*restInput)) map[string]any {
		in := good
		change(&in)
		return newTask(id, in)
	}
	uri := func(uri string) map[string]any { return with(func(in *restInput) { in.MCPResourceURI = uri }) }
	path := func(path string) map[string]any { return with(func(in *restInput) { in.ResourcePath = path }) }
	unknown := newTask(id, good)
	unknown["generator"] = "mainstay-no-such-generator"
	const notFound, badURI = "Input file not found", "Invalid resource_uri format"
	for _, c := range []struct {
		check string
		parts []string
		tasks []map[string]any
	}{
		{"S0-ADD-02/refused", []string{"Invalid params: "}, []map[string]any{newTask("hls-1", good)}},
		{"S0-ADD-03", []string{"Invalid params: "}, []map[string]any{unknown}},
		{"S0-ADD-04", []string{"Invalid params: "}, []map[string]any{newTask(id, []restInput{}...)}},
		{"S0-ADD-05", []string{"Mandatory input 'prd' missing for task " + id}, []map[string]any{with(func(in *restInput) { in.Name = "epic" })}},
		{"S0-ADD-06/recommended", nil, []map[string]any{with(func(in *restInput) { in.Classification = "recommended" })}},
		{"S0-ADD-06/conditional", nil, []map[string]any{with(func(in *restInput) { in.Classification = "conditional" })}},
		{"S0-ADD-07/http", []string{badURI}, []map[string]any{uri("http://127.0.0.1/artifacts/prds/x.md")}},
		{"S0-ADD-07/relative", []string{badURI}, []map[string]any{uri("artifacts/prds/x.md")}},
		{"S0-ADD-07/file", []string{badURI}, []map[string]any{uri("file:///artifacts/prds/x.md")}},
		{"S0-ADD-08/missing", []string{notFound}, []map[string]any{path("artifacts/prds/" + unusedID(t, "PRD") + "_v1.md")}},
		{"S0-ADD-08/directory", []string{notFound}, []map[string]any{path("artifacts/prds")}},
		{"S0-ADD-09", []string{open.id + " not approved"}, []map[string]any{newTask(id, prdInput(open.id))}},
		{"S0-ADD-11", []string{"Duplicate artifact_id in batch"}, []map[string]any{newTask(id, good), newTask(id, good)}},
		{"S0-ADD-22", nil, []map[string]any{{"artifact_id": id, "parent_id": good.ArtifactID, "task_id": TaskID}}},
		{"X-SEC-01/resource-path", nil, []map[string]any{path("artifacts/../../etc/passwd")}},
		{"X-SEC-01/resource-uri", nil, []map[string]any{uri("mcp://resources/artifacts/../../etc/passwd")}},
	} {
		t.Step(s)
		a, err := t.Call(s, ToolAddTask, addArguments(c.tasks...))
		if err != nil {
			t.Stop(fmt.Errorf("%s: %w", c.check, err))
		}
		ok, want := saysCode(a, nil, wire.CodeInvalidParams, c.parts...), "error -32602"
		if len(c.parts) > 0 {
			want += fmt.Sprintf(" %q", c.parts)
		}
		switch c.check {
		case "S0-ADD-11":
			ok = ok && strings.Contains(a.Err.Message+string(a.Err.Data), id)
			want += " and the id"
		case "S0-ADD-22":
			ok = ok && strings.Contains(a.Err.Message+string(a.Err.Data), "inputs")
			want += " with a word about inputs"
		}
		t.Check(c.check, ok, want, "%s", a.Describe())
	}
}

func runAddResearch(t *engine.Trial) {
	writeResearch(t, "Draft")
	s := t.Shared()
	prd := approvedPRD(t, s)
	bad := ""
	for _, status := range []string{"Draft", "Finalized"} {
		t.Step(s)
		a, err := t.Call(s, ToolAddTask, addArguments(newTask(unusedID(t, "HLS"), prd, researchInput(status))))
		t.NoError(err)
		if !saysCode(a, nil, wire.CodeInvalidParams, "Finalized") {
			bad = status + ": " + a.Describe()
		}
	}
	t.Check("S0-ADD-10", bad == "", `error -32602 "… must have status='Finalized'"`, "%s", bad)
	writeResearch(t, "")
}

func runAddSizes(t *engine.Trial) {
	s := t.Shared()
	prd := approvedPRD(t, s)
	var tasks []map[string]any
	for range 101 {
		tasks = append(tasks, newTask(unusedID(t, "HLS"), prd))
	}
	for _, c := range []struct {
		check string
		tasks []map[string]any
	}{{"S0-ADD-21/none", nil}, {"S0-ADD-21/101", tasks}} {
		refused(t, s, c.check, ToolAddTask, addArguments(c.tasks...), wire.CodeInvalidParams, "")
	}
	t.Step(s)
	got, a, err := add(t, s, tasks[:100]...)
	t.Check("S0-ADD-21/100", err == nil && got.Added == 100, "tasks_added 100", "%s", a.OrError(err))
}
