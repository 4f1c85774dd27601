package coe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

// However long an agent says it took, the plan can still be written as JSON.
func TestBounds_TimeSpent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 3 {
		r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"paused","metrics":{"time_seconds":1e308}}`).ok()
	}
	r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"in_progress","metrics":{"time_seconds":1.7e308}}`).ok()
	task := dig(t, r.next(`{"filter":"all","priority":"high"}`), "task")
	require.Equal(t, "TASK-001", dig(t, task, "taskId"))
	require.Equal(t, plan.MaxHours, dig(t, task, "actualHours"))
}

func TestBounds_Arrays(t *testing.T) {
	t.Parallel()
	array := func(element string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	const followUp, failed = `{"title":"t","why":"w"}`, `{"item":"i","issue":"j","why":"w"}`
	for field, call := range map[string]struct{ tool, args, element string }{
		"followUpTasks":            {"reportTaskDone", `{"taskId":"TASK-002","status":"partial","followUpTasks":%s}`, followUp},
		"observations":             {"reportTaskDone", `{"taskId":"TASK-002","status":"partial","observations":%s}`, `"x"`},
		"verification.failedItems": {"reportVerificationResult", fmt.Sprintf(verifyArgs, "TASK-VERIFY-001", "failed", `"failedItems":%s,`, "done"), failed},
	} {
		r := verified(t)
		data := r.call(call.tool, fmt.Sprintf(call.args, array(call.element, maxItems+1))).number(400, "at most 100")
		require.Equal(t, field, data["field"])
		require.Equal(t, "length", data["reason"])
		require.Equal(t, 35, r.srv.plan.View().Counts().Total)
		r.call(call.tool, fmt.Sprintf(call.args, array(call.element, maxItems))).ok()
	}
}

// A full queue takes no more tasks, but what is in it can still be done, in
// either form.
func TestBounds_FullQueue(t *testing.T) {
	t.Parallel()
	tasks := make([]plan.Task, plan.MaxTasks)
	for i := range tasks {
		tasks[i].ID = fmt.Sprintf("T%d", i)
	}
	r := newRig(t, seed(tasks...))
	r.call("reportTaskDone", `{"taskId":"T1","status":"done","followUpTasks":[{"title":"t","why":"w"}]}`).number(503, "queue is full")
	got := r.call("reportTaskDone", `{"taskId":"T1","status":"done"}`).ok()
	require.Equal(t, "TASK-VERIFY-001", dig(t, got, "verificationTaskCreated", "taskId"))
	r.call("reportTaskStatus", `{"task_id":"T2","status":"done"}`).ok()
	r.call("reportTaskCompleted", `{"task_id":"T3","status":"success"}`).ok()
	require.Equal(t, 3, r.srv.plan.View().Counts().VerificationPending)
}
