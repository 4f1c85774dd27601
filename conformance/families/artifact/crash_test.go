package artifact

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// childEnv makes this test binary a process that approves an artifact and is
// killed while it does.
const childEnv = "MAINSTAY_TEST_APPROVER"

// childJob is what the child reads from its standard input.
type childJob struct {
	Base, TasksURL, IDsURL, Project, ID string
	// Tool is what it calls; empty is approve_artifact.
	Tool string
	// StopAt is the step at which it waits for its end; empty is none.
	StopAt string
}

// approverChild approves an artifact and says on out which steps it reached.
func approverChild(in io.Reader, out io.Writer) int {
	var job childJob
	if err := json.NewDecoder(in).Decode(&job); err != nil {
		fmt.Fprintln(out, "job:", err)
		return 2
	}
	w, err := newWorkflow(Options{BaseDir: job.Base, TasksURL: job.TasksURL, IDsURL: job.IDsURL, ProjectID: job.Project})
	if err != nil {
		fmt.Fprintln(out, "new:", err)
		return 2
	}
	fmt.Fprintln(out, "ready")
	w.approver.reached = func(step string) {
		fmt.Fprintln(out, "step", step)
		if step == job.StopAt {
			_, _ = io.Copy(io.Discard, in) // until the kill, or the end of the input
		}
	}
	tool := approveTool(w.approver)
	if job.Tool != "" {
		tool = undoTool(w.approver)
	}
	call := family.NewCall(tool.Name, json.RawMessage(`{"artifact_id":"`+job.ID+`","task_id":"wf-child"}`), slog.New(slog.DiscardHandler))
	_, err = tool.Handle(context.Background(), call) //nolint:forbidigo // it is the main function of a process
	fmt.Fprintln(out, "end", err)
	return 0
}

// A spawned child and what it says.
type spawned struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

func (f *flow) spawn(t *testing.T, job childJob) *spawned {
	t.Helper()
	data, err := json.Marshal(job)
	require.NoError(t, err)
	c := &spawned{cmd: exec.CommandContext(t.Context(), os.Args[0])}
	c.cmd.Env = append(os.Environ(), childEnv+"=1")
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.lines = bufio.NewScanner(out)
	require.NoError(t, c.cmd.Start())
	_, err = c.stdin.Write(data)
	require.NoError(t, err)
	return c
}

// until reads what the child says up to a line, which must come.
func (c *spawned) until(t *testing.T, line string) {
	t.Helper()
	for c.lines.Scan() {
		if c.lines.Text() == line {
			return
		}
		require.False(t, strings.HasPrefix(c.lines.Text(), "end"), "%q never came: %s", line, c.lines.Text())
	}
	t.Fatalf("%q never came: %v", line, c.lines.Err())
}

// goOn lets the child leave the step it stopped at.
func (c *spawned) goOn(t *testing.T) {
	t.Helper()
	require.NoError(t, c.stdin.Close())
}

// killed runs a child on an artifact and kills it: at a step where it waits, or
// with a delay on its way from there.
func (f *flow) killed(t *testing.T, id, step string, delay time.Duration) {
	t.Helper()
	job := childJob{f.base, f.opts.TasksURL, f.opts.IDsURL, f.opts.ProjectID, id, "", step}
	if delay > 0 {
		job.StopAt = ""
	}
	f.kill(t, job, step, delay)
}

// kill runs a child and kills it at a step, or with a delay after it.
func (f *flow) kill(t *testing.T, job childJob, step string, delay time.Duration) {
	t.Helper()
	c := f.spawn(t, job)
	c.until(t, "step "+step)
	<-time.After(delay)
	_ = c.cmd.Process.Kill() // it may have ended
	_ = c.cmd.Wait()
	_ = c.stdin.Close()
}

