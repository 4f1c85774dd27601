package client_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Which calls become tasks, and which the client refuses.
func TestTaskSupport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		for tool, want := range map[string]bool{"required": true, "optional": false, "forbidden": false, "silent": false} {
			before := s.Count("tasks/get")
			_, err := c.CallTool(t.Context(), tool, nil)
			require.NoError(t, err)
			require.Equal(t, want, s.Count("tasks/get") > before, tool)
		}
		for _, tool := range []string{"forbidden", "silent"} {
			requireRefused(t, s.traffic, func() error {
				_, err := c.StartTool(t.Context(), tool, nil)
				return err
			}, "cannot be run as a task")
		}
		_, err := c.StartTool(t.Context(), "optional", nil, client.WithTask(client.TaskOptions{TTL: 90 * time.Second}))
		require.NoError(t, err)
		require.Contains(t, s.received()[len(s.received())-1], `"task":{"ttl":90000}`)
	})
	for name, tt := range map[string]struct{ init, want string }{
		"an older revision": {strings.Replace(initResult, core, "2025-06-18", 1), "revision 2025-06-18 has no tasks"},
		"no capability":     {initResult, "does not run tools as tasks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, s := newFake(t)
			s.result("initialize", tt.init)
			s.result("tools/list", taskTools)
			c, err := client.Connect(t.Context(), tr, sessionEra)
			require.NoError(t, err)
			defer c.Close() //nolint:errcheck // a pipe
			_, err = c.CallTool(t.Context(), "required", nil)
			require.NoError(t, err, "nothing is asked of a server that did not declare it")
			require.NotContains(t, strings.Join(s.received(), ""), `"task"`)
			requireRefused(t, func() int { return len(s.received()) }, func() error {
				_, err := c.StartTool(t.Context(), "required", nil)
				return err
			}, tt.want)
			requireRefused(t, func() int { return len(s.received()) }, func() error {
				_, err := c.ResumeTask("x", "t-1").Wait(t.Context())
				return err
			}, "")
			requireRefused(t, func() int { return len(s.received()) }, func() error { return c.ResumeTask("x", "").Cancel(t.Context()) }, "no id")
		})
	}
	t.Run("not opted in", func(t *testing.T) {
		t.Parallel()
		c, s := ofVersion(t, extension, taskTools)
		requireRefused(t, func() int { return len(s.received()) }, func() error {
			_, err := c.StartTool(t.Context(), "required", nil)
			return err
		}, "WithTasks")
		require.NotContains(t, strings.Join(s.received(), ""), mcp.ExtensionTasks)
		s.result("tools/call", `{"resultType":"task","taskId":"t-1","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null}`)
		_, err := c.CallTool(t.Context(), "required", nil)
		require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err), "not declared, so not valid: %v", err)
	})
	t.Run("on another method", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c, s := withTasks(t, extension)
			s.On("tools/list", result(`{"resultType":"task","taskId":"t-1","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null}`))
			_, err := c.ListTools(t.Context(), nil, client.WithCacheMode(client.CacheRefresh))
			require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err))
		})
	})
}

func requireRefused(t *testing.T, traffic func() int, f func() error, want string) {
	t.Helper()
	before := traffic()
	err := f()
	var e *mcperrors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, mcperrors.NotSent, e.Delivery)
	require.ErrorContains(t, err, want)
	require.Equal(t, before, traffic(), "no traffic")
}

// Servers may answer at once, asked for a task or not.
func TestTaskThatIsNone(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		s.On("tools/call", result(done))
		res, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)
		require.Equal(t, "done", res.Text())
		task, err := c.StartTool(t.Context(), "optional", nil)
		require.NoError(t, err)
		require.Empty(t, task.ID())
		state, err := task.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, mcp.TaskCompleted, state.Status)
		res, err = task.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, "done", res.Text())
		require.NoError(t, task.Cancel(t.Context()))
		require.Zero(t, s.Count("tasks/get"))
	})
}
