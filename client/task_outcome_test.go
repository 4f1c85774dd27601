package client_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A task ends as the call would have: with its result, which may be an error of
// the tool, with its JSON-RPC error, or cancelled.
func TestTaskOutcomes(t *testing.T) {
	t.Parallel()
	const toolSaid = `{"content":[{"type":"text","text":"no"}],"isError":true}`
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		s.script(s.task("failed", ""))
		s.On("tasks/result", result(toolSaid))
		res, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)
		require.True(t, res.IsError)

		s.On("tasks/result", says(jsonrpc.NewError(-32602, "Unknown tool: required", nil)))
		_, err = c.CallTool(t.Context(), "required", nil)
		requireCode(t, err, -32602)
		require.Equal(t, mcperrors.KindNotFound, mcperrors.KindOf(err), "read as an answer to tools/call")
	})
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, extension)
		s.script(s.task("completed", `"resultType":"task","result":`+toolSaid))
		res, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)
		require.True(t, res.IsError)

		s.script(s.task("failed", `"error":{"code":-32603,"message":"broken"}`))
		_, err = c.CallTool(t.Context(), "required", nil)
		requireCode(t, err, -32603)
		for _, status := range []string{"failed", "completed"} {
			s.script(s.task(status, ""))
			_, err = c.CallTool(t.Context(), "required", nil)
			require.ErrorContains(t, err, "without an outcome")
		}
	})
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		s.script(s.task("cancelled", ""))
		_, err := c.CallTool(t.Context(), "required", nil)
		require.Equal(t, mcperrors.KindCanceled, mcperrors.KindOf(err))
		require.ErrorContains(t, err, "cancelled")
		require.Zero(t, s.Count("tasks/result"))
	})
}

func requireCode(t *testing.T, err error, code int64) {
	t.Helper()
	var rpc *jsonrpc.Error
	require.ErrorAs(t, err, &rpc)
	require.Equal(t, code, rpc.Code)
	var lost *client.TaskError
	require.ErrorAs(t, err, &lost)
}

// The output schema holds for what a task brings, too.
func TestTaskOutputIsJudged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core, strictResults)
		s.On("tools/list", result(`{"tools":[{"name":"required","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`))
		c.InvalidateTools()
		_, err := c.GetToolSchema(t.Context(), "required")
		require.NoError(t, err)
		var misfit *client.OutputError
		_, err = c.CallTool(t.Context(), "required", nil)
		require.ErrorAs(t, err, &misfit)
		_, err = c.ResumeTask("required", "t-1").Wait(t.Context())
		require.ErrorAs(t, err, &misfit)
	})
}

// A task was taken and ran, whatever comes of it: no error of it says that the
// call may safely be made again.
func TestTaskErrorsProveNothing(t *testing.T) {
	t.Parallel()
	const unknown = mcperrors.Unknown
	tests := []struct {
		name, version, state, more string
		code                       int64 // of tasks/result
		kind                       mcperrors.Kind
		delivery                   mcperrors.Delivery
	}{
		{"failed by its arguments", core, "failed", "", -32602, mcperrors.KindInvalidArguments, mcperrors.Answered},
		{"failed without a method", core, "failed", "", -32601, mcperrors.KindUnsupported, mcperrors.Answered},
		{"the result has expired", core, "completed", "", -32602, mcperrors.KindNotFound, unknown},
		{"the result cannot be had", core, "completed", "", -32603, mcperrors.KindServer, mcperrors.Answered},
		{"failed by its arguments", extension, "failed", `"error":{"code":-32602,"message":"half way"}`, 0, mcperrors.KindInvalidArguments, mcperrors.Answered},
		{"failed as a request", extension, "failed", `"error":{"code":-32600,"message":"half way"}`, 0, mcperrors.KindProtocol, mcperrors.Answered},
		{"failed with a header's code", extension, "failed", `"error":{"code":-32020,"message":"half way"}`, 0, mcperrors.KindProtocol, mcperrors.Answered},
	}
	for _, tt := range tests {
		t.Run(tt.version+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := withTasks(t, tt.version)
				s.script(s.task("working", ""), s.task(tt.state, tt.more))
				s.On("tasks/result", says(jsonrpc.NewError(tt.code, "Not this", nil)))
				_, err := c.CallTool(t.Context(), "required", nil)
				require.Equal(t, tt.kind, mcperrors.KindOf(err), "%v", err)
				require.Equal(t, tt.delivery, mcperrors.DeliveryOf(err), "%v", err)
				require.False(t, mcperrors.SafeToRetry(err))
				var about *client.TaskError
				require.ErrorAs(t, err, &about)
				require.Equal(t, "t-1", about.ID)
			})
		})
	}
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		s.script("-32602")
		for _, wait := range []func() error{
			func() error { _, err := c.CallTool(t.Context(), "required", nil); return err },
			func() error { _, err := c.ResumeTask("t-1", "required").Wait(t.Context()); return err },
		} {
			err := wait()
			require.Equal(t, mcperrors.KindNotFound, mcperrors.KindOf(err), "%v", err)
			require.Equal(t, unknown, mcperrors.DeliveryOf(err), "somebody made the task")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.ResumeTask("t-1", "required").Wait(ctx)
		require.Equal(t, unknown, mcperrors.DeliveryOf(err))
	})
}

