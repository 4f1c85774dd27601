package services_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTasks_Next(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)

	t.Run("S0-TASKAPI-02 none pending", func(t *testing.T) {
		got := r.call("GET", "/tasks/next?project=p", "")
		require.Equal(t, 200, got.status)
		require.JSONEq(t, `{"success":true,"task":null,"message":"No pending tasks for project"}`, got.text)
	})
	t.Run("S0-TASKAPI-03 project missing", func(t *testing.T) {
		requireError(t, r.call("GET", "/tasks/next", ""), 400, "Missing required parameter: project")
	})
	t.Run("S0-TASKAPI-08 batch", func(t *testing.T) {
		got := r.call("POST", "/tasks/batch", batch("p", "HLS-012", "HLS-013", "HLS-014"))
		require.Equal(t, 201, got.status, got.text)
		require.JSONEq(t, `{"success":true,"tasks_added":3,"task_ids":["TASK-001","TASK-002","TASK-003"]}`, got.text)
		other := r.call("POST", "/tasks/batch", batch("q", "HLS-012"))
		require.JSONEq(t, `{"success":true,"tasks_added":1,"task_ids":["TASK-004"]}`, other.text, "one sequence for all projects")
	})
	t.Run("S0-TASKAPI-01 oldest of the project", func(t *testing.T) {
		got := r.call("GET", "/tasks/next?project_id=p&status=pending", "")
		require.JSONEq(t, `{"success":true,"task":{"task_id":"TASK-001","project_id":"p","artifact_id":"HLS-012","generator":"hls-generator",
			"status":"pending","description":"Generate HLS-012 from PRD-006","correlation_id":"gen-001","inputs_json":[`+input+`],
			"created_at":"2026-10-20T14:45:00.000Z","updated_at":"2026-10-20T14:45:00.000Z"}}`, got.text)
		require.Equal(t, "TASK-004", r.call("GET", "/tasks/next?project=q", "").body["task"].(map[string]any)["task_id"])
	})
	t.Run("unknown status", func(t *testing.T) {
		requireError(t, r.call("GET", "/tasks/next?project=p&status=done", ""), 400,
			"Invalid status: done. Valid statuses: pending, in_progress, completed")
	})
}

