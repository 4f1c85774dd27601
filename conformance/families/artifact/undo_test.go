package artifact

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// newUndoFlow is a flow with undo_approval, and PRD-006 approved with its three
// tasks. Text is the draft it was.
func newUndoFlow(t *testing.T) (f *flow, text string) {
	t.Helper()
	f = newFlow(t, func(o *Options) { o.Undo = true })
	text = f.family006(t)
	_, failure := f.approve(t, "PRD-006")
	require.Nil(t, failure)
	return f, text
}

func (f *flow) undo(t testing.TB, id string) (map[string]any, *family.Error) {
	t.Helper()
	return f.call(t, "undo_approval", map[string]any{"artifact_id": id})
}

// drafted asserts that an undo is done: the draft as it was, no task, no record.
func (f *flow) drafted(t testing.TB, text string) {
	t.Helper()
	f.untouched(t, "prd/PRD-006_v1", text)
	require.Empty(t, f.queued(t))
	records, err := filepath.Glob(filepath.Join(f.base, stateDir, "*.approval.json"))
	require.NoError(t, err)
	require.Empty(t, records)
}

// stands asserts that the approval holds.
func (f *flow) stands(t testing.TB) {
	t.Helper()
	require.Contains(t, f.file(t, "prd/PRD-006_v1.md"), `"Approved"`)
	require.Contains(t, f.file(t, "prd/PRD-006_v1_metadata.json"), `"status": "Approved"`)
	require.FileExists(t, filepath.Join(f.base, stateDir, "PRD-006_v1.approval.json"))
	f.settled(t)
}

func TestUndo(t *testing.T) {
	t.Parallel()
	f, text := newUndoFlow(t)
	approved := f.file(t, "prd/PRD-006_v1.md")
	ids := f.queued(t)
	require.Len(t, ids, 3)
	res, failure := f.undo(t, "PRD-006")
	require.Nil(t, failure)
	require.Len(t, res["tasks_removed"], 3)
	delete(res, "tasks_removed")
	require.Equal(t, map[string]any{
		"success": true, "artifact_id": "PRD-006", "old_status": "Approved", "new_status": "Draft",
		"artifact_path": "artifacts/prd/PRD-006_v1.md", "retired_ids": anys("HLS-001", "HLS-002", "HLS-003"),
	}, res)
	f.drafted(t, text)
	require.Len(t, f.records(t, "approval_undone"), 1)

	// It can be stored again, and approved: with other ids.
	f.put(t, text)
	res, failure = f.approve(t, "PRD-006")
	require.Nil(t, failure)
	require.Equal(t, anys("HLS-004", "HLS-005", "HLS-006"), res["sub_artifacts_detected"])
	require.NotEqual(t, approved, f.file(t, "prd/PRD-006_v1.md"))
	require.Len(t, f.queued(t), 3)
	_, failure = f.undo(t, "PRD-006")
	require.Nil(t, failure)
	f.drafted(t, text)
}

// What makes no tasks is undone by its files alone; an epic gives its PRD the
// same number again.
func TestUndoWithoutReservation(t *testing.T) {
	t.Parallel()
	f := newFlow(t, func(o *Options) { o.Undo = true })
	for id, key := range map[string]string{"ADR-001": "ADR ID", "EPIC-009": "Epic ID"} {
		f.put(t, doc("**"+key+":** "+id, "**Title:** A title", "**Status:** Draft"))
		for range 2 {
			_, failure := f.approve(t, id)
			require.Nil(t, failure)
			res, failure := f.undo(t, id)
			require.Nil(t, failure)
			require.Equal(t, []any{}, res["retired_ids"])
			require.Empty(t, f.queued(t))
		}
		f.settled(t)
	}
}

func TestUndoIsListedOnRequest(t *testing.T) {
	t.Parallel()
	names := func(f *flow) (out []string) {
		for _, tool := range f.family.Tools {
			out = append(out, tool.Name)
		}
		return out
	}
	require.Len(t, names(newFlow(t)), 6)
	require.Contains(t, names(newFlow(t, func(o *Options) { o.Undo = true })), "undo_approval")
}

