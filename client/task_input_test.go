package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Progress continues until the task has ended, with the token of the call.
func TestTaskProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		s.script(s.task("working", ""), s.task("working", ""), s.completed())
		var seen []float64
		report := client.WithProgress(func(p mcp.ProgressParams) { seen = append(seen, p.Progress) })
		tell := func(token, n int) {
			s.Notify("notifications/progress", json.RawMessage(fmt.Sprintf(`{"progressToken":%d,"progress":%d,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}}}`, token, n)))
			synctest.Wait()
		}
		go func() {
			time.Sleep(7 * time.Second)
			tell(1, 1)
			time.Sleep(5 * time.Second)
			tell(1, 2)
		}()
		_, err := c.CallTool(t.Context(), "required", nil, report)
		require.NoError(t, err)
		require.Equal(t, []float64{1, 2}, seen)
		tell(1, 3)
		require.Len(t, seen, 2, "not after the end")

		s.script(s.completed())
		task, err := c.StartTool(t.Context(), "optional", nil, report)
		require.NoError(t, err)
		tell(2, 4)
		require.Len(t, seen, 3, "between the start and the wait, too")
		_, err = task.Wait(t.Context())
		require.NoError(t, err)
		tell(2, 5)
		require.Len(t, seen, 3)
	})
}

// In 2025-11-25 a task that wants to know something asks on the stream of
// tasks/result, which is why the client waits there.
func TestCoreTaskAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		c, s := withTasks(t, core, client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
			asked.Add(1)
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		}))
		s.script(s.task("input_required", ""))
		var answer json.RawMessage
		s.On("tasks/result", func(call *clienttest.Call) (_ any, err error) {
			answer, err = call.Ask("elicitation/create", json.RawMessage(
				`{"message":"Go on?","requestedSchema":{"type":"object","properties":{}},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}}}`))
			time.Sleep(3 * time.Second)
			return json.RawMessage(done), err
		})
		res, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)
		require.Equal(t, "done", res.Text())
		require.EqualValues(t, 1, asked.Load())
		require.Contains(t, string(answer), `"io.modelcontextprotocol/related-task":{"taskId":"t-1"}`, "META-09")
	})
	// Servers that do not let anybody wait are polled.
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		s.script(s.task("input_required", ""), s.task("input_required", ""), s.completed())
		n := 0
		s.On("tasks/result", func(*clienttest.Call) (any, error) {
			if n++; n == 1 {
				return nil, jsonrpc.NewError(-32602, "not yet", nil)
			}
			return json.RawMessage(done), nil
		})
		_, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)
	})
}

// In the stateless era tasks/get lists the questions of a task. Each is shown and
// answered once, however often it is listed.
func TestExtensionTaskAsks(t *testing.T) {
	t.Parallel()
	const form = `{"method":"elicitation/create","params":{"message":"Go on?","requestedSchema":{"type":"object","properties":{}}}}`
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		c, s := withTasks(t, extension, client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
			asked.Add(1)
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		}))
		one := s.task("input_required", `"inputRequests":{"a":`+form+`}`)
		two := s.task("input_required", `"inputRequests":{"a":`+form+`,"b":`+form+`}`)
		s.script(one, one, two, two, s.completed())
		fails := 0
		s.On("tasks/update", func(*clienttest.Call) (any, error) {
			if fails++; fails == 1 {
				return nil, jsonrpc.NewError(-32603, "try again", nil)
			}
			return json.RawMessage(`{"resultType":"complete"}`), nil
		})
		_, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)
		require.EqualValues(t, 2, asked.Load())
		var updates []string
		for _, line := range s.received() {
			var m struct {
				Method string
				Params struct{ InputResponses map[string]any }
			}
			require.NoError(t, json.Unmarshal([]byte(line), &m))
			if m.Method == "tasks/update" {
				for key := range m.Params.InputResponses {
					updates = append(updates, key)
				}
				require.Contains(t, line, mcp.ExtensionTasks, "declared on every request (TASK-06)")
			}
		}
		require.Equal(t, []string{"a", "a", "b"}, updates, "what did not arrive is sent again, not asked again")
	})
	// What nobody here can answer ends the wait, and can be answered by hand.
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, extension)
		s.script(s.task("input_required", `"inputRequests":{"a":`+form+`}`))
		task, err := c.StartTool(t.Context(), "optional", nil)
		require.NoError(t, err)
		_, err = task.Wait(t.Context())
		var need *client.InputRequired
		require.ErrorAs(t, err, &need)
		require.Contains(t, need.Requests, "a")
		var lost *client.TaskError
		require.ErrorAs(t, err, &lost)
		require.NoError(t, task.Answer(t.Context(), mcp.InputResponses{"a": json.RawMessage(`{"action":"decline"}`)}))
		require.Contains(t, s.received()[len(s.received())-1], `"inputResponses":{"a":{"action":"decline"}}`)
		s.script(s.task("input_required", `"inputRequests":{"a":`+form+`}`), s.completed())
		_, err = task.Wait(t.Context())
		require.NoError(t, err)
	})
}
