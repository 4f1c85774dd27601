package conformance

import "github.com/mainstay-mcp/mainstay/mcp"

func runTasksUndeclared(t *trial) error {
	s, err := t.tasking()
	if err != nil {
		return err
	}
	// Of a task there is none, -32602 for tasks/get is a MUST as much as -32021.
	var tools []tool
	for _, tool := range t.leg.tools {
		if t.leg.mayCall(tool.Name) && len(tools) < mostTaskTools {
			tools = append(tools, tool)
		}
	}
	_, task, there, err := t.someTask(s, tools)
	if err != nil {
		return err
	}
	id := noSuchTask
	if there {
		id = text(task["taskId"])
	}
	s.declares = nil
	t.step(s)
	const missing = mcp.CodeMissingRequiredClientCapability
	data, told := "", 0
	refused := func(check string, a answer, err error) {
		ok := a.hasCode(err, missing) || check == "TASK-06/get" && !there && a.hasCode(err, codeInvalidParams)
		t.check(check, ok, "error -32021", "%s", a.orError(err))
		if !a.hasCode(err, missing) {
			return
		}
		told++
		members, _ := object(a.errorData())
		required, _ := object(members["requiredCapabilities"])
		extensions, _ := object(required["extensions"])
		if !isObject(extensions[mcp.ExtensionTasks]) && data == "" {
			data = "data is " + orAbsent(a.errorData())
		}
	}
	for _, c := range []struct{ id, method string }{
		{"TASK-06/get", mcp.MethodTasksGet}, {"TASK-06/update", mcp.MethodTasksUpdate}, {"TASK-06/cancel", mcp.MethodTasksCancel},
	} {
		params := map[string]any{"taskId": id}
		if c.method == mcp.MethodTasksUpdate {
			params["inputResponses"] = struct{}{}
		}
		t.step(s)
		a, err := s.request(t.ctx, c.method, params)
		if refused(c.id, a, err); err != nil {
			return err
		}
	}
	t.step(s)
	sub, err := t.listen(s, map[string]any{"taskIds": []string{id}})
	if err != nil {
		return err
	}
	a := toAnswer(sub.ack)
	if a.hasCode(nil, codeMethodNotFound) {
		t.skip("TASK-06/listen", SkipNotDeclared, "no subscriptions")
	} else {
		refused("TASK-06/listen", a, nil)
	}
	if told == 0 {
		t.skip("TASK-06/data", SkipPrerequisite, "nothing was refused with -32021")
	}
	t.check("TASK-06/data", data == "", `{"requiredCapabilities":{"extensions":{"`+mcp.ExtensionTasks+`":{}}}}`, "%s", data)
	return t.callUndeclared(s, refused)
}

// callUndeclared calls tools that make tasks for those who take them.
func (t *trial) callUndeclared(s *session, refused func(check string, a answer, err error)) error {
	takes, err := t.tasking()
	if err != nil {
		return err
	}
	const missing = mcp.CodeMissingRequiredClientCapability
	asked, needed := 0, 0
	err = t.eachTask(takes, "", func(tool tool, _ entry) (bool, error) {
		t.step(s)
		a, err := s.request(t.ctx, mcp.MethodToolsCall, callParams(tool.Name, taskArguments(tool, false)))
		if err != nil {
			return true, err
		}
		asked++
		if _, made := taskOf(s, a); made || resultType(a) == mcp.ResultTask {
			t.fail("TASK-06/call", "no task", "%s: %s", tool.Name, a.describe())
		}
		// Another code is for what another thing has to do with, such as a limit.
		if a.hasCode(nil, missing, codeMethodNotFound, codeInvalidRequest) {
			needed++
			refused("TASK-06/needed", a, nil)
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	if asked == 0 {
		t.skip("TASK-06/call", SkipNoFixture, noTasks)
	}
	t.pass("TASK-06/call")
	if needed == 0 {
		t.skip("TASK-06/needed", SkipNoFixture, "no tool needs to be a task")
	}
	return nil
}
