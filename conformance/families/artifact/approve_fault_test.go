package artifact

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

func TestS0_APPROVE_21_IDServiceDown(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	text := f.family006(t)
	for name, fault := range map[string]func(int, *http.Request, http.RoundTripper) (*http.Response, error){
		"refused": func(int, *http.Request, http.RoundTripper) (*http.Response, error) { return nil, syscall.ECONNREFUSED },
		"503":     status(503, "secret text"),
		"no range": func(_ int, r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			return answer(r, 200, `{"reservation_id":"x","reserved_ids":["HLS-001"]}`), nil
		},
		"not ids": func(_ int, r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			return answer(r, 200, `{"reservation_id":"x","reserved_ids":["../1","HLS-2","US-003"]}`), nil
		},
	} {
		f.wire.on("/ids/reserve", fault)
		_, failure := f.approve(t, "PRD-006")
		require.NotNil(t, failure, name)
		require.Equal(t, int64(-32603), failure.Code, name)
		require.NotContains(t, failure.Message, "secret")
		f.untouched(t, "prd/PRD-006_v1", text)
		require.Empty(t, f.wire.to("/tasks/batch"))
	}
}

func TestS0_APPROVE_22_TaskServiceRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status, attempts int
		code             int64
		text             string
	}{
		{400, 1, -32602, "Invalid params: the queue is closed"},
		{401, 1, -32000, "Permission denied: the Task Tracking service refused the API key"},
		{500, 3, -32603, "Internal error: the Task Tracking service is not available"},
	} {
		f := newFlow(t, func(o *Options) { o.ProjectID += http.StatusText(tc.status) })
		text := f.family006(t)
		f.wire.on("/tasks/batch", status(tc.status, "the queue is closed"))
		_, failure := f.approve(t, "PRD-006")
		require.NotNil(t, failure)
		require.Equal(t, tc.code, failure.Code)
		require.Equal(t, tc.text, failure.Message)
		require.Equal(t, true, failure.Data["rolled_back"])
		require.Equal(t, stepTasks, failure.Data["failed_step"])
		require.NotContains(t, failure.Data, "undecided")
		require.Len(t, f.wire.to("/tasks/batch"), tc.attempts)
		require.Empty(t, f.wire.to("/ids/confirm"))
		f.untouched(t, "prd/PRD-006_v1", text)

		// S0-APPROVE-23: the range is lost, and a later approval gets a higher one.
		f.wire.heal()
		res, failure := f.approve(t, "PRD-006")
		require.Nil(t, failure)
		require.Equal(t, anys("HLS-004", "HLS-005", "HLS-006"), res["sub_artifacts_detected"])
		require.Len(t, f.queued(t), 3)
	}
}

func TestS0_APPROVE_24_ConfirmFails(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.family006(t)
	f.wire.on("/ids/confirm", status(500, "no"))
	res, failure := f.approve(t, "PRD-006")
	require.Nil(t, failure)
	require.Equal(t, true, res["success"])
	require.Equal(t, false, res["reservation_confirmed"])
	require.Len(t, f.wire.to("/ids/confirm"), 3)
	warned := f.records(t, "id_reservation_not_confirmed")
	require.Len(t, warned, 1)
	require.Equal(t, "WARN", warned[0]["level"])
	f.settled(t)
}

// Answers that are lost leave open whether the tasks exist. The artifact is a
// draft until the next call finds out, and it has the tasks of the first.
func TestS0_APPROVE_26_AnswersLost(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	text := f.family006(t)
	f.wire.on("/tasks/batch", lostAnswer)
	_, failure := f.approve(t, "PRD-006")
	require.NotNil(t, failure)
	require.Equal(t, int64(-32603), failure.Code)
	require.Equal(t, true, failure.Data["rolled_back"])
	require.Equal(t, true, failure.Data["undecided"])
	require.Equal(t, text, f.file(t, "prd/PRD-006_v1.md"))
	require.Len(t, f.queued(t), 3, "they were made, once")

	// Meanwhile nobody changes the draft.
	_, failure = f.callRaw(t.Context(), t, "store_artifact", map[string]any{"artifact_content": text + "more", "task_id": "t"})
	require.NotNil(t, failure)
	require.Equal(t, true, failure.Data["undecided"])
	require.Equal(t, text, f.file(t, "prd/PRD-006_v1.md"))

	f.wire.heal()
	res, failure := f.approve(t, "PRD-006")
	require.Nil(t, failure)
	require.Equal(t, anys("HLS-001", "HLS-002", "HLS-003"), res["sub_artifacts_detected"])
	require.Len(t, f.queued(t), 3)
	require.Len(t, f.wire.to("/ids/reserve"), 1, "no second range")
	require.True(t, f.whole(t, "PRD-006", text))
}

