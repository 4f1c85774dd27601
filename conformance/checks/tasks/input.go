package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func runExtensionTaskInput(t *engine.Trial) {
	s := tasking(t)
	eachTask(t, s, "no task asks for input", func(_ wire.Tool, task wire.ListEntry) bool {
		id := rawjson.Text(task["taskId"])
		states, err := follow(t, s, id, asksForInput)
		t.NoError(err)
		if asksForInput(states[len(states)-1]) {
			t.NoError(answerInput(t, s, id, states[len(states)-1]))
			return true
		}
		return false
	})
}

// answerInput answers what a task asks, first with what it did not ask for.
func answerInput(t *engine.Trial, s *wire.Session, id string, state wire.ListEntry) error {
	requests, _ := rawjson.Object(state["inputRequests"])
	kinds := []string{mcp.MethodElicitationCreate, mcp.MethodSamplingCreateMessage}
	fault := ""
	for _, key := range rawjson.SortedKeys(requests) {
		request, _ := rawjson.Object(requests[key])
		if !slices.Contains(kinds, rawjson.Text(request["method"])) || !rawjson.IsObject(request["params"]) {
			fault = fmt.Sprintf("%q is %s", key, rawjson.OrAbsent(requests[key]))
		}
	}
	if !t.Check("TASK-09/requests", len(requests) > 0 && fault == "", "requests for what the client declares", "inputRequests is %s %s", rawjson.OrAbsent(state["inputRequests"]), fault) {
		t.SkipRest(conformance.SkipPrerequisite, "nothing to answer")
		return nil
	}
	update := func(responses map[string]any) (wire.Answer, error) {
		return s.Request(t.Ctx, mcp.MethodTasksUpdate, map[string]any{"taskId": id, "inputResponses": responses})
	}
	a, err := update(map[string]any{"mainstay-nobody-asked": map[string]any{"action": "cancel"}})
	if err != nil {
		return err
	}
	t.Check("TASK-09/ignored", a.Err == nil, "a result", "%s", a.Describe())
	again, err := taskRequest(t, s, mcp.MethodTasksGet, id)
	if err != nil {
		return err
	}
	second, _ := rawjson.Object(again.Result)
	asked, _ := rawjson.Object(second["inputRequests"])
	fault = ""
	for _, key := range rawjson.SortedKeys(requests) {
		if raw, there := asked[key]; there && !sameResult(raw, requests[key]) {
			fault = fmt.Sprintf("%q was %s and is %s", key, requests[key], raw)
		}
	}
	t.Check("TASK-09/keys", fault == "", "the same request", "%s", fault)

	t.Step(s)
	a, err = update(taskAnswers(requests))
	if err != nil {
		return err
	}
	if a.Err != nil { // the rule is about success
		t.Inconclusive("TASK-09/ack", a.Describe())
		t.Inconclusive("TASK-09/answered", "the answer was refused: "+a.Describe())
		return nil
	}
	fault = ackFault(a)
	t.Check("TASK-09/ack", fault == "", `{"resultType":"complete"}`, "%s", fault)
	return watchKeys(t, s, id, requests)
}

// watchKeys looks whether a task asks once more with the key of a request that
// was answered. The acknowledgement is eventually consistent: until a request has
// gone it may be the same one.
func watchKeys(t *engine.Trial, s *wire.Session, id string, requests map[string]json.RawMessage) error {
	gone, reused := map[string]bool{}, ""
	var settled time.Time
	_, err := follow(t, s, id, func(task wire.ListEntry) bool {
		asked, _ := rawjson.Object(task["inputRequests"])
		for _, key := range rawjson.SortedKeys(requests) {
			raw, there := asked[key]
			if there && (gone[key] || !sameResult(raw, requests[key])) {
				reused = fmt.Sprintf("%q is asked again: %s", key, raw)
			}
			gone[key] = gone[key] || !there
		}
		for _, key := range rawjson.SortedKeys(requests) {
			if !gone[key] {
				return reused != ""
			}
		}
		if settled.IsZero() {
			settled = time.Now()
		}
		return reused != "" || time.Since(settled) > taskLinger
	})
	if reused == "" && errors.Is(err, errOngoing) && settled.IsZero() {
		t.Inconclusive("TASK-09/answered", "what was answered is still asked: "+err.Error())
		return nil
	}
	if reused == "" && err != nil && settled.IsZero() {
		return err
	}
	t.Check("TASK-09/answered", reused == "", "a task that asks something else, or nothing", "%s", reused)
	return nil
}

// taskAnswers answers requests as a user who agrees and a model that speaks.
func taskAnswers(requests map[string]json.RawMessage) map[string]any {
	out := map[string]any{}
	for key, request := range requests {
		members, _ := rawjson.Object(request)
		if rawjson.Text(members["method"]) == mcp.MethodSamplingCreateMessage {
			out[key] = talk.ModelSays
		} else {
			out[key] = map[string]any{"action": "accept", "content": talk.Asked{}.Form(members["params"])}
		}
	}
	return out
}

// ackFault says why an answer is no empty result that is complete (_meta aside),
// "" when it is one.
func ackFault(a wire.Answer) string {
	result, ok := rawjson.Object(a.Result)
	if !ok || rawjson.Text(result["resultType"]) != string(mcp.ResultComplete) {
		return a.Describe()
	}
	for _, name := range rawjson.SortedKeys(result) {
		if name != "resultType" && name != "_meta" {
			return "it has " + name + ": " + a.Describe()
		}
	}
	return ""
}
