package suitetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestTasks_MaySo is TestMaySo of servers whose calls become tasks.
func TestTasks_MaySo(t *testing.T) {
	t.Parallel()
	type fair struct {
		rewritten
		want   conformance.Status
		reason conformance.SkipReason
	}
	const get, list, call = mcp.MethodTasksGet, mcp.MethodTasksList, mcp.MethodToolsCall
	silent := func(when func(m fakeMessage) bool) rewritten {
		return tasked(rewritten{first: func(m fakeMessage) ([]any, bool) { return nil, when(m) }})
	}
	refusing := func(when func(m fakeMessage) bool) rewritten {
		return tasked(rewritten{first: func(m fakeMessage) ([]any, bool) {
			return []any{failure(m.id, wire.CodeInvalidParams, "no", nil)}, m.id != nil && when(m)
		}})
	}
	asTask := func(m fakeMessage) bool { return m.method == call && m.params["task"] != nil }
	marked := func(m fakeMessage) bool { return m.method == get && metaOf(m)[mcp.MetaRelatedTask] != nil }
	forgotten := false
	undeclared := func(m fakeMessage) bool {
		tasks, _ := takes(m)
		return !tasks
	}
	answers := func(m fakeMessage) bool {
		responses, _ := m.params["inputResponses"].(map[string]any)
		return m.method == mcp.MethodTasksUpdate && responses["name"] != nil
	}
	asked, late := map[any]reply{}, map[any]int{}
	cases := map[string]fair{
		"TASK-01/created": {refusing(func(m fakeMessage) bool { return asTask(m) && m.call == "work" }), conformance.Pass, ""},
		"TASK-01/times":   {refusing(asTask), conformance.Skip, conformance.SkipNoFixture},
		"TASK-01/working": {taskMade(func(task reply) { task["status"] = "input_required" }), conformance.Skip, conformance.SkipNoFixture},
		"TASK-02/times": {taskChanged(get, func(task reply) {
			at, _ := task["createdAt"].(string)
			if made, err := time.Parse(time.RFC3339Nano, at); err == nil {
				task["createdAt"] = made.In(time.FixedZone("east", 3600)).Format("2006-01-02T15:04:05.000000000Z07:00")
			}
		}), conformance.Pass, ""},
		"TASK-02/parameter": {refusing(func(m fakeMessage) bool {
			forgotten = forgotten || marked(m)
			return forgotten && m.method == get
		}), conformance.Skip, conformance.SkipPrerequisite},
		"TASK-02/final": {silent(marked), conformance.Pass, ""},
		"TASK-03/blocks": {tasked(changed(get, func(_ fakeMessage, task reply) {
			task["status"] = "completed"
		})), conformance.Skip, conformance.SkipNoFixture},
		"TASK-03/same":      {onlyOnce(), conformance.Pass, ""},
		"TASK-04/list-ends": {silent(func(m fakeMessage) bool { return m.method == list && m.params["cursor"] == nil }), conformance.Inconclusive, ""},
		"TASK-04/cancelled": {undeclaredCalls(), conformance.Skip, conformance.SkipNotDeclared},
		"TASK-04/listed":    {undeclaredCalls(), conformance.Skip, conformance.SkipNotDeclared},
		"TASK-04/unknown":   {undeclaredCalls(), conformance.Pass, ""},

		// Without a task to ask for, two rules contradict each other.
		"TASK-06/get": {tasked(rewritten{first: func(m fakeMessage) ([]any, bool) {
			switch {
			case m.method == call:
				return []any{(&fakeTask{}).outcome(m.id, "")}, true
			case m.method == get:
				return []any{failure(m.id, wire.CodeInvalidParams, "Task not found", nil)}, true
			}
			return nil, false
		}}), conformance.Pass, ""},
		"TASK-06/needed": {tasked(failing(mcp.CodeMissingRequiredClientCapability, func(m fakeMessage, e reply) {
			if m.method == call {
				e["code"] = -32050
			}
		})), conformance.Skip, conformance.SkipNoFixture},
		"TASK-06/call": {silent(func(m fakeMessage) bool { return m.call == "fails" && undeclared(m) }), conformance.Inconclusive, ""},
		"TASK-08/get":  {silent(func(m fakeMessage) bool { return m.method == get && m.params["taskId"] != fixture.NoTask }), conformance.Inconclusive, ""},
		"TASK-09/ack":  {refusing(answers), conformance.Inconclusive, ""},
		"TASK-09/answered": {tasked(changed(get, func(m fakeMessage, task reply) {
			id := m.params["taskId"]
			if task["status"] == "input_required" {
				asked[id] = maps.Clone(task)
			} else if waiting := asked[id]; waiting != nil && late[id] < 3 { // the answer takes a while to be seen
				late[id]++
				clear(task)
				maps.Copy(task, waiting)
			}
		})), conformance.Pass, ""},
		"TASK-12/agreed": {tasked(noting(mcp.MethodSubscriptionsAcknowledged, func(params reply) {
			ids := params["notifications"].(reply)["taskIds"].([]any)
			id := ids[0].(string)
			params["notifications"] = reply{"taskIds": json.RawMessage(fmt.Sprintf(`["\u%04x%s"]`, id[0], id[1:]))}
		})), conformance.Pass, ""},
	}
	for id, c := range cases {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			got := c.judge(t, id)
			require.Equal(t, c.want, got.Status, "%s %s", got.Actual, got.Detail)
			require.Equal(t, c.reason, got.Reason, got.Detail)
		})
	}
}