// The same when somebody has done the tasks meanwhile: it is the key that says
// that they exist, not that the queue has a place for more.
func TestS0_APPROVE_26_TasksDoneBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	text := f.family006(t)
	f.wire.on("/tasks/batch", lostAnswer)
	_, failure := f.approve(t, "PRD-006")
	require.NotNil(t, failure)
	require.Equal(t, []string{"HLS-001", "HLS-002", "HLS-003"}, f.work(t))
	f.wire.heal()
	f.restart(t)
	require.Len(t, f.queued(t), 3, "none was added a second time")
	require.True(t, f.whole(t, "PRD-006", text))
	require.Len(t, f.records(t, "approval_recovered"), 1)
	for _, sent := range f.wire.to("/tasks/batch") {
		require.Equal(t, f.wire.to("/tasks/batch")[0].Header.Get("Idempotency-Key"), sent.Header.Get("Idempotency-Key"))
	}
}

// An intent that cannot be taken away is found again. Without tasks nothing
// tells then that the approval was done, so it is not.
func TestApproveCannotCloseItsIntent(t *testing.T) {
	t.Parallel()
	t.Run("without tasks", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t)
		text := prdDraft("PRD-006", "", "nothing below it")
		f.put(t, text)
		f.fault("remove", "PRD-006.intent.json", syscall.EIO)
		_, failure := f.approve(t, "PRD-006")
		require.NotNil(t, failure)
		require.Equal(t, stepDone, failure.Data["failed_step"])
		require.Equal(t, false, failure.Data["rolled_back"], "the intent is still there")
		require.Equal(t, text, f.file(t, "prd/PRD-006_v1.md"))
		f.restart(t)
		f.untouched(t, "prd/PRD-006_v1", text)
	})
	t.Run("with tasks", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t)
		text := f.family006(t)
		f.fault("remove", "PRD-006.intent.json", syscall.EIO)
		res, failure := f.approve(t, "PRD-006")
		require.Nil(t, failure)
		require.Len(t, res["task_ids"], 3)
		require.Len(t, f.records(t, "approval_intent_not_closed"), 1)
		f.restart(t)
		require.True(t, f.whole(t, "PRD-006", text))
	})
}

// A store settles what it finds, and then meets what it would have met.
func TestStoreSettlesAnOpenApproval(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	text := f.family006(t)
	f.wire.on("/tasks/batch", lostAnswer)
	_, failure := f.approve(t, "PRD-006")
	require.NotNil(t, failure)
	f.wire.heal()
	_, failure = f.call(t, "store_artifact", map[string]any{"artifact_content": text + "more"})
	require.NotNil(t, failure)
	require.Equal(t, "approved_immutable", failure.Data["reason"])
	require.True(t, f.whole(t, "PRD-006", text))
}

// An approval that is still open can be taken back, so it is none for others.
func TestOpenApprovalIsNone(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.family006(t)
	require.NoError(t, os.WriteFile(filepath.Join(f.base, intentFile("EPIC-006")), []byte("{}"), 0o600))
	_, failure := f.approve(t, "PRD-006")
	require.NotNil(t, failure)
	require.Equal(t, parentApproved, failure.Data["prerequisite"])
}

// Whenever the caller goes, the artifact is approved with its tasks, or a draft
// without any.
func TestApproveCancelledAtEachStep(t *testing.T) {
	t.Parallel()
	for step, approved := range map[string]bool{
		stepReserve: false, stepIntent: false, stepWrite: false, stepStatus: false, stepInputs: false,
		stepTasks: true, stepConfirm: true, stepDone: true,
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			f := newFlow(t)
			text := f.family006(t)
			ctx, cancel := context.WithCancel(t.Context())
			f.approver.reached = func(s string) {
				if s == step {
					cancel()
				}
			}
			_, failure := f.callRaw(ctx, t, "approve_artifact", map[string]any{"artifact_id": "PRD-006", "task_id": "t"})
			require.Equal(t, approved, failure == nil, "%v", failure)
			require.Equal(t, approved, f.whole(t, "PRD-006", text))
			if approved {
				require.Len(t, f.records(t, "id_reservation_confirmed"), 1, "what is approved is so to the end")
			}
		})
	}
}