// Each use of an approval keeps it, and the refusal says which.
func TestUndoIsRefused(t *testing.T) {
	t.Parallel()
	set := func(f *flow, t *testing.T, status ...string) {
		t.Helper()
		var next struct {
			Task struct {
				ID string `json:"task_id"`
			} `json:"task"`
		}
		f.ask(t, http.MethodGet, "/tasks/next?project="+strings.ReplaceAll(f.opts.ProjectID, "/", "%2F"), "", &next)
		for _, s := range status {
			f.ask(t, http.MethodPut, "/tasks/"+next.Task.ID+"/status", `{"status":"`+s+`"}`, nil)
		}
	}
	story := func(status string) string {
		return strings.Replace(doc("- **HLS ID:** HLS-050", "- **Title:** A story", "- **Status:** STATUS", "- **Parent PRD:** PRD-006"), "STATUS", status, 1)
	}
	for _, tc := range []struct {
		name   string
		use    func(f *flow, t *testing.T)
		reason string
		text   string
	}{
		{"a task in progress", func(f *flow, t *testing.T) { set(f, t, "in_progress") }, "task_begun", " for HLS-001 is in_progress"},
		{"a task completed", func(f *flow, t *testing.T) { set(f, t, "in_progress", "completed") }, "task_begun", " for HLS-001 is completed"},
		{"a sub-artifact stored", func(f *flow, t *testing.T) {
			f.put(t, strings.Replace(story("Draft"), "HLS-050", "HLS-002", 1))
		}, "sub_artifact_stored", "its sub-artifact HLS-002_v1 is stored"},
		{"approved below it", func(f *flow, t *testing.T) {
			f.put(t, story("Draft"))
			_, failure := f.approve(t, "HLS-050")
			require.Nil(t, failure)
		}, "parent_of", "HLS-050_v1 was approved below it"},
		{"an input of another task", func(f *flow, t *testing.T) {
			_, failure := f.call(t, "add_task", map[string]any{"tasks": []any{hlsTask("HLS-060", prdInput())}})
			require.Nil(t, failure)
		}, "input_of", " for HLS-060 has it as an input"},
		{"a later version", func(f *flow, t *testing.T) {
			f.put(t, strings.Replace(prdDraft("PRD-006", "", threeStories), "**Version:** 1", "**Version:** 2", 1))
		}, "not_approved", "its current version 2 is not Approved (status: Draft)"},
		{"a changed file", func(f *flow, t *testing.T) {
			require.NoError(t, os.WriteFile(filepath.Join(f.base, "prd/PRD-006_v1.md"), []byte("changed"), 0o600))
		}, "changed", "its files were changed since"},
		{"no record", func(f *flow, t *testing.T) {
			require.NoError(t, os.Remove(filepath.Join(f.base, stateDir, "PRD-006_v1.approval.json")))
		}, "no_record", "its record .state/PRD-006_v1.approval.json is gone"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, _ := newUndoFlow(t)
			tc.use(f, t)
			before, tasks := f.tree(t), f.queued(t)
			_, failure := f.undo(t, "PRD-006")
			require.NotNil(t, failure)
			require.Equal(t, int64(-32000), failure.Code)
			require.Contains(t, failure.Message, "The approval of PRD-006 cannot be undone: ")
			require.Contains(t, failure.Message, tc.text)
			require.Equal(t, tc.reason, failure.Data["reason"])
			require.Equal(t, before, f.tree(t), "nothing has changed")
			require.Equal(t, tasks, f.queued(t))
			f.settled(t)
		})
	}
	t.Run("a draft below it is no use of it", func(t *testing.T) {
		t.Parallel()
		f, text := newUndoFlow(t)
		f.put(t, story("Draft"))
		_, failure := f.undo(t, "PRD-006")
		require.Nil(t, failure)
		f.drafted(t, text)
	})
	t.Run("missing, and a bad id", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t, func(o *Options) { o.Undo = true })
		_, failure := f.undo(t, "PRD-404")
		require.Equal(t, int64(-32001), failure.Code)
		_, failure = f.undo(t, "../x")
		require.Equal(t, int64(-32602), failure.Code)
	})
	t.Run("a damaged record", func(t *testing.T) {
		t.Parallel()
		f, _ := newUndoFlow(t)
		for _, text := range []string{"", "{}", strings.Replace(f.file(t, stateDir+"/PRD-006_v1.approval.json"), `"dir":"prd"`, `"dir":"../prd"`, 1)} {
			require.NoError(t, os.WriteFile(filepath.Join(f.base, stateDir, "PRD-006_v1.approval.json"), []byte(text), 0o600))
			_, failure := f.undo(t, "PRD-006")
			require.Equal(t, int64(-32603), failure.Code)
			require.Equal(t, "record_damaged", failure.Data["reason"])
			f.stands(t)
		}
	})
}

