package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// taskRequest is a form that shall run as a task, with the members of its metadata.
func taskRequest(id int64, meta string) jsonrpc.Request {
	params := `{"message":"?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}},"task":{` + meta + `}}`
	return jsonrpc.Request{ID: jsonrpc.IntID(id), Method: mcp.MethodElicitationCreate, Params: json.RawMessage(params)}
}

// about is a request about a task.
func about(id int64, method, task string) jsonrpc.Request {
	return jsonrpc.Request{ID: jsonrpc.IntID(id), Method: method, Params: json.RawMessage(fmt.Sprintf(`{"taskId":%q}`, task))}
}

// thinker is a user who answers when told to.
type thinker chan error

func (u thinker) form(ctx context.Context, _ Requester, _ FormRequest) (*mcp.ElicitResult, error) {
	select {
	case err := <-u:
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":"Ann"}`)}, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A question that runs as a task is answered with its id at once. Its state is working until the
// user has answered, and tasks/result, which waits, has what the request would have returned
// (2025-11-25, basic/utilities/tasks).
func TestQuestionAsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		user := make(thinker)
		o := own(t, Offer{Tasks: true, Form: user.form})
		from, _ := session()
		o.Request(t.Context(), from, Incoming{Request: taskRequest(1, `"ttl":120000`)})
		var created mcp.CreateTaskResult
		require.NoError(t, mcp.Unmarshal([]byte(o.said()["1"]), &created))
		require.Equal(t, mcp.TaskWorking, created.Task.Status)
		require.Equal(t, int64(120_000), *created.Task.TTL)
		require.NotEmpty(t, created.Task.CreatedAt)
		id := created.Task.TaskID

		o.Request(t.Context(), from, Incoming{Request: about(2, mcp.MethodTasksResult, id)})
		o.Request(t.Context(), from, Incoming{Request: about(3, mcp.MethodTasksGet, id)})
		require.NotContains(t, o.said(), "2", "tasks/result waits")
		require.Contains(t, o.said()["3"], `"status":"working"`)

		user <- nil
		related := fmt.Sprintf(`{"action":"accept","content":{"name":"Ann"},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":%q}}}`, id)
		require.JSONEq(t, related, o.said()["2"])
		o.Request(t.Context(), from, Incoming{Request: about(4, mcp.MethodTasksGet, id)})
		o.Request(t.Context(), from, Incoming{Request: about(5, mcp.MethodTasksResult, id)})
		o.Request(t.Context(), from, Incoming{Request: about(6, mcp.MethodTasksCancel, id)})
		o.Request(t.Context(), from, Incoming{Request: jsonrpc.Request{ID: jsonrpc.IntID(7), Method: mcp.MethodTasksList}})
		said := o.said()
		require.Contains(t, said["4"], `"status":"completed"`)
		require.NotContains(t, said["4"], "related-task")
		require.JSONEq(t, related, said["5"], "an answer can be had more than once")
		require.Contains(t, said["6"], "-32602")
		require.Contains(t, said["7"], id)

		time.Sleep(2*time.Minute + time.Second) // the time that the server wanted
		o.Request(t.Context(), from, Incoming{Request: about(8, mcp.MethodTasksGet, id)})
		require.Contains(t, o.said()["8"], "-32602")
	})
}

