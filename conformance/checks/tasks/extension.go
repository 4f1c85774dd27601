package tasks

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/lists"
	"github.com/mainstay-mcp/mainstay/conformance/internal/nosuch"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/conformance/internal/sample"
	"github.com/mainstay-mcp/mainstay/conformance/internal/subscription"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
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
func extensionTaskScenarios() []conformance.Scenario {
	const (
		negotiation = taskExtensionPage + "#capability-negotiation"
		creation    = taskExtensionPage + "#task-creation"
		polling     = taskExtensionPage + "#task-polling"
		updates     = taskExtensionPage + "#task-update-requests"
		cancelling  = taskExtensionPage + "#task-cancellation"
		news        = taskExtensionPage + "#task-status-notifications"
		refusals    = taskExtensionPage + "#protocol-errors"
		nonDeclared = "Servers MUST return this error for non-declaring clients issuing tasks/get, tasks/update, and tasks/cancel requests."
		variant     = "The response carries the appropriate response variant for the task's current status"
	)
	all := []conformance.Scenario{
		{
			ID: "TASK-06", Title: "a client that does not take tasks",
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "TASK-06/call", "its calls do not become tasks", negotiation, "A server MUST NOT return CreateTaskResult to a client that did not include the extension capability on its request, regardless of prior declarations."),
				rule.Quoted(conformance.Must, "TASK-06/needed", "what has to be a task is refused with -32021", negotiation, "the server MUST return an error with the code -32021 (Missing Required Client Capability), indicating the required extension in the error response"),
				rule.Quoted(conformance.Must, "TASK-06/get", "tasks/get is refused with -32021", refusals, nonDeclared),
				rule.Quoted(conformance.Must, "TASK-06/update", "so is tasks/update", refusals, nonDeclared),
				rule.Quoted(conformance.Must, "TASK-06/cancel", "so is tasks/cancel", refusals, nonDeclared),
				rule.Quoted(conformance.Must, "TASK-06/data", "data.requiredCapabilities names the extension", negotiation, "indicating the required extension in the error response"),
				rule.Quoted(conformance.Must, "TASK-06/listen", "a subscription to tasks is refused with -32021", refusals, "Servers MUST return this error for non-declaring clients requesting task notifications on subscriptions/listen."),
			},
			Run: runTasksUndeclared,
		},
		{
			ID: "TASK-07", Title: "a call becomes a task of the extension",
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "TASK-07/flat", "it is a result with a taskId and one of five states", creation, "type CreateTaskResult = Result & Task;"),
				rule.Quoted(conformance.Must, "TASK-07/times", "createdAt and lastUpdatedAt are times of ISO 8601", taskExtensionPage+"#tasks", "ISO 8601 timestamp when the task was created."),
				rule.Quoted(conformance.Must, "TASK-07/ttl", "ttlMs is an integer or null, pollIntervalMs an integer", taskExtensionPage+"#tasks", "Time-to-live duration from creation in integer milliseconds, null for unlimited."),
				rule.Quoted(conformance.Must, "TASK-07/durable", "tasks/get finds it at once", creation, "A server MUST NOT return CreateTaskResult until the task is durably created — that is, until a tasks/get for the returned taskId would resolve."),
				rule.Quoted(conformance.Must, "TASK-07/unique", "each task has an id of its own", taskExtensionPage+"#tasks", "Stable identifier for this task."),
				rule.Quoted(conformance.Must, "TASK-07/unguessable", "ids are long and have nothing in common", taskExtensionPage+"#security-considerations", "Servers MUST generate them with sufficient entropy that a third party cannot enumerate or guess them."),
			},
			Run: runExtensionTask,
		},
		{
			ID: "TASK-08", Title: "the state of a task of the extension",
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "TASK-08/get", "tasks/get gives the task, in one of the five states", polling, variant),
				rule.Quoted(conformance.Must, "TASK-13/complete", "its resultType is complete", polling, "The resultType field MUST be set to \"complete\" on this object as it is the standard result shape for the tasks/get request."),
				rule.House("TASK-08/path", "a task that is over stays as it is", conformance.Spec{Section: taskExtensionPage + "#task-status", Quote: "terminal --> [*] … Terminal states: • completed • failed • cancelled"}),
				rule.Quoted(conformance.Must, "TASK-08/result", "a completed task has the result of the call", polling, "If the status is completed, the server MUST return a Task object with status completed and a result field containing the final result of the task."),
				rule.Quoted(conformance.Must, "TASK-08/error", "a failed task has an error, not a result", polling, "If the status is failed, the server MUST return a Task object with status failed and the error that occurred during execution."),
				rule.Quoted(conformance.Must, "TASK-08/unknown", "an id that is none is refused with -32602", refusals, "Servers MUST return this error for tasks/get."),
				rule.Quoted(conformance.Should, "TASK-08/unknown-update", "in tasks/update, too", refusals, "Servers SHOULD return this error for tasks/update and tasks/cancel."),
				rule.Quoted(conformance.Should, "TASK-08/unknown-cancel", "and in tasks/cancel", refusals, "Servers SHOULD return this error for tasks/update and tasks/cancel."),
			},
			Run: runExtensionTaskState,
		},
		{
			ID: "TASK-09", Title: "a task of the extension asks for input",
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "TASK-09/requests", "inputRequests has requests that the client can answer", polling, "If the status is input_required, the server MUST return a Task object with status input_required and an inputRequests field"),
				rule.Quoted(conformance.Must, "TASK-09/keys", "a key stands for the same request each time", updates, "MUST NOT use the same key to refer to two distinct requests over a task's lifetime."),
				rule.Quoted(conformance.Should, "TASK-09/ignored", "an answer nobody asked for is ignored", updates, "A server SHOULD ignore any inputResponses responses mapped to a key that is not currently outstanding for the task"),
				rule.Quoted(conformance.Must, "TASK-09/ack", "tasks/update is answered with an empty result that is complete", updates, "On success, the server MUST acknowledge the request with an empty result."),
				rule.Quoted(conformance.Must, "TASK-09/answered", "what is answered is not asked again", updates, "A server MUST NOT reuse a key for a subsequent server-to-client request after a response for that key has been delivered"),
			},
			Run: runExtensionTaskInput,
		},
		{
			ID: "TASK-10", Title: "a task of the extension is cancelled",
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "TASK-10/ack", "tasks/cancel is answered with an empty result that is complete", cancelling, "On success, the server MUST acknowledge the request with an empty result."),
				rule.Quoted(conformance.Must, "TASK-10/path", "the task is still one, or forgotten", taskExtensionPage+"#task-status", "cancelled: The request was cancelled before completion."),
			},
			Run: runExtensionTaskCancel,
		},
		{
			ID: "TASK-12", Title: "news of a task of the extension",
			Checks: []conformance.Check{
				rule.Quoted(conformance.Must, "TASK-12/agreed", "the acknowledgement names only tasks that were asked for", news, "the server includes the list of task IDs it has agreed to send task status notifications for, if any"),
				rule.Quoted(conformance.Must, "TASK-12/whole", "news have the whole task, as tasks/get", news, "Each notification carries a complete DetailedTask for the current status, identical to what tasks/get would have returned at that moment."),
				rule.Quoted(conformance.Must, "TASK-12/only", "no progress and no log messages come with them", news, "notifications/progress and notifications/message notifications MUST NOT be sent on the subscriptions/listen stream for a task"),
			},
			Run: runExtensionTaskNews,
		},
	}
	for i := range all {
		all[i].Area, all[i].Since, all[i].Needs.Extension = "tasks", mcp.Version2026_07_28, mcp.ExtensionTasks
	}
	return all
}

