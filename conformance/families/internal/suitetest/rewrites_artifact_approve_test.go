package suitetest

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/conformance/families/checks/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// approveRewrites has a defect for each check of approve_artifact.
func approveRewrites() map[string]rewritten {
	reads := func() rewritten { // never the same text twice
		var n atomic.Int64
		return readAs(func(_, text string) string { return fmt.Sprint(text, n.Add(1)) })
	}
	reversed := payloadOf(artifact.ToolApprove, func(p reply) {
		if ids, ok := p["sub_artifacts_detected"].([]any); ok {
			slices.Reverse(ids)
		}
	})
	return map[string]rewritten{
		"S0-APPROVE-01/status":     setting(artifact.ToolApprove, "old_status", "Approved"),
		"S0-APPROVE-01/children":   reversed,
		"S0-APPROVE-01/tasks":      setting(artifact.ToolApprove, "tasks_created", 2),
		"S0-APPROVE-01/path":       setting(artifact.ToolApprove, "artifact_path", "artifacts/prds/PRD-001_v1.md"),
		"S0-APPROVE-02/none":       readAs(func(_, text string) string { return text + "HLS-AAA" }),
		"S0-APPROVE-02/everywhere": rewording(" needs ", " wants "),
		"S0-APPROVE-05/line":       rewording(`"Approved"`, `"Draft"`),
		"S0-APPROVE-03":            reversed,
		"S0-APPROVE-04":            rewording("XHLS-AAA", "XHLS-001"),
		"S0-APPROVE-10":            failingCalls(artifact.ToolApprove),
		"S0-APPROVE-19/result":     setting(artifact.ToolApprove, "task_ids", nil),
		"S0-APPROVE-12/lead":       failingCalls(artifact.ToolApprove),
		"S0-APPROVE-12/outside":    failingCalls(artifact.ToolApprove),
		"S0-APPROVE-18/child":      setting(artifact.ToolApprove, "sub_artifacts_detected", []string{"PRD-001"}),
		"S0-APPROVE-20/ids":        setting(artifact.ToolApprove, "sub_artifacts_detected", []string{"US-001", "US-003"}),
		"S0-APPROVE-25/one":        accepting(artifact.ToolApprove),
		"S0-APPROVE-25/other":      coded(artifact.ToolApprove, wire.CodeInternal),
		"S0-APPROVE-29/path":       setting(artifact.ToolApprove, "artifact_path", "artifacts/prds/PRD-001_v1.md"),
		"S0-APPROVE-29/file":       rewording(`"Draft"`, `"Approved"`),
		"S0-E2E-04":                setting(artifact.ToolApprove, "tasks_created", 0),

		"S0-APPROVE-06/refused":   coded(artifact.ToolApprove, wire.CodeInvalidParams),
		"S0-APPROVE-07/refused":   told(artifact.ToolApprove, "no"),
		"S0-APPROVE-07/unchanged": reads(),
		"S0-APPROVE-08/refused":   told(artifact.ToolApprove, "the parent must be approved first"),
		"S0-APPROVE-08/unchanged": reads(),
		"S0-APPROVE-08/later":     failingCalls(artifact.ToolApprove),
		"S0-APPROVE-09":           dated(artifact.ToolApprove, "prerequisite", "artifact_exists"),
		"S0-APPROVE-11":           told(artifact.ToolApprove, "Artifact has open questions requiring resolution"),
		"S0-APPROVE-12/adr":       accepting(artifact.ToolApprove),
		"S0-APPROVE-13/status":    dated(artifact.ToolApprove, "prerequisite", "open_questions"),
		"S0-APPROVE-13/parent":    dated(artifact.ToolApprove, "prerequisite", "open_questions"),
		"S0-APPROVE-27/refused":   coded(artifact.ToolApprove, wire.CodeInternal),
		"S0-APPROVE-27/unchanged": reads(),
	}
}

