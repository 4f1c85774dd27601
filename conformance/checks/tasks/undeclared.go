package tasks

import (
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func runTasksUndeclared(t *engine.Trial) {
	s := tasking(t)
	// Of a task there is none, -32602 for tasks/get is a MUST as much as -32021.
	var tools []wire.Tool
	for _, tool := range t.Rev.Tools {
		if t.Rev.MayCall(tool.Name) && len(tools) < mostTaskTools {
			tools = append(tools, tool)
		}
	}
	_, task, there, err := someTask(t, s, tools)
	t.NoError(err)
	id := fixture.NoTask
	if there {
		id = rawjson.Text(task["taskId"])
	}
	s.Declares = nil
	t.Step(s)
	const missing = mcp.CodeMissingRequiredClientCapability
	data, told := "", 0
	refused := func(check string, a wire.Answer, err error) {
		ok := a.HasCode(err, missing) || check == "TASK-06/get" && !there && a.HasCode(err, wire.CodeInvalidParams)
		t.Check(check, ok, "error -32021", "%s", a.OrError(err))
		if !a.HasCode(err, missing) {
			return
		}
		told++
		members, _ := rawjson.Object(a.ErrorData())
		required, _ := rawjson.Object(members["requiredCapabilities"])
		extensions, _ := rawjson.Object(required["extensions"])
		if !rawjson.IsObject(extensions[mcp.ExtensionTasks]) && data == "" {
			data = "data is " + rawjson.OrAbsent(a.ErrorData())
		}
	}
	for _, c := range []struct{ id, method string }{
		{"TASK-06/get", mcp.MethodTasksGet}, {"TASK-06/update", mcp.MethodTasksUpdate}, {"TASK-06/cancel", mcp.MethodTasksCancel},
	} {
		params := map[string]any{"taskId": id}
		if c.method == mcp.MethodTasksUpdate {
			params["inputResponses"] = struct{}{}
		}
		t.Step(s)
		a, err := s.Request(t.Ctx, c.method, params)
		if refused(c.id, a, err); err != nil {
			t.Stop(err)
		}
	}
	t.Step(s)
	sub, err := talk.Listen(t, s, map[string]any{"taskIds": []string{id}})
	t.NoError(err)
	a := wire.ToAnswer(sub.Ack)
	if a.HasCode(nil, wire.CodeMethodNotFound) {
		t.Skip("TASK-06/listen", conformance.SkipNotDeclared, "no subscriptions")
	} else {
		refused("TASK-06/listen", a, nil)
	}
	if told == 0 {
		t.Skip("TASK-06/data", conformance.SkipPrerequisite, "nothing was refused with -32021")
	}
	t.Check("TASK-06/data", data == "", `{"requiredCapabilities":{"extensions":{"`+mcp.ExtensionTasks+`":{}}}}`, "%s", data)
	callUndeclared(t, s, refused)
}

// callUndeclared calls tools that make tasks for those who take them.
func callUndeclared(t *engine.Trial, s *wire.Session, refused func(check string, a wire.Answer, err error)) {
	takes := tasking(t)
	const missing = mcp.CodeMissingRequiredClientCapability
	asked, needed := 0, 0
	eachTask(t, takes, "", func(tool wire.Tool, _ wire.ListEntry) bool {
		t.Step(s)
		a, err := s.Request(t.Ctx, mcp.MethodToolsCall, engine.CallParams(tool.Name, taskArguments(tool, false)))
		t.NoError(err)
		asked++
		if _, made := taskOf(s, a); made || wire.ResultType(a) == mcp.ResultTask {
			t.Fail("TASK-06/call", "no task", "%s: %s", tool.Name, a.Describe())
		}
		// Another code is for what another thing has to do with, such as a limit.
		if a.HasCode(nil, missing, wire.CodeMethodNotFound, wire.CodeInvalidRequest) {
			needed++
			refused("TASK-06/needed", a, nil)
		}
		return false
	})
	if asked == 0 {
		t.Skip("TASK-06/call", conformance.SkipNoFixture, noTasks)
	}
	t.Pass("TASK-06/call")
	if needed == 0 {
		t.Skip("TASK-06/needed", conformance.SkipNoFixture, "no tool needs to be a task")
	}
}