// whole asserts that an artifact is approved with its tasks, or a draft without
// any, and says which.
func (f *flow) whole(t *testing.T, id, text string) (approved bool) {
	t.Helper()
	name := filepath.Join("prd", id+"_v1")
	var tasks []queuedTask
	for _, task := range f.queued(t) {
		if task.Inputs[0].ArtifactID == id {
			tasks = append(tasks, task)
		}
	}
	if len(tasks) == 0 {
		f.untouched(t, name, text)
		return false
	}
	f.settled(t)
	require.Len(t, tasks, 3)
	document := f.file(t, name+".md")
	require.Contains(t, document, `**Status:** "Approved"`)
	require.Contains(t, f.file(t, name+"_metadata.json"), `"status": "Approved"`)
	require.Empty(t, idsOf(document, "HLS"))
	for _, task := range tasks {
		require.Contains(t, document, task.ArtifactID, "the tasks are those of the document")
	}
	return true
}

// numbered stores an approved parent and the draft of a PRD with three stories.
func (f *flow) numbered(t *testing.T, n int) (id, text string) {
	t.Helper()
	id = fmt.Sprintf("PRD-%03d", n)
	text = prdDraft(id, "- **Parent Epic:** EPIC-006", threeStories)
	f.put(t, text)
	return id, text
}

func (f *flow) afterKill(t *testing.T, id, text string) (recovered bool) {
	t.Helper()
	f.restart(t)
	recovered = f.whole(t, id, text)
	if !recovered {
		_, failure := f.approve(t, id)
		require.Nil(t, failure)
	}
	require.True(t, f.whole(t, id, text))
	_, failure := f.approve(t, id)
	require.NotNil(t, failure)
	require.Equal(t, draftStatus, failure.Data["prerequisite"])
	return recovered
}

func TestS0_APPROVE_26_KilledAtEachStep(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.put(t, epic("1", "Approved", ""))
	for i, tc := range []struct {
		step     string
		approved bool
	}{
		{stepReserve, false},
		{stepIntent, false},
		{stepWrite, false},
		{stepStatus, false},
		{stepInputs, false},
		{stepTasks, true}, // the request may be out: it is made again, and the approval ends
		{stepConfirm, true},
		{stepRecord, true},
		{stepDone, true},
	} {
		id, text := f.numbered(t, i+1)
		f.killed(t, id, tc.step, 0)
		require.Equal(t, tc.approved, f.afterKill(t, id, text), tc.step)
	}
}

// A kill at any moment, 50 times where there is time for it.
func TestS0_APPROVE_26_KilledAnywhere(t *testing.T) {
	t.Parallel()
	rounds := 4
	if os.Getenv("MAINSTAY_SOAK") != "" {
		rounds = 50
	}
	f := newFlow(t)
	f.put(t, epic("1", "Approved", ""))
	steps := []string{stepReserve, stepIntent, stepWrite, stepStatus, stepInputs, stepTasks, stepConfirm, stepRecord, stepDone}
	recovered := 0
	for i := range rounds {
		id, text := f.numbered(t, i+1)
		f.killed(t, id, steps[rand.IntN(len(steps))], time.Duration(1+rand.IntN(4000))*time.Microsecond)
		if f.afterKill(t, id, text) {
			recovered++
		}
	}
	t.Logf("%d of %d approvals had been, or were, carried to their end", recovered, rounds)
}

// While an intent is open, the artifact is approved for nobody; without the
// service nobody knows, and it stays a draft until somebody does.
func TestS0_APPROVE_26_ServiceGoneAtTheStart(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	text := f.family006(t)
	f.killed(t, "PRD-006", stepTasks, 0)
	f.wire.on("/tasks/batch", status(503, "down"))
	f.restart(t)
	require.Equal(t, text, f.file(t, "prd/PRD-006_v1.md"))
	require.Len(t, f.records(t, "approval_undecided"), 1)
	_, failure := f.approve(t, "PRD-006")
	require.NotNil(t, failure)
	require.Equal(t, int64(-32603), failure.Code)
	require.Equal(t, true, failure.Data["undecided"])
	f.wire.heal()
	res, failure := f.approve(t, "PRD-006")
	require.Nil(t, failure)
	require.Len(t, res["task_ids"], 3)
	require.True(t, f.whole(t, "PRD-006", text))
}