// A server that does not support waiting for the result answers with some error, and
// may end the task at that moment: the client fetches the result, and the error is not
// that of the task.
func TestTaskEndsWhileNobodyMayWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		s.script(s.task("input_required", ""), s.completed())
		refusals := 1
		s.On("tasks/result", func(*clienttest.Call) (any, error) {
			if refusals--; refusals >= 0 {
				return nil, jsonrpc.NewError(-32600, "not yet", nil)
			}
			return json.RawMessage(done), nil
		})
		res, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)
		require.Equal(t, "done", res.Text())
	})
}

// A task from StartTool returns the result of the same CallTool.
func TestStartToolKeepsOptions(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		_, err := c.StartTool(t.Context(), "optional", nil, client.WithMeta("example.com/a", 1))
		require.NoError(t, err)
		require.Contains(t, s.last("tools/call"), `"example.com/a":1`)
		calls := s.Count("tools/call")
		_, err = c.StartTool(t.Context(), "optional", nil, client.WithMeta(mcp.MetaProtocolVersion, "1"))
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err), "a key that is not the caller's: %v", err)
		_, err = c.StartTool(t.Context(), "optional", nil, (&client.InputRequired{}).Answer(mcp.InputResponses{"a": json.RawMessage(`7`)}))
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err), "no answer: %v", err)
		require.Equal(t, calls, s.Count("tools/call"))
		_, err = c.StartTool(t.Context(), "optional", nil, (&client.InputRequired{State: json.RawMessage(`"S"`)}).Answer(mcp.InputResponses{"a": json.RawMessage(`{"action":"cancel"}`)}))
		if version == core {
			require.ErrorContains(t, err, "never does in revision")
			return
		}
		require.NoError(t, err)
		require.Contains(t, s.last("tools/call"), `"inputResponses":{"a":{"action":"cancel"}},"requestState":"S"`)
	})
}

// What is no answer is not sent.
func TestTaskAnswersAreChecked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, extension)
		task := c.ResumeTask("t-1", "required")
		for _, bad := range []mcp.InputResponses{nil, {}, {"a": nil}, {"a": json.RawMessage(`null`)}, {"a": json.RawMessage(`7`)}, {"a": json.RawMessage(`{`)}} {
			err := task.Answer(t.Context(), bad)
			var e *mcperrors.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, []any{mcperrors.KindInvalidArguments, mcperrors.NotSent}, []any{e.Kind, e.Delivery}, "%s: %v", bad, err)
			require.NotContains(t, e.Message, "MarshalJSON")
		}
		require.Zero(t, s.Count("tasks/update"))
		require.NoError(t, task.Answer(t.Context(), mcp.InputResponses{"a": json.RawMessage(`{"action":"decline"}`)}))
		require.Contains(t, s.last("tasks/update"), `"inputResponses":{"a":{"action":"decline"}}`)
	})
}

// Cancel of TaskOptions is about the call's context: a poll that fails leaves the task
// alone, which goes on.
func TestFailedPollCancelsNothing(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		s.script("-32602")
		_, err := c.CallTool(t.Context(), "required", nil, client.WithTask(client.TaskOptions{Cancel: true}))
		require.Error(t, err)
		pass(time.Minute)
		require.Zero(t, s.Count("tasks/cancel"))
	})
}

// A task without an id is nothing to ask about, and no answer either.
func TestTaskWithoutAnID(t *testing.T) {
	t.Parallel()
	for version, text := range map[string]string{
		core:      `{"task":{"taskId":"","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}`,
		extension: `{"resultType":"task","taskId":"","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null}`,
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := withTasks(t, version)
				s.On("tools/call", result(text))
				_, err := c.StartTool(t.Context(), "optional", nil)
				require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err), "%v", err)
				require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))
				require.ErrorContains(t, err, "no id")
				_, err = c.CallTool(t.Context(), "required", nil)
				require.ErrorContains(t, err, "no id")
			})
		})
	}
}

// A task that is cancelled in the very answer to its call has ended.
func TestTaskCancelledAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, extension)
		s.On("tools/call", result(s.task("cancelled", `"resultType":"task"`)))
		_, err := c.CallTool(t.Context(), "required", nil)
		require.Equal(t, mcperrors.KindCanceled, mcperrors.KindOf(err), "%v", err)
		require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))
		require.Zero(t, s.Count("tasks/get"))
	})
}
