package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// What the suite does with tasks, in both of their forms: those of revision
// 2025-11-25 (TASK-01 to TASK-05) and those of the extension of the stateless
// era (TASK-06 to TASK-14).

const (
	// taskLinger is how long a task that is over is looked at.
	taskLinger = 400 * time.Millisecond
	// mostTaskTools bounds how many tools a scenario makes tasks of.
	mostTaskTools = 16
)

// taskStatuses are all there are, the final ones last.
var taskStatuses = []string{"working", "input_required", "completed", "failed", "cancelled"}

// IsFinal reports whether a task of that status has ended.
func IsFinal(status string) bool { return slices.Contains(taskStatuses[2:], status) }

var (
	// errNoTask: tasks/get was answered with something else.
	errNoTask = errors.New("no task")
	// errOngoing: the suite looks at a task no longer.
	errOngoing = errors.New("the task goes on")
)

// taskOf reads the task in the answer to a call: below "task" in the session
// era, the result itself in the extension. ok is false where there is none.
func taskOf(s *wire.Session, a wire.Answer) (task wire.ListEntry, ok bool) {
	result, _ := rawjson.Object(a.Result)
	if s.Stateless == "" {
		task, _ = rawjson.Object(result["task"])
	} else if wire.ResultType(a) == mcp.ResultTask {
		task = result
	}
	return task, rawjson.Text(task["taskId"]) != ""
}

// taskArguments are arguments that fit a tool, for its first call: what is
// required. With all they are also what switches a tool on.
func taskArguments(tool wire.Tool, all bool) map[string]any {
	schema := fixture.ReadSchema(tool.InputSchema)
	arguments := schema.Object()
	for _, name := range rawjson.SortedKeys(schema.Properties) {
		if all && fixture.ReadSchema(schema.Properties[name]).Typed() == "boolean" {
			arguments[name] = true
		}
	}
	return arguments
}

// asTask calls a tool so that it may become a task.
func asTask(t *engine.Trial, s *wire.Session, tool wire.Tool, arguments map[string]any) (wire.Answer, error) {
	params := engine.CallParams(tool.Name, arguments)
	if s.Stateless == "" {
		params["task"] = map[string]any{"ttl": 60_000}
	}
	return s.Request(t.Ctx, mcp.MethodToolsCall, params)
}

// someTask has the first of some tools become a task that does; ok is false when
// none does. A server may refuse a call, for its arguments or a limit on tasks.
func someTask(t *engine.Trial, s *wire.Session, tools []wire.Tool) (by wire.Tool, task wire.ListEntry, ok bool, err error) {
	for _, by = range tools {
		t.Step(s)
		a, err := asTask(t, s, by, taskArguments(by, false))
		if err != nil {
			return by, nil, false, err
		}
		if task, ok = taskOf(s, a); ok {
			return by, task, true, nil
		}
	}
	return by, nil, false, nil
}

// taskRequest sends one of the methods of tasks.
func taskRequest(t *engine.Trial, s *wire.Session, method, id string) (wire.Answer, error) {
	return s.Request(t.Ctx, method, map[string]any{"taskId": id})
}

// resultOf asks for the result of a task that is over. A server MAY close a
// stream before the answer, and is asked once more then.
func resultOf(t *engine.Trial, s *wire.Session, id string) (wire.Answer, error) {
	a, err := taskRequest(t, s, mcp.MethodTasksResult, id)
	if cutShort(err) {
		a, err = taskRequest(t, s, mcp.MethodTasksResult, id)
	}
	return a, err
}

// cutShort: an HTTP answer ended without the response.
func cutShort(err error) bool {
	return errors.Is(err, wire.ErrNoAnswer) && !errors.Is(err, wire.ErrLate)
}

