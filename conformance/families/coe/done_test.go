package coe

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
)

const doneExample = `{"taskId":"TASK-001","status":"done",
	"implementationNotes":"Created CSS variables for all colors. Implemented light/dark theme toggle using CSS custom properties.",
	"filesModified":["src/styles/colors.css","src/styles/_variables.scss"],
	"testing":{"testsAdded":true,"testFileCreated":"src/styles/colors.test.ts","testsPassed":true,"testsFailed":0,"testCoveragePercent":92,"accessibilityTestsPassed":true},
	"acceptanceCriteriaVerification":{"0":{"text":"All 12 colors defined with 3 variants","status":"passed"},"1":{"text":"CSS variables output correctly","status":"passed"},"2":{"text":"WCAG AA contrast verified","status":"passed"}},
	"observations":["Found that HSL is better than HEX for theme switching","Need to add color utility functions for blending"],
	"followUpTasks":[{"title":"Test colors in real components","why":"Need to verify colors work in actual component rendering","estimatedHours":1}]}`

func TestDone_S1_DONE_01_Example(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.call("reportTaskDone", doneExample).ok()
	require.Equal(t, true, got["success"])
	require.Equal(t, "TASK-001", got["taskId"])
	require.Equal(t, "done", got["status"])
	require.Equal(t, "Task marked complete. 33 ready tasks, 2 blocked, 1 verification task created", got["message"], "as in S1, with the follow-up ready")
	require.Equal(t, "TASK-VERIFY-001", dig(t, got, "verificationTaskCreated", "taskId"), "S1-DONE-05")
	require.Equal(t, "semi-automated - agent will check, human reviews if needed", dig(t, got, "verificationTaskCreated", "automationLevel"))
	require.Equal(t, "Only 3 of 8 acceptance criteria were reported on", dig(t, got, "verificationTaskCreated", "why"))
	require.Equal(t, []any{
		map[string]any{"observationId": "OBS-001", "observation": "Found that HSL is better than HEX for theme switching", "status": "noted"},
		map[string]any{
			"observationId": "OBS-002", "observation": "Need to add color utility functions for blending", "status": "noted",
			"suggestedFollowUp": "Create a task for it with reportObservation",
		},
	}, got["observationsProcessed"], "S1-DONE-06")
	require.Equal(t, "TASK-002", got["nextTaskId"], "S1-DONE-07")
	require.Equal(t, map[string]any{"title": "Build page navigation component", "priority": "high"}, got["nextTaskPreview"])
	require.Equal(t, r.nextID(), got["nextTaskId"])

	recs := r.records(ledger.Observation)
	require.Len(t, recs, 2)
	require.Equal(t, "OBS-002", recs[1].ID)
	require.Equal(t, "TASK-001", recs[1].TaskID)
	require.Equal(t, "tester", recs[1].Agent)

	// S1-DONE-11
	follow := r.srv.plan.View().Task("TASK-089")
	require.NotNil(t, follow, "numbered as in S1")
	require.Equal(t, "Test colors in real components", follow.Title)
	require.Equal(t, 34.0, r.next(`{"filter":"all"}`)["queueLength"], "35 of 36 tasks are open, one is returned")
	require.Contains(t, r.logs.String(), `"task_id":"TASK-001"`, "the log names the task of v1.0 tools too")
}

