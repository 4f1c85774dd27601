package client_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/officialschema"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Over HTTP a header names the task, and every request about one declares the
// extension.
func TestTaskHeaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		defer s.mem.Close()
		s.result("server/discover", strings.Replace(discoverAll, `"tools":`, `"extensions":{"io.modelcontextprotocol/tasks":{}},"tools":`, 1))
		task := func(status, more string) string {
			return `{"resultType":"complete","taskId":"t 1","status":"` + status + `","createdAt":"","lastUpdatedAt":"","ttlMs":null` + more + `}`
		}
		s.result("tools/call", strings.Replace(task("working", ""), "complete", "task", 1))
		s.on("tasks/get", script(task("working", ""), task("completed", `,"result":`+done)))
		s.result("tasks/update", `{"resultType":"complete"}`)
		s.result("tasks/cancel", `{"resultType":"complete"}`)
		c, err := s.dial(client.WithTasks())
		require.NoError(t, err)
		defer c.Close() //nolint:errcheck // not what is tested
		res, err := c.CallTool(t.Context(), "echo", map[string]any{"message": "hi"})
		require.NoError(t, err)
		require.Equal(t, "done", res.Text())
		resumed := c.ResumeTask("echo", "t 1")
		require.NoError(t, resumed.Answer(t.Context(), mcp.InputResponses{"a": json.RawMessage(`{"action":"cancel"}`)}))
		require.NoError(t, resumed.Cancel(t.Context()))
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			p := s.last(method)
			require.Equal(t, "t 1", p.header.Get("Mcp-Name"), method)
			require.Equal(t, method, p.header.Get("Mcp-Method"))
			require.Contains(t, string(p.meta(t)[mcp.MetaClientCapabilities]), mcp.ExtensionTasks)
		}
		require.Len(t, s.of("tasks/get"), 2)
	})
}

// Every request about tasks is what the official schemas say.
func TestTaskFramesFitTheSchemas(t *testing.T) {
	t.Parallel()
	for version, tt := range map[string]struct {
		folder string
		types  map[string]string
	}{
		core: {"2025-11-25", map[string]string{
			"tools/call": "CallToolRequest", "tasks/get": "GetTaskRequest", "tasks/result": "GetTaskPayloadRequest",
			"tasks/cancel": "CancelTaskRequest", "tasks/list": "ListTasksRequest",
		}},
		extension: {"ext-tasks-draft", map[string]string{
			"tasks/get": "GetTaskRequest", "tasks/update": "UpdateTaskRequest", "tasks/cancel": "CancelTaskRequest",
		}},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			folder, there := officialschema.Folder(1)
			if !there {
				t.Skip("the official schemas are not here")
			}
			text, err := os.ReadFile(filepath.Join(folder, tt.folder, "schema.json"))
			require.NoError(t, err)
			schema, err := officialschema.New(text)
			require.NoError(t, err)
			seen := map[string]int{}
			synctest.Test(t, func(t *testing.T) {
				c, s := withTasks(t, version)
				s.On("tasks/list", result(`{"tasks":[]}`))
				_, err := c.CallTool(t.Context(), "required", map[string]any{"a": 1}, client.WithProgress(func(mcp.ProgressParams) {}))
				require.NoError(t, err)
				task, err := c.StartTool(t.Context(), "optional", nil, client.WithTask(client.TaskOptions{TTL: 1}))
				require.NoError(t, err)
				require.NoError(t, task.Cancel(t.Context()))
				if version == extension {
					require.NoError(t, task.Answer(t.Context(), mcp.InputResponses{"a": json.RawMessage(`{"action":"decline"}`)}))
				} else {
					for _, err := range c.Tasks(t.Context()) {
						require.NoError(t, err)
					}
				}
				for _, line := range s.received() {
					var m struct{ Method string }
					require.NoError(t, json.Unmarshal([]byte(line), &m))
					name := tt.types[m.Method]
					if name == "" {
						continue
					}
					seen[m.Method]++
					require.NoError(t, schema.Validate(name, []byte(line)), line)
				}
			})
			require.Len(t, seen, len(tt.types))
		})
	}
}
