package artifact

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// input is a resolved input as S0 writes it, with what is given changed.
func input(name, class, typeName, id, path, status string) map[string]any {
	return map[string]any{
		"name": name, "classification": class, "artifact_type": typeName, "artifact_id": id, "resource_path": "artifacts/" + path,
		"mcp_resource_uri": "mcp://resources/artifacts/" + path, "status": status,
	}
}

func prdInput() map[string]any {
	return input("prd", "mandatory", "prd", "PRD-006", "prds/PRD-006_v1.md", "Approved")
}

func researchInput() map[string]any {
	return input("business_research", "recommended", "research", "N/A", "research/AI_Agent_MCP_Server_business_research.md", "Finalized")
}

func with(m map[string]any, key string, value any) map[string]any {
	if value == nil {
		delete(m, key)
	} else {
		m[key] = value
	}
	return m
}

func hlsTask(id string, inputs ...map[string]any) map[string]any {
	return map[string]any{"artifact_id": id, "generator": "hls-generator", "task_id": "gen-001", "inputs": inputs}
}

// queueFlow is a flow whose PRD-006 is approved.
func queueFlow(t testing.TB, change ...func(*Options)) *flow {
	t.Helper()
	f := newFlow(t, change...)
	f.research(t)
	f.put(t, strings.Replace(prdDraft("PRD-006", "", ""), `"Draft"`, `"Approved"`, 1))
	return f
}

func (f *flow) add(t testing.TB, tasks ...map[string]any) (map[string]any, *family.Error) {
	t.Helper()
	return f.call(t, "add_task", map[string]any{"tasks": tasks})
}

func TestS0_ADD_01_ThreeTasks(t *testing.T) {
	t.Parallel()
	f := queueFlow(t)
	third := with(prdInput(), "mcp_resource_uri", nil)
	res, failure := f.add(t, hlsTask("HLS-014", prdInput(), researchInput()), hlsTask("HLS-012", prdInput()),
		hlsTask("HLS-013", with(third, "resource_uri", "mcp://resources/artifacts/prds/PRD-006_v1.md")))
	require.Nil(t, failure)
	require.Equal(t, anys("HLS-014", "HLS-012", "HLS-013"), res["artifact_ids"])
	require.InDelta(t, 3, res["tasks_added"], 0)
	tasks := f.queued(t)
	require.Len(t, tasks, 3)
	for i, task := range tasks {
		require.Equal(t, res["artifact_ids"].([]any)[i], task.ArtifactID)
		require.Equal(t, res["task_ids"].([]any)[i], task.TaskID)
		require.Equal(t, "mcp://resources/artifacts/prds/PRD-006_v1.md", task.Inputs[0].MCPResourceURI)
	}
	t.Run("S0-ADD-12", func(t *testing.T) {
		sent := f.wire.to("/tasks/batch")[0]
		require.Equal(t, f.opts.ProjectID, sent.Body["project_id"])
		require.NotEmpty(t, sent.Header.Get("Idempotency-Key"))
		require.Equal(t, "wf-1", sent.Header.Get("X-Task-Id"))
		require.Equal(t, map[string]any{
			"artifact_id": "HLS-014", "generator": "hls-generator", "status": "pending", "task_id": "gen-001",
			"description": "Generate HLS-014 from PRD-006", "inputs": []any{prdInput(), researchInput()},
		}, sent.Body["tasks"].([]any)[0])
	})
	t.Run("S0-ADD-20", func(t *testing.T) { require.Equal(t, "Generate HLS-012 from PRD-006", tasks[1].Description) })
	t.Run("S0-ADD-23", func(t *testing.T) {
		done := f.records(t, "add_task_invocation_completed")
		require.Len(t, done, 1)
		require.Subset(t, done[0], map[string]any{
			"tool_name": "add_task", "task_id": "wf-1", "tasks_added": 3.0, "artifact_ids": res["artifact_ids"], "task_ids": res["task_ids"],
			"generators": anys("hls-generator", "hls-generator", "hls-generator"), "inputs_validated": true,
			"mandatory_inputs_count": 1.0, "recommended_inputs_count": 1.0, "success": true,
		})
		require.Contains(t, done[0], "duration_ms")
	})
	t.Run("S0-ADD-19", func(t *testing.T) {
		_, failure := f.add(t, hlsTask("HLS-012", prdInput()))
		require.Equal(t, int64(-32602), failure.Code)
		require.Contains(t, failure.Message, "artifact_id HLS-012 already exists in queue")
	})
}