// follow polls a task until stop takes a state or the task is final, twice as
// long as it would wait for an answer, and returns the states it was in, each as
// received. The error is errNoTask or errOngoing where the server did answer.
func follow(t *engine.Trial, s *wire.Session, id string, stop func(task wire.ListEntry) bool) ([]wire.ListEntry, error) {
	var states []wire.ListEntry
	patience := 2 * s.Timeout
	deadline := time.Now().Add(patience)
	for {
		a, err := taskRequest(t, s, mcp.MethodTasksGet, id)
		task, ok := rawjson.Object(a.Result)
		switch {
		case err != nil:
			return states, err
		case !ok:
			return states, fmt.Errorf("%w: tasks/get: %s", errNoTask, a.Describe())
		}
		states = append(states, task)
		if IsFinal(rawjson.Text(task["status"])) || stop != nil && stop(task) {
			return states, nil
		}
		if time.Now().After(deadline) {
			return states, fmt.Errorf("%w: it is %s after %s", errOngoing, rawjson.OrAbsent(task["status"]), patience)
		}
		if err := wire.Pause(t.Ctx, pollInterval(task)); err != nil {
			return states, err
		}
	}
}

// pollInterval is how long to wait between polls: what the server suggests,
// within reason.
func pollInterval(task wire.ListEntry) time.Duration {
	var ms float64
	for _, name := range []string{"pollInterval", "pollIntervalMs"} {
		if raw, ok := task[name]; ok {
			_ = json.Unmarshal(raw, &ms) // judged by the scenarios
		}
	}
	return max(20*time.Millisecond, min(time.Second, time.Duration(ms)*time.Millisecond))
}

// timesFault says what is wrong with the times of a task, "" when nothing is.
func timesFault(task wire.ListEntry) string {
	for _, name := range []string{"createdAt", "lastUpdatedAt"} {
		if _, err := time.Parse(time.RFC3339, rawjson.Text(task[name])); err != nil {
			return name + " is " + rawjson.OrAbsent(task[name])
		}
	}
	return ""
}

// sameTime reports whether two times of ISO 8601 are the same, however written.
func sameTime(a, b json.RawMessage) bool {
	one, err := time.Parse(time.RFC3339, rawjson.Text(a))
	other, wrong := time.Parse(time.RFC3339, rawjson.Text(b))
	return err == nil && wrong == nil && one.Equal(other)
}

// lifetimeFault says what is wrong with how long a task is kept and how often
// it wants to be asked for, "" when nothing is.
func lifetimeFault(task wire.ListEntry, ttl, interval string) string {
	kept, there := task[ttl]
	if !there || string(kept) != "null" && (!rawjson.IsInteger(kept) || kept[0] == '-') {
		return ttl + " is " + rawjson.OrAbsent(kept)
	}
	if every, there := task[interval]; there && (!rawjson.IsInteger(every) || every[0] == '-') {
		return interval + " is " + rawjson.OrAbsent(every)
	}
	return ""
}

// pathFault says which of the steps between states is not allowed, "" when all
// are. Between two polls a task may take several steps.
func pathFault(states []wire.ListEntry) string {
	last := "working"
	for _, state := range states {
		status := rawjson.Text(state["status"])
		switch {
		case !slices.Contains(taskStatuses, status):
			return "status is " + rawjson.OrAbsent(state["status"])
		case IsFinal(last) && status != last:
			return "from " + last + " to " + status
		}
		last = status
	}
	return ""
}

// stays looks at a task that is over for a while and says what became of it, ""
// when nothing did. A server may forget a task.
func stays(t *engine.Trial, s *wire.Session, id, status string) (string, error) {
	for range 4 {
		a, err := taskRequest(t, s, mcp.MethodTasksGet, id)
		if err != nil {
			return "", err
		}
		if task, ok := rawjson.Object(a.Result); ok && rawjson.Text(task["status"]) != status {
			return "from " + status + " to " + rawjson.OrAbsent(task["status"]), nil
		}
		if err := wire.Pause(t.Ctx, taskLinger/4); err != nil {
			return "", err
		}
	}
	return "", nil
}

// outcomeFault says why two answers do not tell the same outcome of a call: a
// result that failed, one that did not, or an error of one code.
func outcomeFault(plain, deferred wire.Answer) string {
	kind := func(a wire.Answer) string {
		if a.Err != nil {
			return fmt.Sprintf("error %d", a.Err.Code)
		}
		result, _ := rawjson.Object(a.Result)
		if string(result["isError"]) == "true" {
			return "a result with isError"
		}
		return "a result"
	}
	if kind(plain) == kind(deferred) {
		return ""
	}
	return fmt.Sprintf("%s as a task, %s without one", kind(deferred), kind(plain))
}