// While nobody knows whether the tasks are gone, the artifact is approved for
// nobody, and the next call or start finds out.
func TestUndoWithServiceFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		fault     func(int, *http.Request, http.RoundTripper) (*http.Response, error)
		undecided any
		text      string
	}{
		{"the answer is lost", lostAnswer, true, "Task Tracking service is not available"},
		{"a proxy does not know", status(502, "bad gateway"), true, "Task Tracking service is not available"},
		{"the service cannot remove", status(404, "no such route"), nil, "no such route"},
		{"the key is wrong", status(401, "no"), nil, "refused the API key"},
		{"refused", status(409, "Task TASK-009 for HLS-001 is in_progress"), nil, "cannot be undone: Task TASK-009 for HLS-001 is in_progress"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, text := newUndoFlow(t)
			f.wire.on("/tasks/remove", tc.fault)
			_, failure := f.undo(t, "PRD-006")
			require.NotNil(t, failure)
			require.Contains(t, failure.Message, tc.text)
			require.Equal(t, stepRemove, failure.Data["failed_step"])
			require.Equal(t, tc.undecided, failure.Data["undecided"])
			if tc.undecided == nil {
				f.stands(t)
				require.Len(t, f.queued(t), 3)
			} else {
				f.put(t, doc("- **HLS ID:** HLS-070", "- **Title:** A story", "- **Status:** Draft", "- **Parent PRD:** PRD-006"))
				_, failure = f.approve(t, "HLS-070")
				require.Equal(t, "Parent PRD-006 must be approved first", failure.Message)
				_, failure = f.call(t, "store_artifact", map[string]any{"artifact_content": text})
				require.Equal(t, true, failure.Data["undecided"])
			}
			f.wire.heal()
			res, failure := f.undo(t, "PRD-006")
			require.Nil(t, failure)
			require.Len(t, res["tasks_removed"], 3)
			f.drafted(t, text)
		})
	}
}

func TestUndoKilledAtEachStep(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		step   string
		undone bool
	}{{stepUndo, false}, {stepRemove, true}, {stepRestore, true}, {stepForget, true}, {stepUndone, true}} {
		t.Run(tc.step, func(t *testing.T) {
			t.Parallel()
			f, text := newUndoFlow(t)
			job := childJob{f.base, f.opts.TasksURL, f.opts.IDsURL, f.opts.ProjectID, "PRD-006", "undo_approval", tc.step}
			f.kill(t, job, tc.step, 0)
			f.restart(t)
			if !tc.undone {
				f.stands(t)
				require.Len(t, f.queued(t), 3)
				_, failure := f.undo(t, "PRD-006")
				require.Nil(t, failure)
			} else {
				require.Len(t, f.records(t, "approval_recovered"), 1)
			}
			f.drafted(t, text)
			res, failure := f.approve(t, "PRD-006")
			require.Nil(t, failure)
			require.Equal(t, anys("HLS-004", "HLS-005", "HLS-006"), res["sub_artifacts_detected"])
		})
	}
}

// A task that a worker takes while an undo is open keeps the approval.
func TestUndoLosesToAWorker(t *testing.T) {
	t.Parallel()
	f, _ := newUndoFlow(t)
	f.kill(t, childJob{f.base, f.opts.TasksURL, f.opts.IDsURL, f.opts.ProjectID, "PRD-006", "undo_approval", stepRemove}, stepRemove, 0)
	require.Equal(t, []string{"HLS-001", "HLS-002", "HLS-003"}, f.work(t))
	f.restart(t)
	f.stands(t)
	require.Len(t, f.queued(t), 3)
	require.Equal(t, "approval_kept", f.records(t, "approval_recovered")[0]["outcome"])
	_, failure := f.undo(t, "PRD-006")
	require.Equal(t, "task_begun", failure.Data["reason"])
}