func TestAddTaskRules(t *testing.T) {
	t.Parallel()
	f := queueFlow(t)
	f.put(t, prdDraft("PRD-007", "", ""))
	dir := filepath.Join(f.base, "prd")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "PRD-008_v1.md"), 0o755))
	require.NoError(t, os.Symlink("PRD-006_v1.md", filepath.Join(dir, "PRD-009_v1.md")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "PRD-010_v1.md"), []byte("no metadata"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(f.base, researchDir, "draft.md"), []byte("## Metadata\n**Status:** Draft"), 0o600))
	prd := func(key string, value any) map[string]any { return with(prdInput(), key, value) }
	at := func(path string) map[string]any { return with(prdInput(), "resource_path", path) }
	of := func(id string) map[string]any {
		return input("prd", "mandatory", "prd", id, "prds/"+id+"_v1.md", "Approved")
	}
	draft := input("business_research", "recommended", "research", "N/A", "research/draft.md", "Finalized")
	for _, tc := range []struct {
		id, text string
		tasks    []map[string]any
	}{
		{"S0-ADD-02", "Invalid artifact_id format: HLS-12", []map[string]any{hlsTask("HLS-12", prdInput())}},
		{"S0-ADD-02", "Invalid artifact_id format: HLS-012'; DROP TABLE tasks;--", []map[string]any{hlsTask("HLS-012'; DROP TABLE tasks;--", prdInput())}},
		{"S0-ADD-02", "Invalid artifact_id format: HLS-00000000000000001", []map[string]any{hlsTask("HLS-00000000000000001", prdInput())}},
		{"S0-ADD-02", "Artifact ID contains path traversal", []map[string]any{hlsTask("HLS-%2e%2e%2f", prdInput())}},
		{"S0-ADD-02", "Unknown artifact ID prefix: XYZ. Valid prefixes: EPIC, PRD, HLS, US, SPEC, ADR, SPIKE, TASK, VIS, INIT", []map[string]any{hlsTask("XYZ-001", prdInput())}},
		{"S0-ADD-03", "Unknown generator: nope", []map[string]any{with(hlsTask("HLS-012", prdInput()), "generator", "nope")}},
		{"S0-ADD-04", "inputs list must contain at least one GeneratorInput", []map[string]any{with(hlsTask("HLS-012"), "inputs", []any{})}},
		{"S0-ADD-05", "Mandatory input 'prd' missing for task HLS-012", []map[string]any{hlsTask("HLS-012", prd("name", "other"))}},
		{"S0-ADD-06", "Mandatory input 'prd' missing for task HLS-012", []map[string]any{hlsTask("HLS-012", researchInput(), prd("classification", "recommended"))}},
		{"S0-ADD-06", "Mandatory input 'prd' missing for task HLS-012", []map[string]any{hlsTask("HLS-012", prd("classification", "conditional"))}},
		{"S0-ADD-07", "Invalid resource_uri format", []map[string]any{hlsTask("HLS-012", prd("mcp_resource_uri", "http://resources/x"))}},
		{"S0-ADD-07", "Invalid resource_uri format", []map[string]any{hlsTask("HLS-012", prd("mcp_resource_uri", "artifacts/prds/PRD-006_v1.md"))}},
		{"S0-ADD-07", "Invalid resource_uri format", []map[string]any{hlsTask("HLS-012", prd("mcp_resource_uri", "file:///etc/passwd"))}},
		{"S0-ADD-07", "Resource name contains path traversal", []map[string]any{hlsTask("HLS-012", prd("mcp_resource_uri", "mcp://resources/../x"))}},
		{"S0-ADD-08", "Input file not found: PRD-006_v3.md", []map[string]any{hlsTask("HLS-012", at("artifacts/prds/PRD-006_v3.md"))}},
		{"S0-ADD-08", "Input file not found: PRD-006_v1.md", []map[string]any{hlsTask("HLS-012", at("PRD-006_v1.md"))}},
		{"S0-ADD-08", "Input file not found: PRD-006_v1.md", []map[string]any{hlsTask("HLS-012", at("artifacts/epics/PRD-006_v1.md"))}},
		{"S0-ADD-08", "Input file not found: PRD-008_v1.md", []map[string]any{hlsTask("HLS-012", of("PRD-008"))}},
		{"S0-ADD-08", "Input file not found: PRD-009_v1.md", []map[string]any{hlsTask("HLS-012", of("PRD-009"))}},
		{"S0-ADD-08", "Input file not found: none.md", []map[string]any{hlsTask("HLS-012", prdInput(), with(researchInput(), "resource_path", "artifacts/research/none.md"))}},
		{"S0-ADD-08", "Resource path contains path traversal", []map[string]any{hlsTask("HLS-012", at("artifacts/prds/../../etc/passwd"))}},
		{"S0-ADD-08", "Resource path contains path traversal", []map[string]any{hlsTask("HLS-012", at("/etc/passwd"))}},
		{"S0-ADD-08", "Resource path contains path traversal", []map[string]any{hlsTask("HLS-012", at("artifacts/prds/%2e%2e%2fx.md"))}},
		{"S0-ADD-09", "Input artifact PRD-007 not approved", []map[string]any{hlsTask("HLS-012", of("PRD-007"))}},
		{"S0-ADD-09", "Input artifact PRD-006 not approved", []map[string]any{hlsTask("HLS-012", prd("status", "Draft"))}},
		{"S0-ADD-09", "Input artifact PRD-010 not approved", []map[string]any{hlsTask("HLS-012", of("PRD-010"))}},
		{"S0-ADD-09", "Input artifact PRD-099 of type prd is not what its resource_path names", []map[string]any{hlsTask("HLS-012", prd("artifact_id", "PRD-099"))}},
		{"S0-ADD-10", "Research input 'business_research' must have status='Finalized' (current status: Draft)", []map[string]any{hlsTask("HLS-012", prdInput(), with(researchInput(), "status", "Draft"))}},
		{"S0-ADD-10", "Research input 'business_research' must have status='Finalized' (current status: Draft)", []map[string]any{hlsTask("HLS-012", prdInput(), draft)}},
		{"S0-ADD-11", "Duplicate artifact_id in batch", []map[string]any{hlsTask("HLS-012", prdInput()), hlsTask("HLS-013", prdInput()), hlsTask("HLS-012", prdInput())}},
		{"S0-ADD-22", "tasks[0] has the old form with parent_id", []map[string]any{{"artifact_id": "HLS-012", "parent_id": "PRD-006", "task_id": "x"}}},
		{"type", "tasks[0].generator must be a string", []map[string]any{with(hlsTask("HLS-012", prdInput()), "generator", 7)}},
		{"type", "tasks[1].inputs must be an array", []map[string]any{hlsTask("HLS-012", prdInput()), with(hlsTask("HLS-013"), "inputs", "x")}},
		{"missing", "Missing required argument: tasks[0].task_id", []map[string]any{with(hlsTask("HLS-012", prdInput()), "task_id", nil)}},
		{"empty", "tasks[0].task_id must not be empty", []map[string]any{with(hlsTask("HLS-012", prdInput()), "task_id", "")}},
		{"long", "tasks[0].task_id must be a string of at most 128 characters", []map[string]any{with(hlsTask("HLS-012", prdInput()), "task_id", strings.Repeat("x", 129))}},
		{"missing", "Missing required argument: tasks[0].inputs[0].status", []map[string]any{hlsTask("HLS-012", prd("status", nil))}},
		{"enum", "tasks[0].status must be one of pending, in_progress, completed", []map[string]any{with(hlsTask("HLS-012", prdInput()), "status", "paused")}},
		{"enum", "tasks[0].inputs[0].classification must be one of mandatory, recommended, conditional", []map[string]any{hlsTask("HLS-012", prd("classification", "vital"))}},
		{"NUL", "tasks[0].description must not contain NUL", []map[string]any{with(hlsTask("HLS-012", prdInput()), "description", "a\x00b")}},
		{"unknown", "Unknown argument: extra", []map[string]any{with(hlsTask("HLS-012", prdInput()), "extra", 1)}},
		{"uri", "tasks[0].inputs[0].mcp_resource_uri is missing", []map[string]any{hlsTask("HLS-012", prd("mcp_resource_uri", nil))}},
		{"other uri", "Input mcp_resource_uri mcp://resources/artifacts/prds/PRD-007_v1.md is not that of its resource_path", []map[string]any{hlsTask("HLS-012", prd("mcp_resource_uri", resourceRoot+"prds/PRD-007_v1.md"))}},
		{"other version", "Input mcp_resource_uri mcp://resources/artifacts/prds/PRD-006_v2.md is not that of its resource_path", []map[string]any{hlsTask("HLS-012", prd("mcp_resource_uri", resourceRoot+"prds/PRD-006_v2.md"))}},
		{"bare uri", "Input mcp_resource_uri mcp://resources/ is not that of its resource_path", []map[string]any{hlsTask("HLS-012", prd("mcp_resource_uri", "mcp://resources/"))}},
		{"unread uri", "Input mcp_resource_uri mcp://resources/artifacts/prd/PRD-006_v1.md is not that of its resource_path", []map[string]any{hlsTask("HLS-012", prd("mcp_resource_uri", resourceRoot+"prd/PRD-006_v1.md"))}},
		{"other research", "Input mcp_resource_uri mcp://resources/artifacts/research/draft.md is not that of its resource_path", []map[string]any{hlsTask("HLS-012", prdInput(), with(researchInput(), "mcp_resource_uri", resourceRoot+"research/draft.md"))}},
		{"uri", "tasks[0].inputs[0].resource_uri and mcp_resource_uri differ", []map[string]any{hlsTask("HLS-012", prd("resource_uri", "mcp://resources/other"))}},
		{"S0-ADD-21", "tasks must have 1 to 100 elements", []map[string]any{}},
		{"S0-ADD-21", "tasks must have 1 to 100 elements", make([]map[string]any, 101)},
		{"object", "tasks[0] must be an object", make([]map[string]any, 1)},
	} {
		t.Run(tc.id+" "+tc.text, func(t *testing.T) {
			_, failure := f.add(t, tc.tasks...)
			require.NotNil(t, failure)
			require.Equal(t, int64(-32602), failure.Code)
			require.Equal(t, "Invalid params: "+tc.text, failure.Message)
			switch tc.id {
			case "S0-ADD-11":
				require.Equal(t, []string{"HLS-012"}, failure.Data["artifact_ids"])
			case "S0-ADD-22":
				require.Contains(t, failure.Data["hint"], "generator and inputs")
			}
		})
	}
	for text, raw := range map[string]string{
		"Missing required argument: tasks":   `{"task_id":"t"}`,
		"tasks must be an array":             `{"task_id":"t","tasks":{}}`,
		"Missing required argument: task_id": `{"tasks":[{"artifact_id":"HLS-012","generator":"hls-generator","task_id":"x","inputs":[]}]}`,
	} {
		_, failure := f.callRaw(t.Context(), t, "add_task", json.RawMessage(raw))
		require.Equal(t, "Invalid params: "+text, failure.Message)
	}
	require.Empty(t, f.wire.sent, "no rule lets anything out")
	require.Empty(t, f.queued(t))
}

