package stateless

import (
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// tasks returns the scenarios of calls that become tasks, for clients that declare the
// extension.
func tasks() []trial.Scenario {
	return []trial.Scenario{
		{ID: "C-TASK", Play: playTask},
		{ID: "C-TASK-NAME", Play: playTaskName},
		{ID: "C-TASK-LIST", Play: playTaskList},
	}
}

const (
	taskID       = "786512e2-9e0d-44bd-8f29-789f320fe840"
	pollInterval = 300 * time.Millisecond
)

// taskMembers are the members of a task with a status.
func taskMembers(status string) string {
	return `"taskId":"` + taskID + `","status":"` + status + `","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":300`
}

// makeTasks has the server make tasks of the calls of echo, if the client declares the
// extension. A task works at the first poll, and is done at the second.
func makeTasks(t *trial.Trial) {
	t.Tasks = true
	t.Peer.Capabilities = `{"tools":{},"extensions":{"` + mcp.ExtensionTasks + `":{}}}`
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		if x.Tool() != "echo" || !declaresTasks(x.Message) {
			x.Default()
			return
		}
		x.Raw(`{"resultType":"task",` + taskMembers("working") + `}`)
	})
	t.On(mcp.MethodTasksGet, func(x *peer.Exchange) {
		if x.Peer.Next() == 1 {
			x.Raw(`{"resultType":"complete",` + taskMembers("working") + `}`)
			return
		}
		x.Raw(`{"resultType":"complete",` + taskMembers("completed") + `,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}}`)
	})
}

func declaresTasks(m *peer.Message) bool { return trial.Declared(m, "extensions", mcp.ExtensionTasks) }

// hasTasks reports whether the client declared the extension. If it did not, all checks are
// skipped.
func hasTasks(t *trial.Trial) bool {
	sent := t.RequestsAfter(0)
	if !t.Needs(len(sent) > 0, "no request was sent") {
		return false
	}
	if slices.ContainsFunc(sent, declaresTasks) {
		return true
	}
	t.SkipAll("the client does not declare " + mcp.ExtensionTasks)
	return false
}

func playTask(t *trial.Trial) {
	makeTasks(t)
	t.Do(trial.Call("echo", `{"text":"done"}`), trial.Call("write", `{"text":"at once"}`))
	if !hasTasks(t) {
		return
	}
	t.Reported("C-TASK-07/result", 0, trial.Result("done"))
	t.Reported("C-TASK-07/plain", 1, trial.Result("at once"))
	asked := t.Sent(mcp.MethodTasksGet)
	t.Check("C-TASK-08/end", len(asked) == 2, "two tasks/get", "%d", len(asked))
	if !t.Needs(len(asked) > 1, "tasks/get was not sent twice") {
		return
	}
	wait := asked[1].At - asked[0].At
	t.Check("C-TASK-08/interval", wait >= pollInterval-20*time.Millisecond, pollInterval.String(), "%s", wait.Round(time.Millisecond))
	undeclared := slices.DeleteFunc(asked, declaresTasks)
	t.Check("C-TASK-06/declared", len(undeclared) == 0, mcp.ExtensionTasks+" in each", "%d without it", len(undeclared))
}

func playTaskName(t *trial.Trial) {
	makeTasks(t)
	t.Do(trial.Call("echo", `{"text":"done"}`))
	if !hasTasks(t) {
		return
	}
	if got := t.HasSent(mcp.MethodTasksGet); len(got) > 0 {
		name, ok := peer.DecodeHeader(got[0].Header.Get("Mcp-Name"))
		t.Check("C-TASK-11/name", ok && name == taskID, taskID, "%q", got[0].Header.Get("Mcp-Name"))
	}
}

// playTaskList answers a list with a task.
func playTaskList(t *trial.Trial) {
	makeTasks(t)
	t.On(mcp.MethodToolsList, func(x *peer.Exchange) {
		x.Raw(`{"resultType":"task","tools":[],"ttlMs":0,"cacheScope":"private",` + taskMembers("working") + `}`)
	})
	t.Do(trial.ListTools(), trial.Call("write", `{}`))
	if hasTasks(t) {
		t.Reported("C-TASK-07/other", 0, trial.Failed("an error"))
	}
}
