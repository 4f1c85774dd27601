package tasks

import (
	"errors"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// tasksOfCalls is what a server declares whose tools may be called as tasks.
const tasksOfCalls = "tasks.requests.tools.call"

// taskKind is the list of tasks.
var taskKind = wire.ListKind{Method: mcp.MethodTasksList, Member: "tasks", Key: "taskId", Capability: "tasks.list"}

// coreTaskScenarios are about tasks as revision 2025-11-25 has them.
func coreTaskScenarios() []engine.Scenario {
	return []engine.Scenario{
		{ID: "TASK-01", Needs: engine.Needs{Capability: tasksOfCalls}, Run: runTaskCreated},
		{ID: "TASK-02", Needs: engine.Needs{Capability: tasksOfCalls}, Run: runTaskState},
		{ID: "TASK-04", Needs: engine.Needs{Capability: "tasks.cancel"}, Run: runTaskCancel},
		{ID: "TASK-04-LIST", Needs: engine.Needs{Capability: "tasks.list"}, Run: runListOfTasks},
		{ID: "TOOL-14", Needs: engine.Needs{Capability: tasksOfCalls}, Run: runTaskSupport},
		{ID: "TOOL-14-IGNORED", Needs: engine.Needs{Capability: "tools"}, Run: runTaskIgnored},
	}
}

// taskTools returns the tools that support tasks in one of the ways given and
// that may be called; without any it skips the checks named, or all. A
// client MUST NOT ask for tasks where the server does not declare them for calls.
func taskTools(t *engine.Trial, support []string, checks ...string) []wire.Tool {
	declared := t.Rev.Capabilities.Has(tasksOfCalls)
	var out []wire.Tool
	there := false
	for _, tool := range t.Rev.Tools {
		if !slices.Contains(support, tool.TaskSupport()) {
			continue
		}
		there = true
		if declared && t.Rev.MayCall(tool.Name) && len(out) < mostTaskTools {
			out = append(out, tool)
		}
	}
	if len(out) > 0 {
		return out
	}
	if len(checks) == 0 {
		for _, c := range t.Scenario.Checks {
			checks = append(checks, c.ID)
		}
	}
	for _, id := range checks {
		switch {
		case !declared:
			t.Skip(id, conformance.SkipNotDeclared, "capabilities."+tasksOfCalls+" absent")
		case there:
			t.Skip(id, conformance.SkipSideEffects, "no permission to call a tool that supports tasks")
		default:
			t.Skip(id, conformance.SkipNoFixture, "no such tool")
		}
	}
	return nil
}

// mayBeTasks are the ways to support tasks.
var mayBeTasks = []string{"optional", "required"}

func runTaskCreated(t *engine.Trial) {
	s := t.Shared()
	tools := taskTools(t, mayBeTasks)
	if len(tools) == 0 {
		return
	}
	for _, tool := range tools {
		t.Step(s)
		a, err := asTask(t, s, tool, taskArguments(tool, false))
		t.NoError(err)
		if a.Err != nil { // that is not accepting it
			continue
		}
		task, ok := taskOf(s, a)
		if !t.Check("TASK-01/created", ok, "a result with a task that has a taskId", "%s: %s", tool.Name, a.Describe()) {
			t.SkipRest(conformance.SkipPrerequisite, "no task")
			return
		}
		judgeNewTask(t, s, tool, task)
		return
	}
	t.SkipRest(conformance.SkipNoFixture, "every call that was to be a task was refused")
}

// judgeNewTask judges a task as its creation tells of it.
func judgeNewTask(t *engine.Trial, s *wire.Session, by wire.Tool, task wire.ListEntry) {
	status := rawjson.Text(task["status"])
	if IsFinal(status) || status == "input_required" {
		t.Skip("TASK-01/working", conformance.SkipNoFixture, "the task was "+status+" at once")
	}
	t.Check("TASK-01/working", status == "working", "working", "status is %s", rawjson.OrAbsent(task["status"]))
	fault := timesFault(task)
	t.Check("TASK-01/times", fault == "", "two times", "%s", fault)
	fault = lifetimeFault(task, "ttl", "pollInterval")
	t.Check("TASK-01/ttl", fault == "", "integers, or null for no limit", "%s", fault)
	if u, ok := t.Rev.Subject.(*conformance.URLSubject); ok && (len(u.Header) > 0 || u.RoundTripper != nil) {
		t.Skip("TASK-01/unguessable", conformance.SkipControl, "the server may bind tasks to an authorization")
	}
	t.NoError(judgeTaskIDs(t, s, by, rawjson.Text(task["taskId"]), "TASK-01/unique", "TASK-01/unguessable"))
}

// judgeTaskIDs makes more tasks and judges their ids.
func judgeTaskIDs(t *engine.Trial, s *wire.Session, tool wire.Tool, first, unique, unguessable string) error {
	made := []string{first}
	for range 3 {
		a, err := asTask(t, s, tool, taskArguments(tool, false))
		if err != nil {
			return err
		}
		if task, ok := taskOf(s, a); ok { // a server may have a limit on tasks
			made = append(made, rawjson.Text(task["taskId"]))
		}
	}
	if len(made) == 1 {
		t.Skip(unique, conformance.SkipNoFixture, "no second task could be made")
		t.Skip(unguessable, conformance.SkipNoFixture, "no second task could be made")
		return nil
	}
	slices.Sort(made)
	t.Check(unique, len(slices.Compact(slices.Clone(made))) == len(made), "different ids", "%q", made)
	fault := wire.Guessable(made)
	t.Check(unguessable, fault == "", "ids of 16 bytes or more without a pattern", "%s: %q", fault, made)
	return nil
}

func runTaskState(t *engine.Trial) {
	s := t.Shared()
	a, err := taskRequest(t, s, mcp.MethodTasksGet, fixture.NoTask)
	t.Check("TASK-02/unknown", a.HasCode(err, wire.CodeInvalidParams), "error -32602", "%s", a.OrError(err))
	tools := taskTools(t, mayBeTasks)
	if err != nil || len(tools) == 0 {
		t.NoError(err)
		return
	}
	_, made, ok, err := someTask(t, s, tools)
	t.NoError(err)
	if !ok {
		t.SkipRest(conformance.SkipPrerequisite, "no call became a task")
		return
	}
	id := rawjson.Text(made["taskId"])
	a, err = taskRequest(t, s, mcp.MethodTasksGet, id)
	t.NoError(err)
	task, ok := rawjson.Object(a.Result)
	ok = ok && rawjson.Text(task["taskId"]) == id && rawjson.IsString(task["status"])
	if !t.Check("TASK-02/get", ok, "the task "+id, "%s", a.Describe()) {
		t.SkipRest(conformance.SkipPrerequisite, "tasks/get does not give the task")
		return
	}
	fault := lifetimeFault(task, "ttl", "pollInterval")
	t.Check("TASK-02/ttl", fault == "", "integers, or null for no limit", "%s", fault)
	meta, _ := rawjson.Object(task["_meta"])
	t.Check("TASK-02/meta", len(meta[mcp.MetaRelatedTask]) == 0, "nothing", "_meta %s is %s", mcp.MetaRelatedTask, rawjson.OrAbsent(meta[mcp.MetaRelatedTask]))
	t.Step(s)
	states, err := follow(t, s, id, nil)
	states = append([]wire.ListEntry{made}, states...)
	for _, state := range states {
		if fault = timesFault(state); fault == "" && !sameTime(state["createdAt"], made["createdAt"]) {
			fault = "createdAt was " + rawjson.Text(made["createdAt"]) + " and is " + rawjson.Text(state["createdAt"])
		}
		if fault != "" {
			break
		}
	}
	t.Check("TASK-02/times", fault == "", "two times, and the same createdAt", "%s", fault)
	fault = pathFault(states)
	t.Check("TASK-02/path", fault == "", "working, input_required, and one of completed, failed and cancelled", "%s", fault)
	t.NoError(err)
	fault, err = stays(t, s, id, rawjson.Text(states[len(states)-1]["status"]))
	t.NoError(err)
	t.Check("TASK-02/final", fault == "", "the same state", "%s", fault)
	t.Step(s)
	a, err = s.Request(t.Ctx, mcp.MethodTasksGet, map[string]any{
		"taskId": id, "_meta": map[string]any{mcp.MetaRelatedTask: map[string]any{"taskId": fixture.NoTask}},
	})
	t.NoError(err)
	if a.HasCode(nil, wire.CodeInvalidParams) { // the ttl is the server's to choose
		plain, err := taskRequest(t, s, mcp.MethodTasksGet, id)
		t.NoError(err)
		if plain.HasCode(nil, wire.CodeInvalidParams) {
			t.Skip("TASK-02/parameter", conformance.SkipPrerequisite, "the task is forgotten")
		}
	}
	task, _ = rawjson.Object(a.Result)
	t.Check("TASK-02/parameter", rawjson.Text(task["taskId"]) == id, "the task "+id, "%s", a.Describe())
}

func runTaskCancel(t *engine.Trial) {
	s := t.Shared()
	a, err := taskRequest(t, s, mcp.MethodTasksCancel, fixture.NoTask)
	t.Check("TASK-04/unknown", a.HasCode(err, wire.CodeInvalidParams), "error -32602", "%s", a.OrError(err))
	tools := taskTools(t, mayBeTasks)
	if err != nil || len(tools) == 0 {
		t.NoError(err)
		return
	}
	for _, tool := range tools {
		t.Step(s)
		a, err := asTask(t, s, tool, taskArguments(tool, false))
		t.NoError(err)
		task, ok := taskOf(s, a)
		if !ok {
			continue
		}
		cancelTask(t, s, rawjson.Text(task["taskId"]))
		if t.Decided("TASK-04/cancelled") && t.Decided("TASK-04/over") {
			return
		}
	}
	t.SkipRest(conformance.SkipNoFixture, "no task lasts until it is cancelled, and none ends on its own")
}

// cancelTask cancels a task that is under way, and then one that is over.
func cancelTask(t *engine.Trial, s *wire.Session, id string) {
	a, err := taskRequest(t, s, mcp.MethodTasksCancel, id)
	t.NoError(err)
	if a.HasCode(nil, wire.CodeInvalidParams) { // it may have been over
		got, err := taskRequest(t, s, mcp.MethodTasksGet, id)
		if state, _ := rawjson.Object(got.Result); err == nil && IsFinal(rawjson.Text(state["status"])) {
			t.Check("TASK-04/over", true, "", "")
			return
		}
	}
	task, _ := rawjson.Object(a.Result)
	if t.Check("TASK-04/cancelled", rawjson.Text(task["status"]) == "cancelled" && rawjson.Text(task["taskId"]) == id, "the task "+id+" as cancelled", "%s", a.Describe()) {
		a, err := taskRequest(t, s, mcp.MethodTasksCancel, id)
		t.Check("TASK-04/again", a.HasCode(err, wire.CodeInvalidParams), "error -32602", "%s", a.OrError(err))
		a, err = resultOf(t, s, id) // -32602 is one that has forgotten it, which it may
		t.Check("TASK-04/result", err == nil && !a.HasCode(nil, wire.CodeMethodNotFound), "a result, or the error of the call", "%s", a.OrError(err))
	}
	// Meanwhile what was cancelled has had the time to end on its own.
	if err := cancelWhatIsOver(t, s); err != nil || !t.Decided("TASK-04/again") {
		t.NoError(err)
		return
	}
	fault, err := stays(t, s, id, "cancelled")
	t.NoError(err)
	t.Check("TASK-04/stays", fault == "", "cancelled", "%s", fault)
}

// cancelWhatIsOver lets a task end and cancels it then.
func cancelWhatIsOver(t *engine.Trial, s *wire.Session) error {
	for _, tool := range taskTools(t, mayBeTasks) {
		t.Step(s)
		a, err := asTask(t, s, tool, taskArguments(tool, false))
		if err != nil {
			return err
		}
		task, ok := taskOf(s, a)
		if !ok {
			continue
		}
		id := rawjson.Text(task["taskId"])
		states, err := follow(t, s, id, asksForInput)
		if err != nil {
			return err
		}
		if !IsFinal(rawjson.Text(states[len(states)-1]["status"])) {
			continue
		}
		a, err = taskRequest(t, s, mcp.MethodTasksCancel, id)
		t.Check("TASK-04/over", a.HasCode(err, wire.CodeInvalidParams), "error -32602", "%s", a.OrError(err))
		return err
	}
	return nil
}

func asksForInput(task wire.ListEntry) bool { return rawjson.Text(task["status"]) == "input_required" }

func runListOfTasks(t *engine.Trial) {
	s := t.Shared()
	a, err := s.Request(t.Ctx, mcp.MethodTasksList, map[string]any{"cursor": "mainstay-no-such-cursor"})
	t.Check("TASK-04/list-cursor", a.HasCode(err, wire.CodeInvalidParams), "error -32602", "%s", a.OrError(err))
	t.NoError(err)
	t.Step(s)
	var made []string
	tools := taskTools(t, mayBeTasks, "TASK-04/listed", "TASK-04/list-entries")
	for range 3 {
		by, task, ok, err := someTask(t, s, tools)
		t.NoError(err)
		if !ok {
			break
		}
		tools = []wire.Tool{by}
		made = append(made, rawjson.Text(task["taskId"]))
	}
	list, err := wire.WalkList(t.Ctx, s, taskKind)
	if err != nil && !errors.Is(err, wire.ErrEndless) {
		t.Stop(err)
	}
	t.Check("TASK-04/list-ends", err == nil, "pages with an end", "%v", err)
	if err != nil {
		return
	}
	missing, fault := "", ""
	for _, id := range made {
		if list.Has(taskKind, id) {
			continue
		}
		if a, err := taskRequest(t, s, mcp.MethodTasksGet, id); err == nil && a.Err == nil {
			missing = id
		}
	}
	for _, task := range list.Entries {
		switch {
		case rawjson.Text(task["taskId"]) == "" || !slices.Contains(taskStatuses, rawjson.Text(task["status"])):
			fault = rawjson.Clip(string(rawjson.Encode(task)), 160)
		case fault == "":
			fault = timesFault(task)
		}
	}
	if len(made) == 0 {
		t.Skip("TASK-04/listed", conformance.SkipPrerequisite, "no task could be made")
		t.Skip("TASK-04/list-entries", conformance.SkipPrerequisite, "no task could be made")
	}
	t.Check("TASK-04/listed", missing == "", "every task", "%q is not in it", missing)
	t.Check("TASK-04/list-entries", fault == "", "tasks", "%s", fault)
}

func runTaskSupport(t *engine.Trial) {
	s := t.Shared()
	odd := ""
	for _, tool := range t.Rev.Tools {
		execution, _ := rawjson.Object(tool.Members["execution"])
		if said, there := execution["taskSupport"]; there && !slices.Contains([]string{"required", "optional", "forbidden"}, rawjson.Text(said)) {
			odd = tool.Name + " has " + rawjson.OrAbsent(said)
		}
	}
	t.Check("TOOL-14/values", odd == "", "one of three words", "%s", odd)
	for _, tool := range first(taskTools(t, []string{"required"}, "TOOL-14/required")) {
		t.Step(s)
		a, err := s.Request(t.Ctx, mcp.MethodToolsCall, engine.CallParams(tool.Name, taskArguments(tool, false)))
		t.Check("TOOL-14/required", a.HasCode(err, wire.CodeMethodNotFound), "error -32601", "%s: %s", tool.Name, a.OrError(err))
		t.NoError(err)
	}
	for _, tool := range first(taskTools(t, []string{"forbidden"}, "TOOL-14/forbidden")) {
		t.Step(s)
		a, err := asTask(t, s, tool, taskArguments(tool, false))
		t.Check("TOOL-14/forbidden", a.HasCode(err, wire.CodeMethodNotFound), "error -32601", "%s: %s", tool.Name, a.OrError(err))
		t.NoError(err)
	}
}

// first is a list cut to its first entry.
func first(tools []wire.Tool) []wire.Tool { return tools[:min(1, len(tools))] }

func runTaskIgnored(t *engine.Trial) {
	if t.Rev.Capabilities.Has(tasksOfCalls) {
		t.SkipRest(conformance.SkipNotDeclared, "capabilities."+tasksOfCalls+" is declared")
		return
	}
	s := t.Shared()
	for _, tool := range first(t.Callable()) {
		plain, err := s.Request(t.Ctx, mcp.MethodToolsCall, engine.CallParams(tool.Name, taskArguments(tool, false)))
		t.NoError(err)
		a, err := asTask(t, s, tool, taskArguments(tool, false))
		t.NoError(err)
		_, made := taskOf(s, a)
		fault := outcomeFault(plain, a)
		if !made && fault != "" { // a tool may have a state, or leave it to chance
			once, err := s.Request(t.Ctx, mcp.MethodToolsCall, engine.CallParams(tool.Name, taskArguments(tool, false)))
			t.NoError(err)
			if outcomeFault(plain, once) != "" {
				t.Skip("TOOL-14/ignored", conformance.SkipNoFixture, tool.Name+" does not answer the same call the same way")
				continue
			}
		}
		t.Check("TOOL-14/ignored", !made && fault == "", "what the same call gives without it", "%s %s", fault, a.Describe())
	}
}