func TestDone_S1_DONE_08_Dashboard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`).ok()
	require.Equal(t, map[string]any{
		"completedCount": 1.0, "totalCount": 35.0, "percentComplete": 2.9, "blockedCount": 2.0, "verificationPendingCount": 1.0,
	}, got["dashboardUpdate"])
	require.Equal(t, "Task marked complete. 32 ready tasks, 2 blocked, 1 verification task created", got["message"])
	require.NotContains(t, got, "observationsProcessed")
}

func TestDone_S1_DONE_02_Unknown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.call("reportTaskDone", `{"taskId":"TASK-999","status":"done","observations":["lost"]}`)
	data := p.number(404, "")
	require.Equal(t, "Task not found", p.failure.Message)
	require.Equal(t, "TASK-999", data["taskId"])
	require.Equal(t, "Check if task ID is correct or if task has been deleted", data["suggestion"])
	require.Empty(t, r.records(ledger.Observation), "nothing is half done")
}

func TestDone_S1_DONE_03_BadArguments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	with := func(member string) string { return `{"taskId":"TASK-001","status":"done",` + member + `}` }
	for args, field := range map[string]string{
		`{}`:                    "taskId",
		`{"taskId":"TASK-001"}`: "status",
		`{"status":"done"}`:     "taskId",
		`{"taskId":"TASK-001","status":"closed"}`:                                   "status",
		`{"taskId":1,"status":"done"}`:                                              "taskId",
		`{"taskId":"","status":"done"}`:                                             "taskId",
		`{"taskId":"../x","status":"done"}`:                                         "taskId",
		with(`"statusDetails":[]`):                                                  "statusDetails",
		with(`"statusDetails":{"progressPercent":101}`):                             "statusDetails.progressPercent",
		with(`"statusDetails":{"progressPercent":-0.1}`):                            "statusDetails.progressPercent",
		with(`"statusDetails":{"extra":1}`):                                         "statusDetails.extra",
		with(`"filesModified":["ok.go",7]`):                                         "filesModified[1]",
		with(`"filesModified":["../../etc/passwd"]`):                                "filesModified[0]",
		with(`"testing":{"testsAdded":true,"testsPassed":true}`):                    "testing.testsFailed",
		with(`"testing":{"testsAdded":true,"testsPassed":true,"testsFailed":1.5}`):  "testing.testsFailed",
		with(`"acceptanceCriteriaVerification":{"one":{}}`):                         "acceptanceCriteriaVerification.",
		with(`"acceptanceCriteriaVerification":{"0":{"text":"x"}}`):                 "acceptanceCriteriaVerification.0.status",
		with(`"acceptanceCriteriaVerification":{"0":{"text":"x","status":"good"}}`): "acceptanceCriteriaVerification.0.status",
		with(`"followUpTasks":[{"title":"x"}]`):                                     "followUpTasks[0].why",
		with(`"followUpTasks":[{"title":"x","why":"y","estimatedHours":-1}]`):       "followUpTasks[0].estimatedHours",
		with(`"followUpTasks":[7]`):                                                 "followUpTasks[0]",
		with(`"observations":"one"`):                                                "observations",
		with(`"observations":[null]`):                                               "observations[0]",
		with(`"unknown":1`):                                                         "unknown",
	} {
		require.Equal(t, field, r.call("reportTaskDone", args).number(400, "Bad Request")["field"], args)
	}
	require.Equal(t, "TASK-001", r.nextID(), "nothing has changed")
}

func TestDone_S1_DONE_04_Twice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const args = `{"taskId":"TASK-001","status":"done"}`
	r.call("reportTaskDone", args).ok()
	r.call("reportTaskDone", args).number(409, "Conflict: Task already marked as done")
	r.call("reportTaskDone", `{"taskId":"TASK-001","status":"failed"}`).number(409, "already marked as done")
	// C-12: the other tools act on the same state.
	r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"done"}`).enveloped("INVALID_STATE")
	r.call("reportTaskCompleted", `{"task_id":"TASK-001","status":"success"}`).enveloped("INVALID_STATE")
	r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"in_progress"}`).enveloped("INVALID_STATE")
	r.call("reportTaskStatus", `{"task_id":"TASK-002","status":"done"}`).ok()
	r.call("reportTaskDone", `{"taskId":"TASK-002","status":"done"}`).number(409, "")
	r.call("reportTaskDone", `{"taskId":"TASK-VERIFY-001","status":"done"}`).number(409, "reportVerificationResult")
}

func TestDone_S1_DONE_07_Dependants(t *testing.T) {
	t.Parallel()
	for tool, report := range map[string]string{
		"reportTaskDone":      `{"taskId":%q,"status":"done"}`,
		"reportTaskCompleted": `{"task_id":%q,"status":"success"}`,
		"reportTaskStatus":    `{"task_id":%q,"status":"done"}`,
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.call(tool, fmt.Sprintf(report, "TASK-005")).ok()
			require.Equal(t, []any{"TASK-006"}, dig(t, r.next(`{"filter":"blocked","priority":"high"}`), "task", "blockedBy"), "one of two is done")
			r.call(tool, fmt.Sprintf(report, "TASK-006")).ok()
			require.Nil(t, r.next(`{"filter":"blocked","priority":"high"}`)["task"])
			r.call(tool, fmt.Sprintf(report, "TASK-004")).ok()
			require.Equal(t, "TASK-034", r.nextID(), "the critical task is ready now")
		})
	}
}

func TestDone_S1_DONE_09_Blocked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.call("reportTaskDone", `{"taskId":"TASK-001","status":"blocked","statusDetails":{"blockedReason":"design-system.json is missing"}}`).ok()
	require.Equal(t, "Task marked blocked. 32 ready tasks, 3 blocked, 0 verification task created", got["message"])
	require.Equal(t, 3.0, dig(t, got, "dashboardUpdate", "blockedCount"))
	require.NotContains(t, got, "verificationTaskCreated")
	require.Equal(t, "blocked", dig(t, r.next(`{"filter":"blocked","priority":"high"}`), "task", "status"))
	r.call("reportTaskStatus", `{"task_id":"TASK-001","status":"in_progress"}`).ok()
	require.Equal(t, "TASK-035", dig(t, r.next(`{"filter":"blocked","priority":"high"}`), "task", "taskId"), "who starts it takes it off hold")
	r.call("reportTaskDone", `{"taskId":"TASK-001","status":"blocked"}`).ok()
	require.Equal(t, "TASK-001", dig(t, r.next(`{"filter":"blocked","priority":"high"}`), "task", "taskId"), "for whatever reason")
}

func TestDone_S1_DONE_10_Partial(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, percent := range []string{"0", "50.5", "100"} {
		r.call("reportTaskDone", `{"taskId":"TASK-001","status":"partial","statusDetails":{"progressPercent":`+percent+`}}`).ok()
	}
	require.Equal(t, "in-progress", string(r.srv.plan.View().Status(r.srv.plan.View().Task("TASK-001"))))
	r.call("reportTaskDone", `{"taskId":"TASK-001","status":"partial","statusDetails":{"progressPercent":101}}`).number(400, "from 0 to 100")
	got := r.call("reportTaskDone", `{"taskId":"TASK-001","status":"failed","statusDetails":{"failureReason":"no way"}}`).ok()
	require.Equal(t, 3.0, dig(t, got, "dashboardUpdate", "blockedCount"), "a failed task waits for a decision")
}

const failureArgs = `{"taskId":"TASK-001","testName":"renders dark mode","testFile":"src/styles/colors.test.ts",
	"failureDetails":{"error":"expected #1565C0","expectedValue":"#1565C0","actualValue":null,"failingColor":{"hex":"#000"},"failedAssertion":"toBe"},
	"previousStatus":%q,"needsInvestigation":%t,"actionNeeded":"Check the inversion"%s}`

func TestTestFailure_S1_TFAIL_01_Investigation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("reportTaskDone", `{"taskId":"TASK-004","status":"done"}`).ok()
	require.Equal(t, "TASK-034", r.nextID(), "a critical task is first until then")
	got := r.call("reportTestFailure", fmt.Sprintf(failureArgs, "passing_before", true, "")).ok()
	require.Equal(t, "TF-001", got["testFailureId"])
	require.Equal(t, "failure_logged", got["status"])
	task, ok := got["investigationTaskCreated"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, "critical", task["priority"])
	require.Equal(t, true, task["blocker"])
	require.Equal(t, true, task["addedToQueue"])
	require.Equal(t, "immediate (highest priority)", task["position"])
	require.Equal(t, task["taskId"], r.nextID())
	require.Equal(t, task["taskId"], dig(t, got, "blockingTask", "blockingTaskId"))
	require.Equal(t, []any{task["taskId"]}, dig(t, r.next(`{"filter":"blocked","priority":"high"}`), "task", "blockedBy"), "the task waits for it")

	second := r.call("reportTestFailure", fmt.Sprintf(failureArgs, "flaky", true, `,"causePossibility":["cache","clock"]`)).ok()
	require.Equal(t, dig(t, second, "investigationTaskCreated", "taskId"), r.nextID(), "the latest comes first")
	require.Equal(t, false, dig(t, second, "investigationTaskCreated", "blocker"))
	require.NotContains(t, second, "blockingTask")
	require.Equal(t, "cache", dig(t, second, "suspectedRootCauseAnalysis", "likeliestCause"))
	require.Contains(t, dig(t, second, "suspectedRootCauseAnalysis", "suggestedInvestigation"), "Rule out: clock")

	recs := r.records(ledger.TestFailure)
	require.Len(t, recs, 2)
	require.JSONEq(t, `{"error":"expected #1565C0","expectedValue":"#1565C0","actualValue":null,"failingColor":{"hex":"#000"},"failedAssertion":"toBe"}`,
		string(mustMember(t, recs[0].Body, "failureDetails")))
}

func TestTestFailure_S1_TFAIL_02_LoggedAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	causes := map[string]bool{}
	for _, previous := range []string{"passing_before", "never_passed", "flaky"} {
		got := r.call("reportTestFailure", fmt.Sprintf(failureArgs, previous, false, "")).ok()
		require.NotContains(t, got, "investigationTaskCreated")
		require.NotContains(t, got, "blockingTask")
		require.Equal(t, "failure_logged", got["status"])
		// S1-TFAIL-04
		require.Equal(t, "critical", dig(t, got, "dashboardAlert", "type"))
		require.Equal(t, previous == "passing_before", dig(t, got, "dashboardAlert", "requiresHumanAttention"))
		requireTimestamp(t, dig(t, got, "dashboardAlert", "timestamp"))
		cause, ok := dig(t, got, "suspectedRootCauseAnalysis", "likeliestCause").(string)
		require.True(t, ok)
		causes[cause] = true
	}
	require.Len(t, causes, 3, "each history speaks for another cause")
	require.Equal(t, "TASK-001", r.nextID())
}

func TestTestFailure_S1_TFAIL_03_Refused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bad := r.call("reportTestFailure", fmt.Sprintf(failureArgs, "broken", true, ""))
	require.Equal(t, "previousStatus", bad.number(400, "")["field"])
	unknown := `{"taskId":"TASK-999","testName":"x","testFile":"x","failureDetails":{"error":"x"},"previousStatus":"flaky","needsInvestigation":true,"actionNeeded":"x"}`
	require.NotEmpty(t, r.call("reportTestFailure", unknown).number(404, "Task not found")["suggestion"])
	traversal := `{"taskId":"TASK-001","testName":"x","testFile":"/etc/passwd","failureDetails":{"error":"x"},"previousStatus":"flaky","needsInvestigation":true,"actionNeeded":"x"}`
	require.Equal(t, "testFile", r.call("reportTestFailure", traversal).number(400, "")["field"])
	require.Equal(t, "TASK-001", r.nextID(), "no task was created")
}

const verifyArgs = `{"verificationTaskId":%q,"originalTaskId":"TASK-001","verificationStatus":%q,
	"verification":{"checklist":[{"item":"colors","status":"passed","note":"all 12"},{"item":"contrast","status":"failed"}],%s"summary":"looked at it"},
	"originalTaskStatus":%q}`

const twoFailed = `"failedItems":[{"item":"contrast","issue":"3.9:1","why":"primary on light"},{"item":"toggle","issue":"flashes","why":"no transition"}],`

func verified(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`).ok()
	return r
}

