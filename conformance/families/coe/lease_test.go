package coe

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

// onPlan starts the family on a plan that is written to a file, with its states in dir.
func onPlan(t *testing.T, dir, text string) *rig {
	t.Helper()
	name := filepath.Join(t.TempDir(), "plan.md")
	require.NoError(t, os.WriteFile(name, []byte("# Shop\n\n"+text), 0o600))
	seed, err := plan.Load(name)
	require.NoError(t, err)
	l := &logs{}
	r := newRig(t, func(o *Options) { o.DataDir, o.Seed, o.Logger = dir, &seed, slog.New(slog.NewJSONHandler(l, nil)) })
	r.logs = l
	return r
}

// A state belongs to the title of a task, whatever line it is in.
func TestPlanChanged_StatesFollowTitles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := onPlan(t, dir, "- [ ] Create the schema\n- [ ] Write the API (after Create the schema)\n- [ ] Design the pages\n- [ ] API-7: Measure\n")
	before.agent = "ann"
	before.call("reportTaskDone", `{"taskId":"TASK-001","status":"done","implementationNotes":"in db/schema.sql"}`).ok()
	before.call("reportTaskStatus", `{"task_id":"TASK-002","status":"in_progress","progress_percent":40}`).ok()
	before.call("reportTaskStatus", `{"task_id":"API-7","status":"in_progress"}`).ok()
	require.NotContains(t, before.logs.String(), "coe_plan_changed")
	require.NoError(t, before.srv.close(t.Context()))

	after := onPlan(t, dir, "- [ ] Choose a name\n- [ ] Design the pages\n- [ ] Write  the api (after Create the schema)\n- [ ] Create the schema\n- [ ] API-7: Measure twice\n")
	view := after.srv.plan.View()
	byTitle := map[string]*plan.Task{}
	for _, task := range view.Queue(plan.FilterAll, plan.Holder{}) {
		byTitle[task.Title] = task
	}
	require.Equal(t, "TASK-002", byTitle["Write  the api"].ID)
	require.Equal(t, plan.InProgress, byTitle["Write  the api"].State)
	require.Equal(t, []string{"TASK-001"}, byTitle["Write  the api"].Dependencies)
	require.Equal(t, plan.Queued, byTitle["Choose a name"].State)
	require.Equal(t, plan.Queued, byTitle["Design the pages"].State)
	require.Equal(t, plan.InProgress, view.Task("API-7").State, "an id of its own is the task's, whatever its title")
	require.Equal(t, "Create the schema", view.Task("TASK-001").Title)
	require.Equal(t, plan.Done, view.Task("TASK-001").State)
	require.Equal(t, "Create the schema", view.Task(view.Task("TASK-VERIFY-001").Verifies).Title)
	require.Contains(t, after.logs.String(), `"msg":"coe_plan_changed"`)
	require.Contains(t, after.logs.String(), "Create the schema: TASK-001 instead of TASK-004")
	require.NoError(t, after.srv.close(t.Context()))

	gone := onPlan(t, dir, "- [ ] Choose a name\n- [ ] Something else\n")
	for _, task := range gone.srv.plan.View().Queue(plan.FilterAll, plan.Holder{}) {
		require.Equal(t, plan.Queued, task.State, task.Title)
	}
	require.Contains(t, gone.logs.String(), "coe_states_without_task")
}

// A report belongs to its task also when nothing else was stored of that.
func TestPlanChanged_ReportsFollowTitles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := onPlan(t, dir, "- [ ] Alpha\n- [ ] Beta\n- [ ] Delta\n")
	before.call("reportObservation", `{"taskId":"TASK-003","observation":"Delta needs a lock","type":"discovery","severity":"low"}`).ok()
	require.NoError(t, before.srv.close(t.Context()))

	after := onPlan(t, dir, "- [ ] Delta\n- [ ] Alpha\n- [ ] Gamma\n")
	view := after.srv.plan.View()
	require.Equal(t, "Delta", view.Task("TASK-003").Title)
	require.Equal(t, "Alpha", view.Task("TASK-001").Title)
	require.Equal(t, "Gamma", view.Task("TASK-004").Title, "a new task has no report")
	require.NotContains(t, after.logs.String(), "coe_states_restored", "nothing has begun")
	require.NotContains(t, after.logs.String(), "coe_states_without_task")
}

// A task that an agent has and is not heard of for longer than the lease goes to others.
func TestLease_TaskComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Lease = time.Hour })
		r.agent = "ann"
		require.Equal(t, "TASK-001", r.nextID())
		r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"in_progress"}`).ok()
		require.Equal(t, "TASK-002", r.nextID())
		r.agent = "bob"
		require.Equal(t, "TASK-003", r.nextID())
		time.Sleep(40 * time.Minute)
		require.Equal(t, "TASK-003", r.nextID(), "an agent that asks is there")
		r.agent = "ann"
		r.call("reportTaskStatus", `{"task_id":"TASK-001","progress_percent":10}`).ok()
		time.Sleep(40 * time.Minute)
		r.agent = "eve"
		require.Equal(t, "TASK-002", r.nextID(), "ann did nothing about it for 80 minutes")
		require.Equal(t, plan.InProgress, r.srv.plan.View().Task("TASK-001").State, "she has reported on it meanwhile")
		time.Sleep(2 * time.Hour)
		r.agent = "zoe"
		require.Equal(t, "TASK-001", r.nextID(), "also one in progress comes back")
		require.Contains(t, r.logs.String(), `"msg":"coe_lease_ended"`)
		require.Contains(t, r.logs.String(), `"agent_name":"ann"`)
	})
}

// Only the agent that has a task reports on it, unless its lease is over; another one takes
// it over in so many words.
func TestHeld_OnlyItsHolderReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.Lease = time.Hour })
		r.agent = "ann"
		require.Equal(t, "TASK-001", r.nextID())
		r.agent = "bob"
		r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`).number(409, "another agent has this task")
		r.call("reportTaskDone", `{"taskId":"TASK-001","status":"failed"}`).number(409, "another agent has this task")
		r.call("reportTaskCompleted", `{"task_id":"TASK-001","status":"success"}`).enveloped("INVALID_STATE")
		r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"done"}`).enveloped("INVALID_STATE")
		r.call("reportTaskDone", `{"taskId":"TASK-001","status":"blocked"}`).number(409, "another agent has this task")
		for _, way := range []string{"paused", "blocked", "failed"} {
			r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"`+way+`"}`).enveloped("INVALID_STATE")
		}
		r.call("reportTaskDone", `{"taskId":"TASK-001","status":"partial"}`).ok() // a part may be done by others
		r.call("reportTaskCompleted", `{"task_id":"TASK-001","status":"partial"}`).ok()
		require.Equal(t, "ann", r.srv.plan.View().Task("TASK-001").Holder.Agent)
		require.Equal(t, plan.Queued, r.srv.plan.View().Task("TASK-001").State)
		r.call("reportTaskDone", `{"taskId":"TASK-004","status":"done"}`).ok() // nobody has it
		r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"in_progress"}`).ok()
		r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"done"}`).ok()
		r.agent = "ann"
		hers, ok := r.nextID().(string)
		require.True(t, ok)
		time.Sleep(2 * time.Hour)
		r.agent = "eve"
		r.call("reportTaskDone", fmt.Sprintf(`{"taskId":%q,"status":"done"}`, hers)).ok()
	})
}
