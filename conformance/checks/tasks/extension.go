package tasks

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	taskExtensionPage = "extensions/tasks"
	noTasks           = "no call becomes a task"
)

// declaringTasks is what a client declares that takes tasks and answers what
// they ask.
var declaringTasks = map[string]any{
	"extensions": map[string]any{mcp.ExtensionTasks: struct{}{}}, "elicitation": struct{}{}, "sampling": struct{}{},
}

// extensionTaskScenarios are about tasks as the extension of the stateless era
// has them.
func extensionTaskScenarios() []engine.Scenario {
	all := []engine.Scenario{
		{ID: "TASK-06", Run: runTasksUndeclared},
		{ID: "TASK-07", Run: runExtensionTask},
		{ID: "TASK-08", Run: runExtensionTaskState},
		{ID: "TASK-09", Run: runExtensionTaskInput},
		{ID: "TASK-10", Run: runExtensionTaskCancel},
		{ID: "TASK-12", Run: runExtensionTaskNews},
	}
	for i := range all {
		all[i].Area, all[i].Since, all[i].Needs.Extension = "tasks", mcp.Version2026_07_28, mcp.ExtensionTasks
	}
	return all
}

// tasking returns a session that declares the extension.
func tasking(t *engine.Trial) *wire.Session {
	s := t.Raw()
	s.Declares = declaringTasks
	t.NoError(s.Handshake(t.Ctx, t.Rev.Asked))
	t.Step(s)
	return s
}

// eachTask calls the tools that may be called, until use says that it is
// done with a task that one of them made. Checks that are open then had no task
// to judge, and are skipped for the reason given.
func eachTask(t *engine.Trial, s *wire.Session, otherwise string, use func(tool wire.Tool, task wire.ListEntry) (done bool)) {
	tools := t.Callable()
	for _, tool := range tools[:min(len(tools), mostTaskTools)] {
		t.Step(s)
		a, err := asTask(t, s, tool, taskArguments(tool, false))
		t.NoError(err)
		task, ok := taskOf(s, a)
		if !ok {
			continue
		}
		if use(tool, task) {
			return
		}
	}
	if otherwise != "" {
		t.SkipRest(conformance.SkipNoFixture, otherwise)
	}
}

func runExtensionTask(t *engine.Trial) {
	s := tasking(t)
	eachTask(t, s, noTasks, func(tool wire.Tool, task wire.ListEntry) bool {
		id := rawjson.Text(task["taskId"])
		got, err := taskRequest(t, s, mcp.MethodTasksGet, id)
		same, _ := rawjson.Object(got.Result)
		t.Check("TASK-07/durable", err == nil && rawjson.Text(same["taskId"]) == id, "the task "+id, "%s", got.OrError(err))
		t.NoError(err)
		t.Check("TASK-07/flat", slices.Contains(taskStatuses, rawjson.Text(task["status"])), "a status", "status is %s", rawjson.OrAbsent(task["status"]))
		fault := timesFault(task)
		t.Check("TASK-07/times", fault == "", "two times", "%s", fault)
		fault = lifetimeFault(task, "ttlMs", "pollIntervalMs")
		t.Check("TASK-07/ttl", fault == "", "integers, or null for no limit", "%s", fault)
		t.NoError(judgeTaskIDs(t, s, tool, id, "TASK-07/unique", "TASK-07/unguessable"))
		return true
	})
}

func runExtensionTaskState(t *engine.Trial) {
	s := tasking(t)
	for _, c := range []struct{ id, method string }{
		{"TASK-08/unknown", mcp.MethodTasksGet}, {"TASK-08/unknown-update", mcp.MethodTasksUpdate}, {"TASK-08/unknown-cancel", mcp.MethodTasksCancel},
	} {
		params := map[string]any{"taskId": fixture.NoTask}
		if c.method == mcp.MethodTasksUpdate {
			params["inputResponses"] = struct{}{}
		}
		t.Step(s)
		a, err := s.Request(t.Ctx, c.method, params)
		t.Check(c.id, a.HasCode(err, wire.CodeInvalidParams), "error -32602", "%s", a.OrError(err))
		t.NoError(err)
	}
	ends := map[string]bool{}
	eachTask(t, s, "", func(_ wire.Tool, task wire.ListEntry) bool {
		id := rawjson.Text(task["taskId"])
		states, err := follow(t, s, id, asksForInput)
		if len(states) == 0 && !errors.Is(err, errNoTask) {
			t.NoError(err)
			return true
		}
		if !judgeStates(t, id, states) || err != nil {
			t.NoError(err)
			return true
		}
		last := states[len(states)-1]
		ends[rawjson.Text(last["status"])] = true
		if !IsFinal(rawjson.Text(last["status"])) {
			return false
		}
		fault, err := stays(t, s, id, rawjson.Text(last["status"]))
		if fault != "" {
			t.Fail("TASK-08/path", "the same state", "%s", fault)
		}
		t.NoError(err)
		return ends["completed"] && ends["failed"]
	})
	for status, id := range map[string]string{"completed": "TASK-08/result", "failed": "TASK-08/error"} {
		if !ends[status] {
			t.Skip(id, conformance.SkipNoFixture, "no task is "+status)
		}
	}
	if len(ends) == 0 {
		t.SkipRest(conformance.SkipNoFixture, noTasks)
	}
	for _, c := range t.Scenario.Checks { // what nothing broke
		t.Pass(c.ID)
	}
}

