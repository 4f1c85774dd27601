package suitetest

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/conformance/families/checks/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// addTaskRewrites has a defect for each check of add_task.
func addTaskRewrites() map[string]rewritten {
	all := map[string]rewritten{
		"S0-ADD-01/added": setting(artifact.ToolAddTask, "tasks_added", 2),
		"S0-ADD-01/order": payloadOf(artifact.ToolAddTask, func(p reply) { slices.Reverse(p["artifact_ids"].([]any)) }),
		"S0-ADD-19":       told(artifact.ToolAddTask, "Invalid params: no"),
		"S0-ADD-21/100":   setting(artifact.ToolAddTask, "tasks_added", 99),

		"S0-ADD-13/success":    failingCalls(artifact.ToolAddTask),
		"S0-ADD-13/gaps":       twice(artifact.BatchEndpoint),
		"S0-ADD-14/error":      coded(artifact.ToolAddTask, artifact.CodeServer),
		"S0-ADD-14/attempts":   besides(artifact.ToolAddTask, http.MethodPost, "/tasks/batch", reply{}),
		"S0-ADD-15/error":      told(artifact.ToolAddTask, "Invalid params: no"),
		"S0-ADD-15/attempts":   twice(artifact.BatchEndpoint),
		"S0-ADD-16/error":      coded(artifact.ToolAddTask, wire.CodeInternal),
		"S0-ADD-16/attempts":   twice(artifact.BatchEndpoint),
		"S0-ADD-02/no-request": besides(artifact.ToolAddTask, http.MethodPost, "/tasks/batch", reply{}),
		"S0-ADD-12/project": requesting(artifact.BatchEndpoint, func(_ *http.Request, body reply, _ asking) bool {
			body["project_id"] = "another"
			return true
		}),
		"S0-ADD-12/tasks": changedTask("status", "completed"),
		"S0-ADD-20":       changedTask("description", "Generate something"),
		"S0-ADD-12/key": requesting(artifact.BatchEndpoint, func(r *http.Request, _ reply, _ asking) bool {
			r.Header.Del("X-Task-Id")
			return true
		}),
		"S0-ADD-18/key": requesting(artifact.BatchEndpoint, func(r *http.Request, _ reply, _ asking) bool {
			r.Header.Set("Idempotency-Key", uuid.NewString())
			return true
		}),
		"S0-ADD-18/once": requesting(artifact.BatchEndpoint, func(r *http.Request, _ reply, _ asking) bool {
			r.Header.Del("Idempotency-Key")
			return true
		}),
	}
	for _, id := range []string{
		"S0-ADD-02/refused", "S0-ADD-03", "S0-ADD-04", "S0-ADD-06/recommended", "S0-ADD-06/conditional", "S0-ADD-10",
		"S0-ADD-21/none", "S0-ADD-21/101", "X-SEC-01/resource-path", "X-SEC-01/resource-uri",
	} {
		all[id] = accepting(artifact.ToolAddTask)
	}
	for _, id := range []string{
		"S0-ADD-05", "S0-ADD-07/http", "S0-ADD-07/relative", "S0-ADD-07/file", "S0-ADD-08/missing", "S0-ADD-08/directory", "S0-ADD-09", "S0-ADD-11",
	} {
		all[id] = told(artifact.ToolAddTask, "Invalid params: no")
	}
	all["S0-ADD-22"] = refusing(artifact.ToolAddTask, func(_, e reply) { e["message"], e["data"] = "Invalid params: no", reply{} })
	return all
}

// changedTask has a rewritten program change a member of the tasks it sends.
func changedTask(member string, value any) rewritten {
	return requesting(artifact.BatchEndpoint, func(_ *http.Request, body reply, _ asking) bool {
		for _, t := range body["tasks"].([]any) {
			t.(reply)[member] = value
		}
		return true
	})
}