// The service keeps a key for a day. After that the tasks are looked for.
func TestS0_APPROVE_26_KeyForgotten(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		step     string
		approved bool
	}{{stepTasks, false}, {stepConfirm, true}} {
		f := newFlow(t, func(o *Options) { o.ProjectID = t.Name() + tc.step })
		text := f.family006(t)
		f.killed(t, "PRD-006", tc.step, 0)
		root, err := f.workflow.store.view()
		require.NoError(t, err)
		it, err := readIntent(root, "PRD-006")
		require.NoError(t, err)
		it.SentAt = it.SentAt.Add(-25 * time.Hour)
		require.NoError(t, it.save(root))
		require.NoError(t, root.Close())
		f.wire.on("/tasks/batch", status(500, "must not be asked"))
		f.restart(t)
		require.Equal(t, tc.approved, f.whole(t, "PRD-006", text), tc.step)
		require.Empty(t, f.wire.to("/tasks/batch"))
	}
}

// An intent decides which files are written, so one that is not ours is refused.
func TestIntentIsNotTrusted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `{`, `{}`, `{"stage":"prepared"}`,
		`{"stage":"prepared","artifact_id":"PRD-007","version":1,"dir":"prd","saved":{"document":"eA=="},"approved":{"document":"eA=="}}`,
		`{"stage":"prepared","artifact_id":"PRD-006","version":1,"dir":"../x","saved":{"document":"eA=="},"approved":{"document":"eA=="}}`,
		`{"stage":"prepared","artifact_id":"PRD-006","version":1,"dir":"epic","saved":{"document":"eA=="},"approved":{"document":"eA=="}}`,
		`{"stage":"prepared","artifact_id":"PRD-006","version":0,"dir":"prd","saved":{"document":"eA=="},"approved":{"document":"eA=="}}`,
		`{"stage":"done","artifact_id":"PRD-006","version":1,"dir":"prd","saved":{"document":"eA=="},"approved":{"document":"eA=="}}`,
		`{"stage":"prepared","artifact_id":"PRD-006","version":1,"dir":"prd","saved":{"document":null},"approved":{"document":"eA=="}}`,
	} {
		f := newFlow(t)
		draft := f.family006(t)
		require.NoError(t, os.WriteFile(filepath.Join(f.base, intentFile("PRD-006")), []byte(text), 0o600))
		f.restart(t)
		logged := f.records(t, "approval_not_recovered")
		require.Len(t, logged, 1, text)
		require.Contains(t, logged[0]["cause"], "intent of PRD-006: ", "what is wrong with it")
		require.Contains(t, logged[0]["error"], "damaged")
		for tool, args := range map[string]map[string]any{
			"approve_artifact": {"artifact_id": "PRD-006"}, "store_artifact": {"artifact_content": draft},
		} {
			_, failure := f.call(t, tool, args)
			require.NotNil(t, failure, text)
			require.Equal(t, int64(-32603), failure.Code)
			require.Equal(t, "Internal error: the record of the open approval of PRD-006 is damaged; "+
				"the artifact is blocked until .state/PRD-006.intent.json is repaired or removed", failure.Message)
			require.Equal(t, "intent_damaged", failure.Data["reason"])
			require.Equal(t, "PRD-006", failure.Data["artifact_id"])
		}
		require.Equal(t, draft, f.file(t, "prd/PRD-006_v1.md"))
		require.Empty(t, f.queued(t))
	}
}

// A start that has no time left asks nobody, and leaves drafts.
func TestRecoverWithoutTime(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	text := f.family006(t)
	f.killed(t, "PRD-006", stepConfirm, 0)
	require.Contains(t, f.file(t, "prd/PRD-006_v1.md"), "Approved")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.wire.on("/tasks/batch", nil)
	f.wire.heal()
	require.NoError(t, f.approver.recover(ctx))
	require.Empty(t, f.wire.sent)
	require.Equal(t, text, f.file(t, "prd/PRD-006_v1.md"))
	f.restart(t)
	require.True(t, f.whole(t, "PRD-006", text))
}