// tasking returns a session that declares the extension.
func tasking(t *conformance.Trial) (*wire.Session, error) {
	s, err := t.Raw()
	if err != nil {
		return nil, err
	}
	s.Declares = declaringTasks
	if err := s.Handshake(t.Ctx, t.Rev.Asked); err != nil {
		return nil, err
	}
	t.Step(s)
	return s, nil
}

// eachTask calls the tools that may be called, until use says that it is
// done with a task that one of them made. Checks that are open then had no task
// to judge, and are skipped for the reason given.
func eachTask(t *conformance.Trial, s *wire.Session, otherwise string, use func(tool lists.Tool, task lists.Entry) (done bool, err error)) error {
	tools := sample.Callable(t)
	for _, tool := range tools[:min(len(tools), mostTaskTools)] {
		t.Step(s)
		a, err := asTask(t, s, tool, taskArguments(tool, false))
		if err != nil {
			return err
		}
		task, ok := taskOf(s, a)
		if !ok {
			continue
		}
		if done, err := use(tool, task); done || err != nil {
			return err
		}
	}
	if otherwise != "" {
		rule.SkipAll(t, conformance.SkipNoFixture, otherwise)
	}
	return nil
}

func runExtensionTask(t *conformance.Trial) error {
	s, err := tasking(t)
	if err != nil {
		return err
	}
	return eachTask(t, s, noTasks, func(tool lists.Tool, task lists.Entry) (bool, error) {
		id := rawjson.Text(task["taskId"])
		got, err := taskRequest(t, s, mcp.MethodTasksGet, id)
		same, _ := rawjson.Object(got.Result)
		t.Check("TASK-07/durable", err == nil && rawjson.Text(same["taskId"]) == id, "the task "+id, "%s", got.OrError(err))
		if err != nil {
			return true, err
		}
		t.Check("TASK-07/flat", slices.Contains(taskStatuses, rawjson.Text(task["status"])), "a status", "status is %s", rawjson.OrAbsent(task["status"]))
		fault := timesFault(task)
		t.Check("TASK-07/times", fault == "", "two times", "%s", fault)
		fault = lifetimeFault(task, "ttlMs", "pollIntervalMs")
		t.Check("TASK-07/ttl", fault == "", "integers, or null for no limit", "%s", fault)
		return true, judgeTaskIDs(t, s, tool, id, "TASK-07/unique", "TASK-07/unguessable")
	})
}