// A caller who has gone waits neither for the lock nor, forever, for a service.
func TestApproveGivesUp(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	text := f.family006(t)
	f.approver.linger = 20 * time.Millisecond
	held, ctx := make(chan struct{}), t.Context()
	gone, cancel := context.WithCancel(ctx)
	f.wire.on("/tasks/batch", func(_ int, r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		close(held)
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	})
	var wg sync.WaitGroup
	var failed *family.Error
	wg.Go(func() {
		_, failed = f.callRaw(gone, t, "approve_artifact", map[string]any{"artifact_id": "PRD-006", "task_id": "t"})
	})
	<-held
	short, stop := context.WithTimeout(ctx, 10*time.Millisecond)
	defer stop()
	_, failure := f.callRaw(short, t, "approve_artifact", map[string]any{"artifact_id": "PRD-006", "task_id": "t"})
	require.NotNil(t, failure)
	require.Equal(t, "Request timeout: the call took too long", failure.Message)
	cancel()
	wg.Wait()
	require.NotNil(t, failed)
	f.wire.heal()
	f.restart(t)
	f.whole(t, "PRD-006", text)
}

// A disk that fails at any write leaves the draft, and reports it.
func TestApproveDiskFaults(t *testing.T) {
	t.Parallel()
	const document, meta, intent = "PRD-006_v1.md", "PRD-006_v1_metadata.json", "PRD-006.intent.json"
	for _, tc := range []struct{ op, file, step string }{
		{"open", "." + intent + ".tmp", stepIntent},
		{"rename", intent, stepIntent},
		{"write", "." + meta + ".tmp", stepStatus},
		{"rename", meta, stepStatus},
		{"rename", document, stepWrite},
	} {
		t.Run(tc.op+" "+tc.file, func(t *testing.T) {
			t.Parallel()
			f := newFlow(t)
			text := f.family006(t)
			f.fault(tc.op, tc.file, syscall.EIO)
			_, failure := f.approve(t, "PRD-006")
			require.NotNil(t, failure)
			require.Equal(t, int64(-32603), failure.Code)
			require.Equal(t, tc.step, failure.Data["failed_step"])
			// Where the disk refuses the same write again, the next start undoes it.
			require.Equal(t, tc.step == stepIntent, failure.Data["rolled_back"])
			require.Empty(t, f.queued(t))
			f.workflow.store.open = openQuick
			f.restart(t)
			f.untouched(t, "prd/PRD-006_v1", text)
		})
	}
	t.Run("permission", func(t *testing.T) {
		t.Parallel()
		f := newFlow(t)
		f.family006(t)
		f.fault("open", "."+intent+".tmp", syscall.EACCES)
		_, failure := f.approve(t, "PRD-006")
		require.Equal(t, int64(-32000), failure.Code)
		require.Equal(t, "Permission denied: the artifacts folder cannot be written", failure.Message)
	})
}

// S0-APPROVE-25 with a second process: while it works, the first waits.
func TestS0_APPROVE_25_TwoProcesses(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	text := f.family006(t)
	child := f.spawn(t, childJob{f.base, f.opts.TasksURL, f.opts.IDsURL, f.opts.ProjectID, "PRD-006", "", stepTasks})
	child.until(t, "step "+stepTasks)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, failure := f.callRaw(ctx, t, "approve_artifact", map[string]any{"artifact_id": "PRD-006", "task_id": "t"})
	require.NotNil(t, failure)
	require.Equal(t, "timeout", failure.Data["reason"], "the other has the lock")
	f.restart(t) // a start leaves alone what is somebody's work
	require.Empty(t, f.records(t, "approval_recovered"))
	child.goOn(t)
	child.until(t, "end <nil>")
	require.NoError(t, child.cmd.Wait())
	_, failure = f.approve(t, "PRD-006")
	require.NotNil(t, failure)
	require.Equal(t, draftStatus, failure.Data["prerequisite"])
	require.True(t, f.whole(t, "PRD-006", text))
}