func TestTasks_SetStatus(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	require.Equal(t, 201, r.call("POST", "/tasks/batch", batch("p", "HLS-012", "HLS-013")).status)
	status := func(id string) any {
		for _, task := range r.call("GET", "/tasks?project=p", "").body["tasks"].([]any) {
			if task := task.(map[string]any); task["task_id"] == id {
				return task["status"]
			}
		}
		return nil
	}

	t.Run("S0-TASKAPI-05 refused moves", func(t *testing.T) {
		requireError(t, r.call("PUT", "/tasks/TASK-001/status", `{"status":"completed"}`), 400, "Invalid status transition: pending → completed")
		requireError(t, r.call("PUT", "/tasks/TASK-001/status", `{"status":"gone"}`), 400,
			"Invalid status: gone. Valid statuses: pending, in_progress, completed")
		requireError(t, r.call("PUT", "/tasks/TASK-001/status", `{}`), 400, "Missing required parameter: status")
		require.Equal(t, "pending", status("TASK-001"))
	})
	t.Run("S0-TASKAPI-06 unknown task", func(t *testing.T) {
		requireError(t, r.call("PUT", "/tasks/TASK-051/status", `{"status":"in_progress"}`), 404, "Task not found: TASK-051")
		requireError(t, r.call("PUT", "/tasks/x%27%20OR%201=1--/status", `{"status":"in_progress"}`), 404, "Task not found: x' OR 1=1--")
	})
	t.Run("S0-TASKAPI-04 the way through", func(t *testing.T) {
		got := r.call("PUT", "/tasks/TASK-001/status", `{"status":"in_progress","worker":"w1"}`)
		require.JSONEq(t, `{"success":true,"updated_task":{"task_id":"TASK-001","status":"in_progress","started_at":"2026-10-20T14:45:00.000Z"}}`, got.text)
		r.pass(1500e6)
		got = r.call("PUT", "/tasks/TASK-001/status", `{"status":"completed","completion_notes":"done"}`)
		require.JSONEq(t, `{"success":true,"updated_task":{"task_id":"TASK-001","status":"completed","started_at":"2026-10-20T14:45:00.000Z",
			"completed_at":"2026-10-20T14:45:01.500Z","completion_notes":"done"}}`, got.text)
		again := r.call("PUT", "/tasks/TASK-001/status", `{"status":"completed","completion_notes":"other"}`)
		require.Equal(t, got.text, again.text, "the same status again changes nothing")
	})
	t.Run("S0-TASKAPI-05 completed is the end, but for a reset", func(t *testing.T) {
		requireError(t, r.call("PUT", "/tasks/TASK-001/status", `{"status":"pending"}`), 400, "Invalid status transition: completed → pending")
		got := r.call("PUT", "/tasks/TASK-001/status", `{"status":"pending","reset":true}`)
		require.JSONEq(t, `{"success":true,"updated_task":{"task_id":"TASK-001","status":"pending"}}`, got.text)
	})
	t.Run("S0-TASKAPI-04 notes under their short name, kept in the list", func(t *testing.T) {
		r := newRig(t, nil)
		require.Equal(t, 201, r.call("POST", "/tasks/batch", batch("p", "HLS-012")).status)
		require.Equal(t, 200, r.call("PUT", "/tasks/TASK-001/status", `{"status":"in_progress"}`).status)
		r.pass(1500e6)
		got := r.call("PUT", "/tasks/TASK-001/status", `{"status":"completed","notes":"written, größe 3"}`)
		require.JSONEq(t, `{"success":true,"updated_task":{"task_id":"TASK-001","status":"completed","started_at":"2026-10-20T14:45:00.000Z",
			"completed_at":"2026-10-20T14:45:01.500Z","completion_notes":"written, größe 3"}}`, got.text)
		task := r.call("GET", "/tasks?project=p", "").body["tasks"].([]any)[0].(map[string]any)
		require.Equal(t, "written, größe 3", task["completion_notes"])
		require.Equal(t, "2026-10-20T14:45:01.500Z", task["completed_at"])
		require.NotContains(t, task, "notes")
		both := r.call("POST", "/tasks/batch", batch("p", "HLS-013"))
		require.Equal(t, 201, both.status)
		require.Equal(t, 200, r.call("PUT", "/tasks/TASK-002/status", `{"status":"in_progress"}`).status)
		got = r.call("PUT", "/tasks/TASK-002/status", `{"status":"completed","completion_notes":"the column","notes":"other"}`)
		require.Equal(t, "the column", got.body["updated_task"].(map[string]any)["completion_notes"])
	})
	t.Run("a worker may take a task twice, nobody else", func(t *testing.T) {
		require.Equal(t, 200, r.call("PUT", "/tasks/TASK-002/status", `{"status":"in_progress","worker":"w1"}`).status)
		require.Equal(t, 200, r.call("PUT", "/tasks/TASK-002/status", `{"status":"in_progress","worker":"w1"}`).status)
		requireError(t, r.call("PUT", "/tasks/TASK-002/status", `{"status":"in_progress","worker":"w2"}`), 409, "Task already in progress: TASK-002")
		requireError(t, r.call("PUT", "/tasks/TASK-002/status", `{"status":"in_progress"}`), 409, "Task already in progress: TASK-002")
	})
}

func TestTasks_S0_TASKAPI_16_OneWinner(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	const tasks, workers = 20, 8
	var ids []string
	for i := range tasks {
		ids = append(ids, fmt.Sprintf("HLS-%03d", i))
	}
	require.Equal(t, 201, r.call("POST", "/tasks/batch", batch("p", ids...)).status)
	var mu sync.Mutex
	won := map[string]int{}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				task, ok := r.call("GET", "/tasks/next?project=p", "").body["task"].(map[string]any)
				if !ok {
					return
				}
				id := task["task_id"].(string)
				got := r.call("PUT", "/tasks/"+id+"/status", `{"status":"in_progress"}`)
				switch got.status {
				case http.StatusOK:
					mu.Lock()
					won[id]++
					mu.Unlock()
				case http.StatusConflict:
				default:
					t.Errorf("unexpected answer: %s", got.text)
					return
				}
			}
		})
	}
	all.Wait()
	require.Len(t, won, tasks)
	for id, n := range won {
		require.Equal(t, 1, n, id)
	}
}

