package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// taskResultScenarios are about how a task of revision 2025-11-25 ends, and what
// it asks for before.
func taskResultScenarios() []engine.Scenario {
	return []engine.Scenario{
		{ID: "TASK-03", Needs: engine.Needs{Capability: tasksOfCalls}, Run: runTaskResult},
		{ID: "META-09", Needs: engine.Needs{Capability: tasksOfCalls}, Run: runTaskAsks},
	}
}

// deferredOutcome is a task that has ended, and what tasks/result said.
type deferredOutcome struct {
	id, status string
	result     wire.Answer
	early      string // the status tasks/get told after the answer had come
	watched    bool   // it was seen before its end, while tasks/result had no answer or one too early
}

// conclude makes a task of a call, asks for its result at once and polls until
// it is over. The outcome is nil for a task that cannot end without input.
func conclude(t *engine.Trial, s *wire.Session, tool wire.Tool, arguments map[string]any) (*deferredOutcome, error) {
	a, err := asTask(t, s, tool, arguments)
	if err != nil {
		return nil, err
	}
	task, ok := taskOf(s, a)
	if !ok {
		return nil, nil
	}
	out := &deferredOutcome{id: rawjson.Text(task["taskId"])}
	waiting, err := postSoon(t, s, mcp.MethodTasksResult, map[string]any{"taskId": out.id})
	if err != nil {
		return nil, err
	}
	come := func() bool {
		for _, in := range s.Unclaimed {
			if in.IsResponse() && in.ID() == waiting {
				return true
			}
		}
		return false
	}
	had := false
	states, err := follow(t, s, out.id, func(task wire.ListEntry) bool {
		if had && !IsFinal(rawjson.Text(task["status"])) {
			out.early = rawjson.Text(task["status"])
		}
		had = come()
		return asksForInput(task)
	})
	if err != nil {
		return nil, err
	}
	out.status = rawjson.Text(states[len(states)-1]["status"])
	if !IsFinal(out.status) {
		return nil, nil
	}
	out.watched = len(states) > 1
	if out.result, err = s.Await(t.Ctx, waiting); cutShort(err) {
		out.result, err = resultOf(t, s, out.id)
	}
	return out, err
}

// postSoon posts a request whose answer may take long: over HTTP not even the
// headers of an answer need come before it.
func postSoon(t *engine.Trial, s *wire.Session, method string, params any) (string, error) {
	long := s.Timeout
	s.Timeout = min(long, wire.Lag)
	id := s.NewID()
	_, err := s.Send(t.Ctx, s.Message(id, method, params))
	s.Timeout = long
	if errors.Is(err, wire.ErrNoAnswer) {
		err = nil
	}
	return id, err
}

func runTaskResult(t *engine.Trial) {
	s := t.Shared()
	a, err := taskRequest(t, s, mcp.MethodTasksResult, fixture.NoTask)
	t.Check("TASK-03/unknown", a.HasCode(err, wire.CodeInvalidParams), "error -32602", "%s", a.OrError(err))
	tools := taskTools(t, mayBeTasks)
	if err != nil || len(tools) == 0 {
		t.NoError(err)
		return
	}
	ended, watched, compared := 0, 0, 0
	for _, tool := range tools {
		t.Step(s)
		out, err := conclude(t, s, tool, taskArguments(tool, false))
		if errors.Is(err, wire.ErrLate) && out != nil {
			t.Fail("TASK-03/result", "an answer to tasks/result of a task that is "+out.status, "%v", err)
		}
		t.NoError(err)
		if out == nil {
			continue
		}
		ended++
		if out.watched {
			watched++
		}
		judgeOutcome(t, s, out)
		if tool.TaskSupport() != "optional" || out.status == "cancelled" {
			continue
		}
		same := sameOutcome(t, s, tool, out)
		if same {
			compared++
		}
	}
	if ended == 0 {
		t.SkipRest(conformance.SkipNoFixture, "no task came to an end")
		return
	}
	if compared == 0 {
		t.Skip("TASK-03/same", conformance.SkipNoFixture, "no tool that may be called either way and has an outcome of its own")
	}
	if watched == 0 {
		t.Skip("TASK-03/blocks", conformance.SkipNoFixture, "every task was over when it was first looked at")
	}
	for _, c := range t.Scenario.Checks { // what nothing broke
		t.Pass(c.ID)
	}
}

// sameOutcome reports whether a call ends without a task as it did with one, and
// fails what tells that it does not. A tool may have a state, or leave its
// outcome to chance: only one that ends twice the same as a task is judged.
func sameOutcome(t *engine.Trial, s *wire.Session, by wire.Tool, out *deferredOutcome) bool {
	plain, err := s.Request(t.Ctx, mcp.MethodToolsCall, engine.CallParams(by.Name, taskArguments(by, false)))
	t.NoError(err)
	fault := outcomeFault(plain, out.result)
	if fault == "" {
		return true
	}
	once, err := conclude(t, s, by, taskArguments(by, false))
	if err != nil || once == nil {
		t.NoError(err)
		return false
	}
	if outcomeFault(out.result, once.result) == "" {
		t.Fail("TASK-03/same", "the same outcome", "%s: %s", by.Name, fault)
	}
	return false
}

