package clientsuite

import (
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// taskScenarios are calls of the stateless era that the server makes tasks of, for
// clients that declare the extension.
func taskScenarios() []scenario {
	page := "extensions/tasks#"
	either := spec(page+"capability-negotiation", "A client that has negotiated this extension MUST be prepared to handle either CallToolResult or CreateTaskResult in response to any supported request it issues.")
	all := []scenario{
		{
			id: "C-TASK", area: stateless, title: "a call becomes a task",
			checks: []check{
				must("C-TASK-07/result", "the caller gets the result of the task", either),
				must("C-TASK-07/plain", "a call that becomes none gives its result", either),
				should("C-TASK-08/interval", "the task is not asked for sooner than the server wants", spec(page+"task-polling", "Clients SHOULD respect the pollIntervalMs provided in responses when determining polling frequency.")),
				should("C-TASK-08/end", "it is asked for until it has ended, and not after", spec(page+"task-polling", "Clients SHOULD continue polling until the task reaches a terminal status or until invoking tasks/cancel.")),
				should("C-TASK-06/declared", "each request about it declares the extension", spec(page+"protocol-errors", "Servers MUST return this error for non-declaring clients issuing tasks/get, tasks/update, and tasks/cancel requests.")),
			},
			play: playTask,
		},
		{
			id: "C-TASK-NAME", area: httpArea, title: "headers of requests about a task", transport: conformance.TransportHTTP,
			checks: []check{must("C-TASK-11/name", "Mcp-Name is the id of the task", spec(page+"streamable-http-routing-headers", "the client MUST set the Mcp-Name header to the value of params.taskId."))},
			play: func(t *trial) {
				t.makesTasks()
				t.do(call("echo", `{"text":"done"}`))
				if got := t.sent(mcp.MethodTasksGet); t.takesTasks() && t.needs(len(got) > 0, "tasks/get was not sent") {
					name, ok := decodeHeader(got[0].header.Get("Mcp-Name"))
					t.check("C-TASK-11/name", ok && name == taskID, taskID, "%q", got[0].header.Get("Mcp-Name"))
				}
			},
		},
		{
			id: "C-TASK-LIST", area: stateless, title: "a list is answered with a task",
			checks: []check{must("C-TASK-07/other", "it is no answer to that", spec(page+"capability-negotiation", "A client that receives CreateTaskResult in response to an unsupported request type MUST interpret this as an invalid response to the request."))},
			play: func(t *trial) {
				t.makesTasks()
				t.on(mcp.MethodToolsList, func(x *exchange) {
					x.bare(`{"resultType":"task","tools":[],"ttlMs":0,"cacheScope":"private",` + taskMembers("working") + `}`)
				})
				t.do(listTools(), call("write", `{}`))
				if t.takesTasks() {
					t.told("C-TASK-07/other", 0, Line.failed, "an error")
				}
			},
		},
	}
	for i := range all {
		all[i].since = mcp.Version2026_07_28
	}
	return all
}

const (
	taskID       = "786512e2-9e0d-44bd-8f29-789f320fe840"
	pollInterval = 300 * time.Millisecond
)

// taskMembers are those of a task that has a status.
func taskMembers(status string) string {
	return `"taskId":"` + taskID + `","status":"` + status + `","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":300`
}

// makesTasks has the server make tasks of calls of echo, for clients that declare
// them: one that is at work when it is first asked for, and then done.
func (t *trial) makesTasks() {
	t.tasks = true
	t.peer.capabilities = `{"tools":{},"extensions":{"` + mcp.ExtensionTasks + `":{}}}`
	t.on(mcp.MethodToolsCall, func(x *exchange) {
		if text(x.param("name")) != "echo" || !declaresTasks(x.message) {
			x.good()
			return
		}
		x.bare(`{"resultType":"task",` + taskMembers("working") + `}`)
	})
	t.on(mcp.MethodTasksGet, func(x *exchange) {
		if x.peer.next() == 1 {
			x.bare(`{"resultType":"complete",` + taskMembers("working") + `}`)
			return
		}
		x.bare(`{"resultType":"complete",` + taskMembers("completed") + `,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}}`)
	})
}

func declaresTasks(m *message) bool {
	return m.param("_meta", mcp.MetaClientCapabilities, "extensions", mcp.ExtensionTasks) != nil
}

// takesTasks reports whether the client declared the extension; else all checks
// are skipped.
func (t *trial) takesTasks() bool {
	sent := t.requestsAfter(0)
	if !t.needs(len(sent) > 0, "no request was sent") {
		return false
	}
	if slices.ContainsFunc(sent, declaresTasks) {
		return true
	}
	for _, c := range t.scenario.checks {
		t.skip(c.ID, conformance.SkipNotDeclared, "the client does not declare "+mcp.ExtensionTasks)
	}
	return false
}

func playTask(t *trial) {
	t.makesTasks()
	t.do(call("echo", `{"text":"done"}`), call("write", `{"text":"at once"}`))
	if !t.takesTasks() {
		return
	}
	t.told("C-TASK-07/result", 0, says("done"), wantsText("done"))
	t.told("C-TASK-07/plain", 1, says("at once"), wantsText("at once"))
	asked := t.sent(mcp.MethodTasksGet)
	t.check("C-TASK-08/end", len(asked) == 2, "two tasks/get", "%d", len(asked))
	if !t.needs(len(asked) > 1, "tasks/get was not sent twice") {
		return
	}
	wait := asked[1].at - asked[0].at
	t.check("C-TASK-08/interval", wait >= pollInterval-20*time.Millisecond, pollInterval.String(), "%s", wait.Round(time.Millisecond))
	undeclared := 0
	for _, m := range asked {
		if !declaresTasks(m) {
			undeclared++
		}
	}
	t.check("C-TASK-06/declared", undeclared == 0, mcp.ExtensionTasks+" in each", "%d without it", undeclared)
}
