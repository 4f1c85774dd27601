package coe

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

// nameless makes the calls that follow those of an agent without a name on stdio.
func (r *rig) nameless() { r.agent, r.session = "stdio", "" }

// What was done to tasks is there after a restart, and in another process at once.
func TestStates_SurviveAndAreShared(t *testing.T) {
	t.Parallel()
	where := onDisk(t)
	one, two := newRig(t, where), newRig(t, where)
	one.agent, two.agent = "ann", "bob"
	require.Equal(t, "TASK-001", one.nextID())
	require.Equal(t, "TASK-002", two.nextID())
	one.call("reportTaskStatus", `{"task_id":"TASK-001","status":"in_progress","progress_percent":30,"metrics":{"time_seconds":3600}}`).ok()
	got := two.call("reportTaskDone", `{"taskId":"TASK-004","status":"done","followUpTasks":[{"title":"t","why":"w"}]}`).ok()
	require.Equal(t, "TASK-VERIFY-001", dig(t, got, "verificationTaskCreated", "taskId"))
	require.Equal(t, 409.0, float64(one.call("reportTaskDone", `{"taskId":"TASK-004","status":"done"}`).failure.Code), "the other process has done it")
	one.call("reportTaskDone", `{"taskId":"TASK-003","status":"blocked","statusDetails":{"blockedReason":"no key"}}`).ok()
	got = one.call("reportTaskDone", `{"taskId":"TASK-005","status":"done","followUpTasks":[{"title":"u","why":"w"}]}`).ok()
	require.Equal(t, "TASK-VERIFY-002", dig(t, got, "verificationTaskCreated", "taskId"), "numbers are of both")
	require.NotNil(t, one.srv.plan.View().Task("TASK-090"))
	require.NoError(t, one.srv.close(t.Context()))
	require.NoError(t, two.srv.close(t.Context()))

	again := newRig(t, where)
	h := again.resource(taskRoot + "TASK-001")
	require.Equal(t, []any{"in-progress", "ann", 30.0, 1.0}, []any{h["status"], h["handedOutTo"], h["progressPercent"], h["actualHours"]})
	require.Equal(t, "no key", again.resource(taskRoot + "TASK-003")["hold"])
	require.Equal(t, "ready", again.resource(taskRoot + "TASK-034")["status"], "what waited for TASK-004")
	require.Equal(t, "u", again.resource(taskRoot + "TASK-090")["title"])
	require.Equal(t, 2, again.srv.plan.View().Counts().VerificationPending)
	again.agent = "bob"
	require.Equal(t, "TASK-034", again.nextID(), "the most urgent one comes first")
	again.call("reportTaskDone", `{"taskId":"TASK-034","status":"done"}`).ok()
	require.Equal(t, "TASK-002", again.nextID(), "bob still has it")
	again.agent = "eve"
	require.NotContains(t, []any{"TASK-001", "TASK-002", "TASK-003"}, again.nextID())
}

// A process sees what another one clears or resets.
func TestStates_AdminIsShared(t *testing.T) {
	t.Parallel()
	where := onDisk(t)
	admin := func(o *Options) { o.Admin = true }
	one, two := newRig(t, where, admin), newRig(t, where, admin)
	one.call("reportTaskDone", `{"taskId":"TASK-001","status":"done","followUpTasks":[{"title":"t","why":"w"}]}`).ok()
	require.Equal(t, "TASK-002", two.nextID())
	two.call("clearQueue", `{}`).ok()
	require.Nil(t, one.nextID())
	require.Equal(t, 0.0, newRig(t, where).next(`{}`)["queueLength"], "so does one that starts later")
	require.Equal(t, 35.0, one.call("resetPlan", `{}`).ok()["tasks"])
	require.Equal(t, "TASK-001", two.nextID())
	require.Equal(t, 35, newRig(t, where).srv.plan.View().Counts().Total)
	require.Len(t, two.records(ledger.Report), 1, "records stay")
	one.call("_test/reset", ``)
	require.Equal(t, "TASK-001", two.nextID())
	require.Empty(t, two.records(ledger.Report))
}

// An agent without a name is one of its process. When that has ended, nobody can
// come back as it, and what it had not started is free; what it had is not.
func TestHandOut_NamelessAgentOfADeadProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := spawn(t, childJob{Dir: dir, Agent: "stdio", Calls: [][2]string{
		{"getNextTask", `{}`}, {"reportTaskStatus", `{"task_id":"TASK-001","status":"in_progress"}`}, {"getNextTask", `{}`}, {"createTicket", `{"title":"x"}`},
	}, StopAt: ledger.StepCommitted})
	c.until(t, "step")
	r := newRig(t, func(o *Options) { o.DataDir = dir })
	r.nameless()
	require.Equal(t, "TASK-003", r.nextID(), "the other one has two")
	c.kill()
	require.Equal(t, "TASK-003", r.nextID(), "who has a task gets it again")
	r.agent = "ann"
	require.Equal(t, "TASK-002", r.nextID())
	require.Equal(t, "in-progress", r.resource(taskRoot + "TASK-001")["status"])
	files, err := filepath.Glob(filepath.Join(dir, "*.alive"))
	require.NoError(t, err)
	require.Len(t, files, 1, "nothing is left of the dead process")
}