// onlyOnce has a tool do its work once, and say after that it is done already, in
// either way to call it.
func onlyOnce() rewritten {
	done := false
	later := map[any]bool{}
	return tasked(rewritten{after: func(m fakeMessage, r reply) []any {
		made, _ := r["result"].(reply)
		switch task, _ := made["task"].(reply); {
		case m.call == "work" && task != nil:
			later[task["taskId"]], done = done, true
		case m.call == "work" && done, m.method == mcp.MethodTasksResult && later[m.params["taskId"]]:
			made["isError"] = true
		}
		return []any{r}
	}})
}

// undeclaredCalls has tasks, and no calls that become some.
func undeclaredCalls() rewritten {
	return tasked(changed(mcp.MethodInitialize, func(_ fakeMessage, result reply) {
		delete(result["capabilities"].(reply)["tasks"].(reply), "requests")
	}))
}

// TestGuessable: an id may begin with a name and a time, as long as enough of it
// is its own.
func TestGuessable(t *testing.T) {
	t.Parallel()
	require.Empty(t, wire.Guessable([]string{"mainstay_01JD9ZQ4ZKABCDEFGHJKMNPQRS", "mainstay_01JD9ZQ4ZKTVWXYZ0123456789"}))
	require.NotEmpty(t, wire.Guessable([]string{"task-of-the-server-0001", "task-of-the-server-0002"}))
	require.NotEmpty(t, wire.Guessable([]string{"task-1", "task-2"}))
}

// TestTaskResult_ClosedStream: over HTTP a server may close the stream on which
// tasks/result waits. It is asked again when the task is over.
func TestTaskResult_ClosedStream(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel() // nothing comes later
	f := &fakeTasks{out: io.Discard, ctx: gone}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		m, ok := toFakeMessage(body)
		switch {
		case err != nil || r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case !ok || m.id == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			if answer := f.answer(m, false); answer != nil {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(rawjson.Encode(answer)) // a client that has gone reads nothing
				return
			}
			w.Header().Set("Content-Type", wire.MediaStream)
		}
	}))
	t.Cleanup(f.waiting.Wait)
	t.Cleanup(server.Close)
	report, err := runAll(t.Context(), conformance.URL(server.URL, nil), conformance.Options{
		Only: []string{"TASK-03/result", "TASK-03/again"}, Revisions: []mcp.Version{mcp.Version2025_11_25}, Answer: patience("closed"),
	})
	require.NoError(t, err)
	seen := 0
	for i := range report.Results {
		if got := &report.Results[i]; strings.HasPrefix(got.ID, "TASK-03/") && got.Status != conformance.Skip {
			require.Equal(t, conformance.Pass, got.Status, "%s: %s%s", got.ID, got.Actual, got.Detail)
			seen++
		}
	}
	require.Equal(t, 2, seen)
}
