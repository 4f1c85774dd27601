package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
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

// CallTool drives a task to its end, asking no more often than the server wants,
// also before the first time.
func TestCallToolDrivesATask(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		res, err := c.CallTool(t.Context(), "required", map[string]any{"a": 1})
		require.NoError(t, err)
		require.Equal(t, "done", res.Text())
		require.Equal(t, []time.Duration{5 * time.Second, 10 * time.Second}, s.polls())
		require.Equal(t, version == core, s.Count("tasks/result") == 1)
		require.Zero(t, s.Count("notifications/cancelled"))
	})
}

// A handle can be asked, waited for, resumed by its id, and cancelled.
func TestTaskHandle(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		task, err := c.StartTool(t.Context(), "optional", nil)
		require.NoError(t, err)
		require.Equal(t, []string{"t-1", "optional"}, []string{task.ID(), task.Tool()})
		require.Empty(t, s.polls())

		state, err := task.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, mcp.TaskWorking, state.Status)
		require.Equal(t, 5*time.Second, state.PollInterval)
		require.Equal(t, time.Hour, *state.TTL)

		resumed := c.ResumeTask(task.Tool(), task.ID())
		res, err := resumed.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, "done", res.Text())
		polls := len(s.polls())
		again, err := resumed.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, res.Text(), again.Text())
		require.Len(t, s.polls(), polls, "the end is remembered")

		require.NoError(t, resumed.Cancel(t.Context()))
		require.Zero(t, s.Count("tasks/cancel"), "it has ended")
		require.NoError(t, task.Cancel(t.Context()))
		require.Equal(t, 1, s.Count("tasks/cancel"))
	})
}

// Two who wait for one task do not ask twice as often, and get the same.
func TestTaskWaitsTogether(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		task, err := c.StartTool(t.Context(), "optional", nil)
		require.NoError(t, err)
		var work sync.WaitGroup
		for range 8 {
			work.Go(func() {
				res, err := task.Wait(t.Context())
				if err != nil || res.Text() != "done" {
					t.Errorf("got %v, %v", res, err)
				}
			})
		}
		work.Wait()
		require.Len(t, s.polls(), 2)
	})
}

// The end of a call's context is not the end of the task: the error says how to
// get hold of it again.
func TestTaskOutlivesItsCall(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		for _, cancels := range []bool{false, true} {
			c, s := withTasks(t, version)
			s.script(s.task("working", ""))
			var opts []client.CallOption
			if cancels {
				opts = append(opts, client.WithTask(client.TaskOptions{Cancel: true}))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := c.CallTool(ctx, "required", nil, opts...)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			var lost *client.TaskError
			require.ErrorAs(t, err, &lost)
			require.Equal(t, []any{"t-1", "required", mcp.TaskWorking}, []any{lost.ID, lost.Tool, lost.Status})
			var e *mcperrors.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, mcperrors.Unknown, e.Delivery)
			synctest.Wait()
			require.Equal(t, cancels, s.Count("tasks/cancel") == 1)
			require.Zero(t, s.Count("notifications/cancelled"))

			s.script(s.completed())
			res, err := c.ResumeTask(lost.Tool, lost.ID).Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, "done", res.Text())
			require.NoError(t, ignoreClosed(c.Close()))
		}
	})
}

// Close ends every wait.
func TestTaskWaitEndsWithClose(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		s.script(s.task("working", ""))
		task, err := c.StartTool(t.Context(), "optional", nil)
		require.NoError(t, err)
		ended := make(chan error)
		go func() {
			_, err := task.Wait(t.Context())
			ended <- err
		}()
		synctest.Wait()
		require.NoError(t, ignoreClosed(c.Close()))
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(<-ended))
	})
}

// Cancelling what has ended is no error, in spite of the server's.
func TestTaskCancelAfterTheEnd(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		s.On("tasks/cancel", says(jsonrpc.NewError(-32602, "too late", nil)))
		s.script(s.completed())
		require.NoError(t, c.ResumeTask("x", "t-1").Cancel(t.Context()))
		s.script("-32602")
		err := c.ResumeTask("x", "t-1").Cancel(t.Context())
		require.Equal(t, mcperrors.KindNotFound, mcperrors.KindOf(err))
	})
}

// Tasks walks the list where there is one.
func TestListTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		s.On("tasks/list", func(call *clienttest.Call) (any, error) {
			if strings.Contains(string(call.Params), "next") {
				return json.RawMessage(`{"tasks":[` + s.task("working", "") + `]}`), nil
			}
			return json.RawMessage(`{"tasks":[` + s.completed() + `],"nextCursor":"next"}`), nil
		})
		var statuses []mcp.TaskStatus
		for task, err := range c.Tasks(t.Context()) {
			require.NoError(t, err)
			statuses = append(statuses, task.Status)
		}
		require.Equal(t, []mcp.TaskStatus{mcp.TaskCompleted, mcp.TaskWorking}, statuses)
	})
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, extension)
		requireRefused(t, s.traffic, func() error {
			for _, err := range c.Tasks(t.Context()) {
				return err
			}
			return errors.New("nothing came")
		}, "")
	})
}

// The cancellation of a request about a task sends no notification, which would cancel
// the task, too.
func TestTaskRequestsAreNotCancelled(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		silent := says(clienttest.ErrSilent)
		within := func(f func(ctx context.Context) error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			require.ErrorIs(t, f(ctx), context.DeadlineExceeded)
			synctest.Wait()
		}
		s.On("tasks/get", silent)
		within(func(ctx context.Context) error {
			_, err := c.ResumeTask("x", "t-1").Wait(ctx)
			return err
		})
		require.Zero(t, s.Count("notifications/cancelled"))
		s.On("tools/call", silent)
		within(func(ctx context.Context) error {
			_, err := c.StartTool(ctx, "optional", nil)
			return err
		})
		// In the stateless era the call was no task yet, and nobody asked for one.
		require.Equal(t, version == extension, s.Count("notifications/cancelled") == 1)
	})
}