func TestS0_ADD_21_24_HundredTasks(t *testing.T) {
	t.Parallel()
	f := queueFlow(t)
	for n, most := range map[int]time.Duration{1: 50 * time.Millisecond, 10: 200 * time.Millisecond, 100: time.Second} {
		tasks := make([]map[string]any, n)
		for i := range tasks {
			tasks[i] = hlsTask(fmt.Sprintf("HLS-%d", 1000*n+i), prdInput(), researchInput())
		}
		raw, err := json.Marshal(tasks)
		require.NoError(t, err)
		require.Less(t, testmain.Busy(func() {
			parsed, err := parseTasks(raw)
			require.NoError(t, err)
			require.NoError(t, (&taskChecker{store: f.workflow.store, research: f.queue.research, call: quiet()}).check(t.Context(), parsed))
		}), most, "%d tasks", n)
		res, failure := f.add(t, tasks...)
		require.Nil(t, failure)
		require.Len(t, res["task_ids"], n)
	}
}

// The retries of the batch, in virtual time: nothing here touches a network.
func TestAddTaskRetries(t *testing.T) {
	t.Parallel()
	created := func(_ int, r *http.Request, _ http.RoundTripper) (*http.Response, error) {
		return answer(r, 201, `{"success":true,"tasks_added":1,"task_ids":["TASK-012"]}`), nil
	}
	for _, tc := range []struct {
		id       string
		fault    func(int, *http.Request, http.RoundTripper) (*http.Response, error)
		attempts int
		code     int64
		text     string
		took     time.Duration
	}{
		{"S0-ADD-13", func(n int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if n < 3 {
				return status(503, "busy")(n, r, next)
			}
			return created(n, r, next)
		}, 3, 0, "", 300 * time.Millisecond},
		{"S0-ADD-14", status(503, "secret"), 3, -32603, "Internal error: the Task Tracking service is not available", 300 * time.Millisecond},
		{"S0-ADD-15", status(400, "Task validation failed:\nsomething"), 1, -32602, "Invalid params: Task validation failed: something", 0},
		{"S0-ADD-16", status(401, "no"), 1, -32000, "Permission denied: the Task Tracking service refused the API key", 0},
		{"S0-ADD-17", func(_ int, r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, 3, -32000, "Request timeout: the Task Tracking service did not answer in time", 15*time.Second + 300*time.Millisecond},
		{"too many ids", func(_ int, r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			return answer(r, 201, `{"task_ids":["TASK-1","TASK-2"]}`), nil
		}, 1, -32603, "Internal error: the Task Tracking service is not available", 0},
		{"redirect", func(_ int, r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			resp := answer(r, 307, "")
			resp.Header.Set("Location", "http://elsewhere/")
			return resp, nil
		}, 1, -32603, "Internal error: the Task Tracking service is not available", 0},
		{"not JSON", func(_ int, r *http.Request, _ http.RoundTripper) (*http.Response, error) {
			return answer(r, 400, `<html>status_code detail</html>`), nil
		}, 1, -32602, "Invalid params: no reason given", 0},
	} {
		t.Run(tc.id, func(t *testing.T) {
			t.Parallel()
			f := queueFlow(t)
			f.wire.on("/tasks/batch", tc.fault)
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, failure := f.add(t, hlsTask("HLS-012", prdInput()))
				require.Equal(t, tc.took, time.Since(begin))
				if tc.code == 0 {
					require.Nil(t, failure)
				} else {
					require.NotNil(t, failure)
					require.Equal(t, tc.code, failure.Code)
					require.Equal(t, tc.text, failure.Message)
				}
			})
			sent := f.wire.to("/tasks/batch")
			require.Len(t, sent, tc.attempts)
			for i := 1; i < len(sent); i++ {
				require.Equal(t, sent[0].Header.Get("Idempotency-Key"), sent[i].Header.Get("Idempotency-Key"))
				require.GreaterOrEqual(t, sent[i].At.Sub(sent[i-1].At), time.Duration(i)*100*time.Millisecond)
			}
		})
	}
}