// Who may only read is shown a task, and it stays free. The filters all and
// blocked show tasks, too. Anybody may take a task by reporting on it.
func TestHandOut_Lookers(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Permissions = map[string]Permission{"reader": ReadOnly} })
	r.agent = "reader"
	require.Equal(t, "TASK-001", r.nextID())
	r.agent = "ann"
	require.Equal(t, "TASK-001", dig(t, r.next(`{"filter":"all","priority":"high"}`), "task", "taskId"))
	require.Zero(t, r.srv.plan.View().Task("TASK-001").Holder)
	require.Equal(t, "TASK-001", r.nextID())
	require.Equal(t, "ready", dig(t, r.next(`{}`), "task", "status"), "handed out is not started")
	r.agent = "reader"
	require.Equal(t, "TASK-002", r.nextID())
	r.agent = "bob"
	require.Equal(t, "TASK-001", dig(t, r.next(`{"filter":"all","priority":"high"}`), "task", "taskId"), "all shows all")
	r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"in_progress"}`).ok()
	require.Equal(t, "bob", r.resource(taskRoot + "TASK-001")["handedOutTo"])
	r.agent = "ann"
	require.Equal(t, "TASK-002", r.nextID())
	require.Contains(t, r.logs.String(), `"msg":"coe_task_handed_out"`)
}

// A plan that has changed keeps what it still has, and the log names the rest.
func TestStates_ChangedPlan(t *testing.T) {
	t.Parallel()
	where := onDisk(t)
	task := func(id string) plan.Task {
		return plan.Task{ID: id, Title: id, Priority: plan.Medium, Reference: plan.Reference{PlanID: "shop"}}
	}
	r := newRig(t, where, seed(task("A"), task("B"), task("C")))
	r.call("reportTaskDone", `{"taskId":"A","status":"done"}`).ok()
	r.call("reportTaskDone", `{"taskId":"B","status":"failed","statusDetails":{"failureReason":"why"}}`).ok()
	require.NoError(t, r.srv.close(t.Context()))

	seen := &logs{}
	listen := func(o *Options) { o.Logger = slog.New(slog.NewJSONHandler(seen, nil)) }
	r = newRig(t, where, listen, seed(task("C"), task("A"), task("Z")))
	require.Equal(t, "done", r.resource(taskRoot + "A")["status"])
	require.Equal(t, "C", r.nextID())
	require.Contains(t, seen.String(), `"level":"WARN","msg":"coe_states_without_task","count":1,"tasks":["B"]`)
	require.Len(t, r.resource(taskRoot + "B")["reports"], 1, "its reports are still read")
	require.NoError(t, r.srv.close(t.Context()))

	other := task("A")
	other.Reference.PlanID = "garden"
	r = newRig(t, where, listen, seed(other))
	require.Equal(t, "A", r.nextID(), "another plan's task is another task")
	require.Contains(t, seen.String(), `"msg":"coe_states_of_other_plans"`)
	require.NoError(t, r.srv.close(t.Context()))
	require.Equal(t, "blocked", newRig(t, where, seed(task("B"))).resource(taskRoot + "B")["status"], "it comes back with its task")
}

// A folder with something in it that is no state is named, and left as it is.
func TestStates_Torn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := newRig(t, func(o *Options) { o.DataDir = dir })
	r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"in_progress"}`).ok()
	require.NoError(t, r.srv.close(t.Context()))
	file := filepath.Join(dir, "coe.db")
	db, err := sql.Open("sqlite", "file:"+file)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `UPDATE tasks SET body = '{"version":1,"sta' WHERE id = 'TASK-001'`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = New(Options{DataDir: dir})
	require.ErrorContains(t, err, "coe: "+file+": ")
	require.ErrorContains(t, err, `task TASK-001 of plan "my-app": unexpected end of JSON input`)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range left {
		require.False(t, strings.HasSuffix(f.Name(), ".alive"), "who failed to start is not there")
	}
}

// A disk that is full, or a folder that cannot be written to, fails the report:
// the answer says why, and nothing has changed.
func TestStates_NotWritten(t *testing.T) {
	t.Parallel()
	for reason, cause := range map[string]error{"the disk is full": ledger.ErrDiskFull, "the data folder is read-only": ledger.ErrReadOnly} {
		e := envelopeFailure(fmt.Errorf("x: %w", cause))
		require.ErrorContains(t, e, "The database is unavailable: "+reason)
		n := numericError(cause)
		require.Equal(t, "Service Unavailable: "+reason, n.Message)
	}
}