func runExtensionTaskState(t *conformance.Trial) error {
	s, err := tasking(t)
	if err != nil {
		return err
	}
	for _, c := range []struct{ id, method string }{
		{"TASK-08/unknown", mcp.MethodTasksGet}, {"TASK-08/unknown-update", mcp.MethodTasksUpdate}, {"TASK-08/unknown-cancel", mcp.MethodTasksCancel},
	} {
		params := map[string]any{"taskId": nosuch.Task}
		if c.method == mcp.MethodTasksUpdate {
			params["inputResponses"] = struct{}{}
		}
		t.Step(s)
		a, err := s.Request(t.Ctx, c.method, params)
		t.Check(c.id, a.HasCode(err, wire.CodeInvalidParams), "error -32602", "%s", a.OrError(err))
		if err != nil {
			return err
		}
	}
	ends := map[string]bool{}
	err = eachTask(t, s, "", func(_ lists.Tool, task lists.Entry) (bool, error) {
		id := rawjson.Text(task["taskId"])
		states, err := follow(t, s, id, asksForInput)
		if len(states) == 0 && !errors.Is(err, errNoTask) {
			return true, err
		}
		if !judgeStates(t, id, states) || err != nil {
			return true, err
		}
		last := states[len(states)-1]
		ends[rawjson.Text(last["status"])] = true
		if !IsFinal(rawjson.Text(last["status"])) {
			return false, nil
		}
		fault, err := stays(t, s, id, rawjson.Text(last["status"]))
		if fault != "" {
			t.Fail("TASK-08/path", "the same state", "%s", fault)
		}
		return ends["completed"] && ends["failed"], err
	})
	if err != nil {
		return err
	}
	for status, id := range map[string]string{"completed": "TASK-08/result", "failed": "TASK-08/error"} {
		if !ends[status] {
			t.Skip(id, conformance.SkipNoFixture, "no task is "+status)
		}
	}
	if len(ends) == 0 {
		rule.SkipAll(t, conformance.SkipNoFixture, noTasks)
	}
	for _, c := range t.Scenario.Checks { // what nothing broke
		t.Pass(c.ID)
	}
	return nil
}

// judgeStates fails what the states of a task break, and reports whether there
// are any.
func judgeStates(t *conformance.Trial, id string, states []lists.Entry) bool {
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

func runExtensionTaskCancel(t *conformance.Trial) error {
	s, err := tasking(t)
	if err != nil {
		return err
	}
	return eachTask(t, s, noTasks, func(_ lists.Tool, task lists.Entry) (bool, error) {
		id := rawjson.Text(task["taskId"])
		a, err := taskRequest(t, s, mcp.MethodTasksCancel, id)
		if err != nil {
			return true, err
		}
		fault := ackFault(a)
		t.Check("TASK-10/ack", fault == "", `{"resultType":"complete"}`, "%s", fault)
		a, err = taskRequest(t, s, mcp.MethodTasksGet, id)
		state, _ := rawjson.Object(a.Result)
		ok := a.HasCode(err, wire.CodeInvalidParams) || slices.Contains(taskStatuses, rawjson.Text(state["status"]))
		t.Check("TASK-10/path", ok, "a task, or -32602", "%s", a.OrError(err))
		return true, err
	})
}

func runExtensionTaskNews(t *conformance.Trial) error {
	s, err := tasking(t)
	if err != nil {
		return err
	}
	return eachTask(t, s, noTasks, func(_ lists.Tool, task lists.Entry) (bool, error) {
		id := rawjson.Text(task["taskId"])
		sub, err := subscription.Listen(t, s, map[string]any{"taskIds": []string{id}})
		if err != nil {
			return true, err
		}
		params, _ := rawjson.Object(sub.Ack.Members["params"])
		agreed, _ := rawjson.Object(params["notifications"])
		if sub.Ack.Method() != mcp.MethodSubscriptionsAcknowledged || agreed["taskIds"] == nil || string(agreed["taskIds"]) == "[]" {
			rule.SkipAll(t, conformance.SkipNotDeclared, "no news of tasks")
			return true, sub.End(t)
		}
		var ids []string
		read := json.Unmarshal(agreed["taskIds"], &ids)
		t.Check("TASK-12/agreed", read == nil && slices.Equal(ids, []string{id}), "the task "+id, "taskIds is %s", rawjson.OrAbsent(agreed["taskIds"]))
		states, err := follow(t, s, id, asksForInput)
		if err != nil {
			return true, err
		}
		last := states[len(states)-1]
		long := s.Wait
		s.Wait = min(long, wire.Lag) // the news of it may come after the answer to a poll
		_, err = s.Note(t.Ctx, func(in wire.Inbound) bool {
			params, _ := rawjson.Object(in.Members["params"])
			return in.Method() == mcp.MethodTasks && sub.Owns(in) && rawjson.Text(params["status"]) == rawjson.Text(last["status"])
		})
		s.Wait = long
		if err != nil && !errors.Is(err, wire.ErrNoAnswer) {
			return true, err
		}
		judgeNews(t, sub, id, last)
		return true, sub.End(t)
	})
}

// judgeNews judges what came for a subscription to one task.
func judgeNews(t *conformance.Trial, sub *subscription.Subscription, id string, last lists.Entry) {
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