// judgeOutcome fails what the end of one task breaks.
func judgeOutcome(t *engine.Trial, s *wire.Session, out *deferredOutcome) {
	if out.early != "" {
		t.Fail("TASK-03/blocks", "no answer before the end", "tasks/result was answered, and the task then %s", out.early)
	}
	result, isResult := rawjson.Object(out.result.Result)
	fault := ""
	if isResult {
		fault = observe.ContentShape(result["content"])
	}
	if fault != "" || !isResult && out.result.Err == nil {
		t.Fail("TASK-03/result", "a result of tools/call, or an error", "%s %s", fault, out.result.Describe())
	}
	if isResult {
		meta, _ := rawjson.Object(result["_meta"])
		of, _ := rawjson.Object(meta[mcp.MetaRelatedTask])
		if rawjson.Text(of["taskId"]) != out.id {
			t.Fail("META-09/result", fmt.Sprintf(`{"taskId":%q}`, out.id), "_meta %s is %s", mcp.MetaRelatedTask, rawjson.OrAbsent(meta[mcp.MetaRelatedTask]))
		}
	}
	bad := out.result.Err != nil || string(result["isError"]) == "true"
	if bad != (out.status == "failed") && out.status != "cancelled" {
		t.Fail("TASK-05/failed", "failed for an error or isError, else completed", "the task is %s: %s", out.status, out.result.Describe())
	}
	again, err := resultOf(t, s, out.id)
	t.NoError(err)
	same := out.result.Err == nil && again.Err == nil && sameResult(out.result.Result, again.Result) ||
		out.result.Err != nil && again.Err != nil && out.result.Err.Code == again.Err.Code
	forgotten := again.HasCode(nil, wire.CodeInvalidParams) // the ttl is the server's to choose
	if !same && !forgotten {
		t.Fail("TASK-03/again", out.result.Describe(), "%s", again.Describe())
	}
}

// sameResult reports whether two results are the same but for _meta.
func sameResult(a, b json.RawMessage) bool {
	var one, other map[string]any
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &other) != nil {
		return bytes.Equal(a, b)
	}
	delete(one, "_meta")
	delete(other, "_meta")
	return reflect.DeepEqual(one, other)
}

func runTaskAsks(t *engine.Trial) {
	tools := taskTools(t, mayBeTasks)
	if len(tools) == 0 {
		return
	}
	s := t.Raw()
	s.Declares = map[string]any{"elicitation": struct{}{}, "sampling": struct{}{}}
	s.Answers = map[string]func(wire.Inbound) (any, *wire.RPCError){
		mcp.MethodSamplingCreateMessage: func(wire.Inbound) (any, *wire.RPCError) { return talk.ModelSays, nil },
		mcp.MethodElicitationCreate: func(in wire.Inbound) (any, *wire.RPCError) {
			return map[string]any{"action": "accept", "content": talk.Asked{}.Form(in.Members["params"])}, nil
		},
	}
	t.NoError(s.Handshake(t.Ctx, t.Rev.Asked))
	t.Step(s)
	for _, tool := range tools {
		for _, all := range []bool{false, true} {
			found := answerTask(t, s, tool, taskArguments(tool, all))
			if found {
				judgeStatusNews(t, s)
				return
			}
		}
	}
	judgeStatusNews(t, s)
	t.SkipRest(conformance.SkipNoFixture, "no task asks for anything")
}

// answerTask runs one task whose questions are answered, and reports whether
// there were any.
func answerTask(t *engine.Trial, s *wire.Session, tool wire.Tool, arguments map[string]any) bool {
	a, err := asTask(t, s, tool, arguments)
	t.NoError(err)
	task, ok := taskOf(s, a)
	if !ok {
		return false
	}
	id := rawjson.Text(task["taskId"])
	states, err := follow(t, s, id, asksForInput)
	t.NoError(err)
	waited := asksForInput(states[len(states)-1])
	if waited {
		// A server may ask on the stream of tasks/result alone.
		_, err := postSoon(t, s, mcp.MethodTasksResult, map[string]any{"taskId": id})
		t.NoError(err)
		ends, err := follow(t, s, id, nil)
		if err != nil && len(ends) == 0 {
			t.Stop(err)
		}
		t.Check("TASK-02/resumes", err == nil, "a task that goes on", "%v", err)
	}
	var questions []wire.Inbound
	for _, method := range []string{mcp.MethodElicitationCreate, mcp.MethodSamplingCreateMessage} {
		questions = append(questions, s.Notifications(method)...)
	}
	if len(questions) == 0 {
		return false
	}
	t.Check("TASK-02/input", waited, "input_required", "the task asked for %s and was never input_required", questions[0].Method())
	if !waited {
		t.Skip("TASK-02/resumes", conformance.SkipPrerequisite, "the task was never input_required")
	}
	for _, in := range questions {
		params, _ := rawjson.Object(in.Members["params"])
		meta, _ := rawjson.Object(params["_meta"])
		of, _ := rawjson.Object(meta[mcp.MetaRelatedTask])
		if rawjson.Text(of["taskId"]) != id {
			t.Fail("META-09/asks", fmt.Sprintf(`{"taskId":%q}`, id), "_meta %s of %s is %s", mcp.MetaRelatedTask, in.Method(), rawjson.OrAbsent(meta[mcp.MetaRelatedTask]))
		}
	}
	t.Pass("META-09/asks")
	return true
}

// judgeStatusNews looks at the news of tasks that came by themselves.
func judgeStatusNews(t *engine.Trial, s *wire.Session) {
	news := s.Notifications(mcp.MethodTasksStatus)
	if len(news) == 0 {
		t.Skip("META-09/status", conformance.SkipNotDeclared, "no "+mcp.MethodTasksStatus)
	}
	for _, in := range news {
		params, _ := rawjson.Object(in.Members["params"])
		meta, _ := rawjson.Object(params["_meta"])
		if raw, there := meta[mcp.MetaRelatedTask]; there {
			t.Fail("META-09/status", "nothing", "_meta %s is %s", mcp.MetaRelatedTask, rawjson.OrAbsent(raw))
		}
	}
	t.Pass("META-09/status")
}