// judgeStates fails what the states of a task break, and reports whether there
// are any.
func judgeStates(t *engine.Trial, id string, states []wire.ListEntry) bool {
	if len(states) == 0 {
		t.Fail("TASK-08/get", "the task "+id, "no task")
		return false
	}
	for _, state := range states {
		if rawjson.Text(state["taskId"]) != id {
			t.Fail("TASK-08/get", "the task "+id, "taskId is %s", rawjson.OrAbsent(state["taskId"]))
		}
		if !slices.Contains(taskStatuses, rawjson.Text(state["status"])) {
			t.Fail("TASK-08/get", "one of the five states", "status is %s", rawjson.OrAbsent(state["status"]))
		}
		if kind := rawjson.Text(state["resultType"]); kind != string(mcp.ResultComplete) {
			t.Fail("TASK-13/complete", "complete", "resultType is %s", rawjson.OrAbsent(state["resultType"]))
		}
	}
	if fault := pathFault(states); fault != "" {
		t.Fail("TASK-08/path", "the same state", "%s", fault)
	}
	last := states[len(states)-1]
	switch rawjson.Text(last["status"]) {
	case "completed":
		result, ok := rawjson.Object(last["result"])
		if fault := observe.ContentShape(result["content"]); !ok || fault != "" {
			t.Fail("TASK-08/result", "a result of tools/call", "result is %s: %s", rawjson.OrAbsent(last["result"]), fault)
		}
	case "failed":
		if fault := observe.ErrorShape(last["error"]); fault != "" || last["result"] != nil {
			t.Fail("TASK-08/error", "an error of JSON-RPC", "%s, result is %s", fault, rawjson.OrAbsent(last["result"]))
		}
	}
	return true
}

func runExtensionTaskCancel(t *engine.Trial) {
	s := tasking(t)
	eachTask(t, s, noTasks, func(_ wire.Tool, task wire.ListEntry) bool {
		id := rawjson.Text(task["taskId"])
		a, err := taskRequest(t, s, mcp.MethodTasksCancel, id)
		t.NoError(err)
		fault := ackFault(a)
		t.Check("TASK-10/ack", fault == "", `{"resultType":"complete"}`, "%s", fault)
		a, err = taskRequest(t, s, mcp.MethodTasksGet, id)
		state, _ := rawjson.Object(a.Result)
		ok := a.HasCode(err, wire.CodeInvalidParams) || slices.Contains(taskStatuses, rawjson.Text(state["status"]))
		t.Check("TASK-10/path", ok, "a task, or -32602", "%s", a.OrError(err))
		t.NoError(err)
		return true
	})
}

func runExtensionTaskNews(t *engine.Trial) {
	s := tasking(t)
	eachTask(t, s, noTasks, func(_ wire.Tool, task wire.ListEntry) bool {
		id := rawjson.Text(task["taskId"])
		sub, err := talk.Listen(t, s, map[string]any{"taskIds": []string{id}})
		t.NoError(err)
		params, _ := rawjson.Object(sub.Ack.Members["params"])
		agreed, _ := rawjson.Object(params["notifications"])
		if sub.Ack.Method() != mcp.MethodSubscriptionsAcknowledged || agreed["taskIds"] == nil || string(agreed["taskIds"]) == "[]" {
			t.SkipRest(conformance.SkipNotDeclared, "no news of tasks")
			t.NoError(sub.End(t))
			return true
		}
		var ids []string
		read := json.Unmarshal(agreed["taskIds"], &ids)
		t.Check("TASK-12/agreed", read == nil && slices.Equal(ids, []string{id}), "the task "+id, "taskIds is %s", rawjson.OrAbsent(agreed["taskIds"]))
		states, err := follow(t, s, id, asksForInput)
		t.NoError(err)
		last := states[len(states)-1]
		long := s.Timeout
		s.Timeout = min(long, wire.Lag) // the news of it may come after the answer to a poll
		_, err = s.AwaitUnsolicited(t.Ctx, func(in wire.Inbound) bool {
			params, _ := rawjson.Object(in.Members["params"])
			return in.Method() == mcp.MethodTasks && sub.Owns(in) && rawjson.Text(params["status"]) == rawjson.Text(last["status"])
		})
		s.Timeout = long
		if err != nil && !errors.Is(err, wire.ErrNoAnswer) {
			t.Stop(err)
		}
		judgeNews(t, sub, id, last)
		t.NoError(sub.End(t))
		return true
	})
}

// judgeNews judges what came for a subscription to one task.
func judgeNews(t *engine.Trial, sub *talk.Subscription, id string, last wire.ListEntry) {
	news := sub.Noted(mcp.MethodTasks)
	if len(news) == 0 {
		t.Skip("TASK-12/whole", conformance.SkipNoFixture, "no news came") // servers MAY send them
	}
	fault := ""
	for _, in := range news {
		params, _ := rawjson.Object(in.Members["params"])
		status := rawjson.Text(params["status"])
		switch {
		case rawjson.Text(params["taskId"]) != id:
			fault = "taskId is " + rawjson.OrAbsent(params["taskId"])
		case !slices.Contains(taskStatuses, status):
			fault = "status is " + rawjson.OrAbsent(params["status"])
		case timesFault(params) != "":
			fault = timesFault(params)
		case lifetimeFault(params, "ttlMs", "pollIntervalMs") != "":
			fault = lifetimeFault(params, "ttlMs", "pollIntervalMs")
		}
		for _, member := range []string{"result", "error", "inputRequests"} {
			if status == rawjson.Text(last["status"]) && (params[member] == nil) != (last[member] == nil) {
				fault = member + " is " + rawjson.OrAbsent(params[member]) + ", and in tasks/get " + rawjson.OrAbsent(last[member])
			}
		}
	}
	t.Check("TASK-12/whole", fault == "", "the task as tasks/get has it", "%s", fault)
	strange := append(sub.Noted(mcp.MethodProgress), sub.Noted(mcp.MethodMessage)...)
	t.Check("TASK-12/only", len(strange) == 0, "neither", "%d of them", len(strange))
}