// artifactIDRewrites has a defect for each check of the tools that allocate.
func artifactIDRewrites() map[string]rewritten {
	listed := changed(mcp.MethodToolsList, func(_ fakeMessage, result reply) {
		result["tools"] = append(result["tools"].([]any), reply{"name": "resolve_artifact_path", "description": "Finds paths", "inputSchema": reply{"type": "object"}})
	}).asProgram()
	return map[string]rewritten{
		"S0-NEXT-01/result":     setting(artifact.ToolNextID, "artifact_type", "US"),
		"S0-NEXT-01/registry":   setting(artifact.ToolNextID, "next_id", "US-071"),
		"S0-NEXT-02":            setting(artifact.ToolNextID, "next_id", "US-000"),
		"S0-NEXT-03":            setting(artifact.ToolNextID, "next_id", "US-999"),
		"S0-NEXT-06":            setting(artifact.ToolNextID, "next_id", "US-001"),
		"S0-NEXT-04/refused":    coded(artifact.ToolNextID, wire.CodeInternal),
		"S0-NEXT-04/reserve":    accepting(artifact.ToolReserve),
		"S0-NEXT-05":            setting(artifact.ToolNextID, "next_id", "TASK-007"),
		"S0-NEXT-07/error":      coded(artifact.ToolNextID, wire.CodeInvalidParams),
		"S0-NEXT-07/once":       twice("GET /ids/next"),
		"S0-NEXT-04/no-request": besides(artifact.ToolNextID, http.MethodGet, "/ids/next?type=US&project=x", nil),
		"S0-RES-02/no-request":  besides(artifact.ToolReserve, http.MethodPost, "/ids/reserve", artifact.ReserveBody("PRD", "x", 1)),
		"S0-RES-01/ids":         setting(artifact.ToolReserve, "reserved_ids", []string{"HLS-012", "HLS-014", "HLS-015"}),
		"S0-RES-01/result":      setting(artifact.ToolReserve, "reservation_id", "abc-123"),
		"S0-RES-02/outside":     accepting(artifact.ToolReserve),
		"S0-RES-02/type":        coded(artifact.ToolReserve, artifact.CodeServer),
		"S0-RES-02/inside":      setting(artifact.ToolReserve, "reserved_ids", []string{"HLS-001"}),
		"S0-RES-03/ranges":      setting(artifact.ToolReserve, "reserved_ids", []string{"HLS-001", "HLS-002", "HLS-003", "HLS-004", "HLS-005", "HLS-006"}),
		"S0-RES-03/counter":     setting(artifact.ToolNextID, "next_id", "HLS-030"),
		"S0-RES-04":             setting(artifact.ToolNextID, "next_id", "PRD-001"),
		"S0-DEP-01/list":        listed,
		"S0-DEP-01/call":        coded("resolve_artifact_path", wire.CodeMethodNotFound),
	}
}

// crossRewrites has a defect for each check that is about more than one tool.
func crossRewrites() map[string]rewritten {
	const slowCall = time.Second // what a busy machine adds to a ping stays far below
	token := logged("save_artifact_invocation_completed", func(line reply) reply { return line })
	token.options = func(o *reference.Options) { o.Families = []string{"assistant"} }
	token.logs = func(line reply) reply {
		if tool, _ := line["tool_name"].(string); strings.HasPrefix(tool, "save_artifact") {
			line["session"] = "5e551070-7a9e-4b3c-9d6f-0123456789ab"
		}
		return line
	}
	silent := rewritten{after: func(m fakeMessage, r reply) []any {
		if m.call == artifact.ToolNextID {
			return nil
		}
		return []any{r}
	}}.asProgram()
	stays := rewritten{program: true}
	stays.hangs = true
	return map[string]rewritten{
		"X-WIRE-07/announced": changed(mcp.MethodToolsList, func(_ fakeMessage, result reply) {
			result["tools"] = slices.DeleteFunc(result["tools"].([]any), func(t any) bool { return t.(reply)["name"] == artifact.ToolAddTask })
		}).asProgram(),
		"X-SEC-01/approve": accepting(artifact.ToolApprove),
		"X-SEC-01/task":    accepting(artifact.ToolAddTask),
		"X-SEC-01/data":    dated(artifact.ToolApprove, "validation_failed", nil),
		"X-SEC-01/read": rewritten{after: func(m fakeMessage, r reply) []any {
			if m.method == mcp.MethodResourcesRead && r["error"] != nil {
				delete(r, "error")
				r["result"] = reply{"contents": []any{reply{"uri": "x", "text": "root:x:0:0"}}}
			}
			return []any{r}
		}}.asProgram(),
		"X-SHUT-01/call":     silent,
		"X-SHUT-01/ends":     stays,
		"X-LOG-02/token":     token,
		"X-PERF-01/validate": slow(artifact.ToolValidate, 2, slowCall),
		"X-PERF-01/store":    slow(artifact.ToolStore, 4, slowCall),
		"S0-APPROVE-30":      slow(artifact.ToolApprove, 1, 2100*time.Millisecond),
		"S0-ADD-24":          slow(artifact.ToolAddTask, 3, 400*time.Millisecond),
	}
}