func TestTasks_List(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	require.Equal(t, 201, r.call("POST", "/tasks/batch", batch("p", "HLS-001", "HLS-002", "HLS-003")).status)
	require.Equal(t, 201, r.call("POST", "/tasks/batch", batch("q", "HLS-001")).status)
	epic := strings.ReplaceAll(batch("p", "PRD-001"), "PRD-006", "EPIC-006")
	require.Equal(t, 201, r.call("POST", "/tasks/batch", epic).status)
	require.Equal(t, 200, r.call("PUT", "/tasks/TASK-002/status", `{"status":"in_progress"}`).status)

	for _, tc := range []struct {
		name, query string
		want        []string
	}{
		{"S0-TASKAPI-07 by project", "project=p", []string{"TASK-001", "TASK-002", "TASK-003", "TASK-005"}},
		{"S0-TASKAPI-07 by status", "project=p&status=in_progress", []string{"TASK-002"}},
		{"other projects are hidden", "project=q", []string{"TASK-004"}},
		{"by artifact", "project_id=p&artifact_id=HLS-003", []string{"TASK-003"}},
		{"S0-TASKAPI-11 by input", "project=p&input_artifact_id=EPIC-006", []string{"TASK-005"}},
		{"a wildcard is text", "project=p&input_artifact_id=%25", []string{}},
		{"pages", "project=p&limit=2&offset=1", []string{"TASK-002", "TASK-003"}},
		{"S0-TASKAPI-12 without mandatory", "project=p&without_mandatory=true", []string{}},
		{"no such project", "project=%27%20OR%20%271%27=%271", []string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := r.call("GET", "/tasks?"+tc.query, "")
			require.Equal(t, 200, got.status, got.text)
			ids := []string{}
			for _, task := range got.body["tasks"].([]any) {
				ids = append(ids, task.(map[string]any)["task_id"].(string))
			}
			require.Equal(t, tc.want, ids)
			require.Equal(t, float64(len(tc.want)), got.body["count"])
		})
	}
	for query, detail := range map[string]string{
		"":                             "Missing required parameter: project",
		"project=p&project_id=q":       "Invalid project: project and project_id differ",
		"project=p&limit=0":            "Invalid limit: must be between 1 and 1000",
		"project=p&limit=1001":         "Invalid limit: must be between 1 and 1000",
		"project=p&offset=-1":          "Invalid offset: must be between 0 and 2147483647",
		"project=p&offset=x":           "Invalid offset: must be between 0 and 2147483647",
		"project=p&status=x":           "Invalid status: x. Valid statuses: pending, in_progress, completed",
		"project=p&artifact_id=a%00b":  "Invalid artifact_id",
		"project=a%00b":                "Invalid project: must be 1 to 100 printable characters",
		"project=%ff":                  "Invalid project: must be 1 to 100 printable characters",
		"project=p&without_mandatory=": "",
	} {
		got := r.call("GET", "/tasks?"+query, "")
		if detail == "" {
			require.Equal(t, 200, got.status)
			continue
		}
		requireError(t, got, 400, detail)
	}
}

func TestTasks_BatchRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	require.Equal(t, 201, r.call("POST", "/tasks/batch", batch("p", "HLS-012")).status)
	task := func(members string) string { return `{"project_id":"p","tasks":[{` + members + `}]}` }
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf("US-%03d", i)
	}
	for _, tc := range []struct{ name, body, detail string }{
		{"S0-TASKAPI-10 queued already", batch("p", "HLS-013", "HLS-012"), "Task validation failed: artifact_id HLS-012 already exists in queue"},
		{"twice in the batch", batch("p", "HLS-013", "HLS-013"), "Task validation failed: Duplicate artifact_id in batch: HLS-013"},
		{"no project", `{"tasks":[]}`, "Missing required parameter: project_id"},
		{"no tasks", `{"project_id":"p"}`, "Missing required parameter: tasks"},
		{"empty", `{"project_id":"p","tasks":[]}`, "Task validation failed: tasks must hold between 1 and 100 tasks"},
		{"101", batch("p", many...), "Task validation failed: tasks must hold between 1 and 100 tasks"},
		{"placeholder", batch("p", "HLS-AAA"), `Task validation failed: invalid artifact_id "HLS-AAA"`},
		{"no generator", task(`"artifact_id":"HLS-020","inputs":[` + input + `]`), "Task validation failed: generator missing for task HLS-020"},
		{"unknown status", task(`"artifact_id":"HLS-020","generator":"g","status":"x","inputs":[` + input + `]`), `Task validation failed: unknown status "x" for task HLS-020`},
		{"no inputs", task(`"artifact_id":"HLS-020","generator":"g"`), "Task validation failed: inputs are not a list of objects for task HLS-020"},
		{"empty inputs", task(`"artifact_id":"HLS-020","generator":"g","inputs":[]`), "Task validation failed: inputs must hold between 1 and 1000 inputs for task HLS-020"},
		{
			"no mandatory input", task(`"artifact_id":"HLS-020","generator":"g","inputs":[{"name":"r","classification":"recommended"}]`),
			"Task validation failed: mandatory input missing for task HLS-020",
		},
		{
			"unknown classification", task(`"artifact_id":"HLS-020","generator":"g","inputs":[{"name":"r","classification":"x"}]`),
			`Task validation failed: unknown classification "x" for task HLS-020`,
		},
		{"NUL", task(`"artifact_id":"HLS-020","generator":"a\u0000b","inputs":[` + input + `]`), "Task validation failed: Invalid generator: must be at most 100 characters without NUL for task HLS-020"},
		{"wrong type", `{"project_id":"p","tasks":"x"}`, "Invalid tasks: wrong type string"},
		{"S0-TASKAPI-14 malformed", `{"project_id":`, "Malformed JSON: unexpected end of JSON input"},
		{"no object", `[]`, "Malformed JSON: the body must be an object"},
		{"nothing", ``, "Malformed JSON: the body must be an object"},
		{"two values", `{} {}`, "Malformed JSON: invalid character '{' after top-level value"},
		{"bad UTF-8", "{\"project_id\":\"\xff\"}", "Malformed JSON: the body must be an object"},
	} {
		t.Run(tc.name, func(t *testing.T) { requireError(t, r.call("POST", "/tasks/batch", tc.body), 400, tc.detail) })
	}
	require.InDelta(t, 1, r.call("GET", "/tasks?project=p", "").body["count"], 0, "S0-TASKAPI-09: a batch with a bad task inserts nothing")
}