func TestS0_ADD_18_AnswerLostAfterCommit(t *testing.T) {
	t.Parallel()
	f := queueFlow(t)
	f.wire.on("/tasks/batch", func(n int, r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if n == 1 {
			return lostAnswer(n, r, next)
		}
		return nil, nil
	})
	res, failure := f.add(t, hlsTask("HLS-012", prdInput()))
	require.Nil(t, failure)
	require.Len(t, f.wire.to("/tasks/batch"), 2)
	tasks := f.queued(t)
	require.Len(t, tasks, 1)
	require.Equal(t, res["task_ids"].([]any)[0], tasks[0].TaskID)
}

// A correlation id may be in any language, and in no line but its own.
func TestTaskIDInAnyLanguage(t *testing.T) {
	t.Parallel()
	f := queueFlow(t)
	const workflow = "Größe 50% – 作業"
	_, failure := f.call(t, "add_task", map[string]any{"tasks": []any{hlsTask("HLS-012", prdInput())}, "task_id": workflow})
	require.Nil(t, failure)
	sent, err := url.PathUnescape(f.wire.to("/tasks/batch")[0].Header.Get("X-Task-Id"))
	require.NoError(t, err)
	require.Equal(t, workflow, sent)
	require.Equal(t, workflow, f.records(t, "add_task_invocation_completed")[0]["task_id"])
	_, failure = f.call(t, "add_task", map[string]any{"tasks": []any{hlsTask("HLS-013", prdInput())}, "task_id": "a\r\nb"})
	require.NotNil(t, failure)
	require.Equal(t, int64(-32602), failure.Code)
	require.Len(t, f.queued(t), 1)
}