func TestVerify_S1_VERIF_01_Passed(t *testing.T) {
	t.Parallel()
	r := verified(t)
	got := r.call("reportVerificationResult", fmt.Sprintf(verifyArgs, "TASK-VERIFY-001", "passed", "", "done")).ok()
	require.Equal(t, true, got["blockerCleared"])
	require.Equal(t, "done", got["originalTaskMarked"])
	require.Equal(t, "passed", got["verificationStatus"])
	require.NotContains(t, got, "issuesFound")
	require.Equal(t, 0, r.srv.plan.View().Counts().VerificationPending)
	again := r.call("reportVerificationResult", fmt.Sprintf(verifyArgs, "TASK-VERIFY-001", "passed", "", "done"))
	again.number(409, "already marked as done")
}

func TestVerify_S1_VERIF_02_FailedItems(t *testing.T) {
	t.Parallel()
	r := verified(t)
	before := r.srv.plan.View().Counts()
	got := r.call("reportVerificationResult", fmt.Sprintf(verifyArgs, "TASK-VERIFY-001", "failed", twoFailed, "needs_rework")).ok()
	require.Len(t, got["issuesFound"], 2)
	require.Equal(t, "ISSUE-002", dig(t, got, "issuesFound", 1, "issueId"))
	require.Equal(t, []any{"src/styles/colors.css", "src/styles/_variables.scss"}, dig(t, got, "issuesFound", 0, "relatedComponents"))
	require.Len(t, got["followUpTasksCreated"], 2)
	require.Equal(t, "TASK-001", dig(t, got, "followUpTasksCreated", 0, "relatedTo"))
	require.Equal(t, 2.0, dig(t, got, "dashboardUpdate", "issuesCount"))
	require.Equal(t, 2.0, dig(t, got, "dashboardUpdate", "followUpTasksCount"))
	require.Equal(t, "2 issues found, 2 follow-up tasks created", dig(t, got, "dashboardUpdate", "message"))
	require.Equal(t, "needs_rework", got["originalTaskMarked"])
	require.Equal(t, false, got["blockerCleared"])
	after := r.srv.plan.View().Counts()
	require.Equal(t, before.Total+2, after.Total)
	require.Equal(t, 0, after.Completed, "the task is no longer done")
	require.Equal(t, "TASK-001", r.nextID(), "and back at its place in the queue")
	require.Len(t, r.records(ledger.Issue), 2)
	got = r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`).ok()
	require.Equal(t, "TASK-VERIFY-002", dig(t, got, "verificationTaskCreated", "taskId"), "each end is verified anew")
}

func TestVerify_Incomplete(t *testing.T) {
	t.Parallel()
	for _, original := range []string{"done", "done_but_incomplete"} {
		r := verified(t)
		got := r.call("reportVerificationResult", fmt.Sprintf(verifyArgs, "TASK-VERIFY-001", "partial", twoFailed, original)).ok()
		require.Equal(t, "done_but_incomplete", got["originalTaskMarked"])
		require.Equal(t, "medium", dig(t, got, "issuesFound", 0, "severity"))
		require.Equal(t, 1, r.srv.plan.View().Counts().Completed)
	}
}

// What needs rework goes back into the queue, also when some of it has passed.
func TestVerify_S1_VERIF_02_PartialRework(t *testing.T) {
	t.Parallel()
	r := verified(t)
	const one = `"failedItems":[{"item":"contrast","issue":"3.9:1","why":"primary on light"}],`
	got := r.call("reportVerificationResult", fmt.Sprintf(verifyArgs, "TASK-VERIFY-001", "partial", one, "needs_rework")).ok()
	require.Equal(t, "needs_rework", got["originalTaskMarked"])
	require.Equal(t, "1 issue found, 1 follow-up task created", dig(t, got, "dashboardUpdate", "message"))
	require.Zero(t, r.srv.plan.View().Counts().Completed)
	require.Equal(t, "TASK-001", r.nextID())
}

func TestVerify_ReworkBlocksDependantsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("reportTaskDone", `{"taskId":"TASK-004","status":"done"}`).ok()
	require.Equal(t, "TASK-034", r.nextID())
	r.call("reportVerificationResult", `{"verificationTaskId":"TASK-VERIFY-001","originalTaskId":"TASK-004","verificationStatus":"failed",
		"verification":{"checklist":[],"summary":"it loses tasks"},"originalTaskStatus":"needs_rework"}`).ok()
	require.Equal(t, "TASK-001", r.nextID(), "S1-NEXT-07 holds after rework too")
}

func TestVerify_S1_VERIF_03_ManualReview(t *testing.T) {
	t.Parallel()
	r := verified(t)
	got := r.call("reportVerificationResult", fmt.Sprintf(verifyArgs, "TASK-VERIFY-001", "needs-manual-review", "", "done")).ok()
	require.Equal(t, "open", got["originalTaskMarked"])
	require.Equal(t, false, got["blockerCleared"])
	v := r.srv.plan.View()
	require.Equal(t, "in-progress", string(v.Status(v.Task("TASK-001"))))
	require.Equal(t, 1, v.Counts().VerificationPending)
	got = r.call("reportVerificationResult", fmt.Sprintf(verifyArgs, "TASK-VERIFY-001", "passed", "", "done")).ok()
	require.Equal(t, true, got["blockerCleared"], "a person has looked")
}

func TestVerify_S1_VERIF_04_Refused(t *testing.T) {
	t.Parallel()
	r := verified(t)
	call := func(format string, args ...any) *reply {
		return r.call("reportVerificationResult", fmt.Sprintf(format, args...))
	}
	call(verifyArgs, "TASK-VERIFY-999", "passed", "", "done").number(404, "Verification task not found")
	call(verifyArgs, "TASK-002", "passed", "", "done").number(404, "Verification task not found")
	require.Equal(t, "verificationStatus", call(verifyArgs, "TASK-VERIFY-001", "good", "", "done").number(400, "")["field"])
	require.Equal(t, "originalTaskStatus", call(verifyArgs, "TASK-VERIFY-001", "passed", "", "fine").number(400, "")["field"])
	require.Equal(t, "verification.failedItems[0].why",
		call(verifyArgs, "TASK-VERIFY-001", "failed", `"failedItems":[{"item":"x","issue":"y"}],`, "done").number(400, "")["field"])
	const other = `{"verificationTaskId":"TASK-VERIFY-001","originalTaskId":%q,"verificationStatus":"passed","verification":{"checklist":[],"summary":""},"originalTaskStatus":"done"}`
	call(other, "TASK-999").number(404, "Original task not found")
	require.Equal(t, "originalTaskId", call(other, "TASK-002").number(400, "")["field"])
}