func TestTasks_BatchForms(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	alias := strings.ReplaceAll(input, "mcp_resource_uri", "resource_uri")
	for i, inputs := range []string{
		`"inputs":[` + input + `]`,
		`"inputs":[` + alias + `]`,
		`"inputs_json":[` + input + `]`,
		`"inputs_json":"[` + strings.ReplaceAll(input, `"`, `\"`) + `]"`,
		`"inputs":[` + input + `],"unknown":{"members":"are ignored"}`,
	} {
		project := fmt.Sprintf("p%d", i)
		body := `{"project":"` + project + `","tasks":[{"artifact_id":"HLS-001","generator":"hls-generator",` + inputs + `}]}`
		require.Equal(t, 201, r.call("POST", "/tasks/batch", body).status, inputs)
		task := r.call("GET", "/tasks/next?project="+project, "").body["task"].(map[string]any)
		require.Equal(t, "mcp://resources/artifacts/prds/PRD-006_v3.md", task["inputs_json"].([]any)[0].(map[string]any)["mcp_resource_uri"])
		require.Equal(t, "pending", task["status"])
	}
}

func TestTasks_Remove(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	require.Equal(t, 201, r.call("POST", "/tasks/batch", batch("p", "HLS-012", "HLS-013", "HLS-014")).status)
	require.Equal(t, 200, r.call("PUT", "/tasks/TASK-003/status", `{"status":"in_progress"}`).status)
	const first = `{"task_id":"TASK-001","artifact_id":"HLS-012"}`
	requireError(t, r.call("POST", "/tasks/remove", `{"project_id":"p","tasks":[`+first+`,{"task_id":"TASK-003","artifact_id":"HLS-014"}]}`), 409,
		"Task TASK-003 for HLS-014 is in_progress")
	require.Equal(t, 3.0, r.call("GET", "/tasks?project=p", "").body["count"], "none without the other")
	for _, removed := range []float64{1, 0} {
		got := r.call("POST", "/tasks/remove", `{"project":"p","tasks":[`+first+`]}`)
		require.Equal(t, 200, got.status)
		require.Equal(t, removed, got.body["tasks_removed"])
	}
	requireError(t, r.call("PUT", "/tasks/TASK-001/status", `{"status":"in_progress"}`), 404, "Task not found: TASK-001")
	got := r.call("POST", "/tasks/batch", batch("p", "HLS-012"))
	require.Equal(t, []any{"TASK-004"}, got.body["task_ids"], "the artifact is free again, the id is not")

	for body, text := range map[string]string{
		`{"tasks":[` + first + `]}`: "Missing required parameter: project_id",
		`{"project":"p"}`:           "Invalid tasks: must hold between 1 and 100 tasks",
		`{"project":"p","tasks":[` + strings.Repeat(first+",", 100) + first + `]}`: "Invalid tasks: must hold between 1 and 100 tasks",
		`{"project":"p","tasks":[{"task_id":"x","artifact_id":"HLS-012"}]}`:        "Invalid task_id: x",
		`{"project":"p","tasks":[{"task_id":"TASK-001","artifact_id":"y"}]}`:       "Invalid artifact_id: y",
	} {
		requireError(t, r.call("POST", "/tasks/remove", body), 400, text)
	}
}