// A task that fails, is cancelled or whose session ends stops its handler, and has that state.
func TestTaskEnds(t *testing.T) {
	start := func(t *testing.T, o *owner, from Incoming) (id string) {
		t.Helper()
		link, _ := session()
		o.Request(t.Context(), link, from)
		var created mcp.CreateTaskResult
		require.NoError(t, mcp.Unmarshal([]byte(o.said()["1"]), &created))
		return created.Task.TaskID
	}
	t.Run("failed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			o := own(t, Offer{Tasks: true, Sampling: func(context.Context, Requester, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return nil, jsonrpc.NewError(-32050, "no pen", nil)
			}})
			link, _ := session()
			id := start(t, o, Incoming{Request: jsonrpc.Request{
				ID: jsonrpc.IntID(1), Method: mcp.MethodSamplingCreateMessage, Params: json.RawMessage(`{"messages":[],"maxTokens":9,"task":{}}`),
			}})
			o.Request(t.Context(), link, Incoming{Request: about(2, mcp.MethodTasksGet, id)})
			o.Request(t.Context(), link, Incoming{Request: about(3, mcp.MethodTasksResult, id)})
			require.Contains(t, o.said()["2"], `"status":"failed"`)
			require.Contains(t, o.said()["2"], "no pen")
			require.Contains(t, o.said()["3"], "-32050")
		})
	})
	t.Run("cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			why := make(chan error, 1)
			o := own(t, Offer{Tasks: true, Form: hangs(why)})
			link, _ := session()
			id := start(t, o, Incoming{Request: taskRequest(1, "")})
			o.Request(t.Context(), link, Incoming{Request: about(2, mcp.MethodTasksResult, id)})
			o.Request(t.Context(), link, Incoming{Request: about(3, mcp.MethodTasksCancel, id)})
			said := o.said()
			require.Contains(t, said["3"], `"status":"cancelled"`)
			require.Contains(t, said["2"], "cancelled", "tasks/result does not wait any longer")
			require.Error(t, <-why)
		})
	})
	t.Run("session lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			why := make(chan error, 1)
			o := own(t, Offer{Tasks: true, Form: hangs(why)})
			link, _ := session()
			id := start(t, o, Incoming{Request: taskRequest(1, "")})
			o.LinkEnded()
			require.Error(t, <-why)
			o.Request(t.Context(), link, Incoming{Request: about(2, mcp.MethodTasksGet, id)})
			require.Contains(t, o.said()["2"], "-32602")
		})
	})
}

// A client that does not declare tasks answers as if none were wanted, and knows no tasks.
func TestUndeclaredTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		user := make(thinker, 1)
		user <- nil
		o := own(t, Offer{Form: user.form})
		link, _ := session()
		require.Nil(t, o.Offer.Capabilities(mcp.Version2025_11_25).Tasks)
		o.Request(t.Context(), link, Incoming{Request: taskRequest(1, "")})
		o.Request(t.Context(), link, Incoming{Request: about(2, mcp.MethodTasksGet, "x")})
		said := o.said()
		require.Contains(t, said["1"], `"action":"accept"`)
		require.Contains(t, said["2"], "-32601")
	})
}

// The declaration follows the handlers that tasks can run.
func TestTasksDeclared(t *testing.T) {
	form := func(context.Context, Requester, FormRequest) (*mcp.ElicitResult, error) { return nil, ErrRejected }
	o := Offer{Tasks: true, Form: form}
	caps, err := json.Marshal(o.Capabilities(mcp.Version2025_11_25).Tasks)
	require.NoError(t, err)
	require.JSONEq(t, `{"list":{},"cancel":{},"requests":{"elicitation":{"create":{}}}}`, string(caps))
	require.Nil(t, o.Capabilities(mcp.Version2025_06_18).Tasks)
	require.Nil(t, o.Capabilities(mcp.Version2026_07_28).Tasks)
	require.Nil(t, (&Offer{Tasks: true}).Capabilities(mcp.Version2025_11_25).Tasks)
}

// A server cannot make the client hold more than a bounded number of tasks; those that have ended
// make room.
func TestManyTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		user := make(thinker)
		o := own(t, Offer{Tasks: true, Form: user.form, Limits: Limits{Concurrent: 200, PerMinute: 1000}})
		link, _ := session()
		for i := range int64(maxTasks + 1) {
			o.Request(t.Context(), link, Incoming{Request: taskRequest(i, "")})
			synctest.Wait()
		}
		require.Contains(t, o.said()[fmt.Sprint(maxTasks)], "-32000")
		user <- nil
		synctest.Wait()
		o.Request(t.Context(), link, Incoming{Request: taskRequest(maxTasks+1, "")})
		require.Contains(t, o.said()[fmt.Sprint(maxTasks+1)], `"status":"working"`)
	})
}