// approveServiceRewrites has a defect for each check of what an approval asks
// of the services.
func approveServiceRewrites() map[string]rewritten {
	const reserve, confirm = "POST /ids/reserve", "POST /ids/confirm"
	tasks := func(change func(task reply)) rewritten {
		return requesting(artifact.BatchEndpoint, func(_ *http.Request, body reply, _ asking) bool {
			for _, t := range body["tasks"].([]any) {
				change(t.(reply))
			}
			return true
		})
	}
	input := func(task reply) reply { return task["inputs"].([]any)[0].(reply) }
	reserving := func() rewritten {
		return besides(artifact.ToolApprove, http.MethodPost, "/ids/reserve", artifact.ReserveBody("HLS", artifact.ServiceProject, 3))
	}
	return map[string]rewritten{
		"S0-APPROVE-14":             twice(reserve),
		"S0-APPROVE-15/tasks":       tasks(func(task reply) { task["generator"] = "prd-generator" }),
		"S0-APPROVE-15/mandatory":   tasks(func(task reply) { input(task)["status"] = "Draft" }),
		"S0-APPROVE-15/recommended": tasks(func(task reply) { task["inputs"] = task["inputs"].([]any)[:1] }),
		"S0-APPROVE-17":             requesting(confirm, func(*http.Request, reply, asking) bool { return false }),
		"S0-APPROVE-16":             failingCalls(artifact.ToolApprove),
		"S0-APPROVE-18/no-reserve":  reserving(),
		"S0-APPROVE-19/no-requests": reserving(),
		"S0-APPROVE-20/generator":   tasks(func(task reply) { input(task)["classification"] = "recommended" }),
		"S0-APPROVE-06/no-reserve":  reserving(),
		"S0-APPROVE-07/no-reserve":  reserving(),
		"S0-APPROVE-08/no-reserve":  reserving(),
		"S0-APPROVE-27/no-reserve":  reserving(),
		"S0-APPROVE-21/error":       accepting(artifact.ToolApprove),
		"S0-APPROVE-21/unchanged":   readAs(func(_, text string) string { return text + "x" }),
		"S0-APPROVE-21/draft":       failingCalls(artifact.ToolApprove),
		"S0-APPROVE-22/refused":     dated(artifact.ToolApprove, "rolled_back", false),
		"S0-APPROVE-22/failed":      dated(artifact.ToolApprove, "rolled_back", false),
		"S0-APPROVE-22/unchanged":   readAs(func(_, text string) string { return text + "x" }),
		"S0-APPROVE-23/unconfirmed": besides(artifact.ToolApprove, http.MethodPost, "/ids/confirm", reply{"reservation_id": artifact.TaskID}),
		"S0-APPROVE-23/higher":      setting(artifact.ToolApprove, "sub_artifacts_detected", []string{"HLS-001", "HLS-002", "HLS-003"}),
		"S0-ERR-02":                 dated(artifact.ToolApprove, "status_code", http.StatusBadRequest),
		"S0-APPROVE-24/success":     setting(artifact.ToolApprove, "reservation_confirmed", true),
		"S0-APPROVE-24/warning":     logged("id_reservation_not_confirmed", func(reply) reply { return nil }),
		"S0-APPROVE-25/reserve":     twice(reserve),
		"S0-APPROVE-25/tasks":       twice(artifact.BatchEndpoint),
	}
}

// artifactLogRewrites has a defect for each check of the log.
func artifactLogRewrites() map[string]rewritten {
	without := func(member string) func(reply) reply {
		return func(line reply) reply { delete(line, member); return line }
	}
	with := func(member string, value any) func(reply) reply {
		return func(line reply) reply { line[member] = value; return line }
	}
	const completed, failed = "_invocation_completed", "_invocation_failed"
	next := "GET /tasks/next"
	return map[string]rewritten{
		"S0-APPROVE-28":       logged(artifact.ToolApprove+completed, without("reservation_id")),
		"X-LOG-02/approve":    logged(artifact.ToolApprove+completed, with("text", "planted-approval-do-not-log")),
		"S0-ADD-23":           logged(artifact.ToolAddTask+completed, with("recommended_inputs_count", 2)),
		"S0-RES-05":           logged(artifact.ToolReserve+completed, without("count")),
		"X-LOG-01/allocation": logged(artifact.ToolReserve+"_invocation_started", func(reply) reply { return nil }),
		"X-LOG-01/failed":     logged(artifact.ToolApprove+failed, with("success", true)),
		"X-LOG-01/stage":      logged("artifact_not_found", func(reply) reply { return nil }),
		"S0-E2E-01/stored":    setting(artifact.ToolApprove, "new_status", "Draft"),
		"S0-E2E-01/task-id":   logged(artifact.ToolStore+completed, without("task_id")),
		"S0-E2E-01/queue":     served(next, func(_ *artifact.RestAnswer, body reply) { body["task"] = nil }),
		"S0-E2E-01/inputs": served(next, func(_ *artifact.RestAnswer, body reply) {
			if task, ok := body["task"].(reply); ok {
				task["inputs_json"] = []any{}
			}
		}),
	}
}
