package server_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/conformance/server"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Our client takes tasks from a server that others could have written: it follows
// them to their ends, answers what they ask, and cancels them, over both transports.
func TestTasksOfTheReferenceServer(t *testing.T) {
	t.Parallel()
	srv, err := server.New(server.Options{Families: []string{"fixtures"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(web.Close)
	for over, connect := range map[string]func(t *testing.T, opts ...client.Option) *client.Client{
		"HTTP": func(t *testing.T, opts ...client.Option) *client.Client {
			c, err := client.Dial(t.Context(), web.URL+server.Path, opts...)
			require.NoError(t, err)
			return c
		},
		"stdio": func(t *testing.T, opts ...client.Option) *client.Client {
			tr, conn := transport.InMemory()
			served := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { served <- srv.ServeStdio(ctx, conn, conn) }()
			t.Cleanup(func() {
				cancel()
				_ = conn.Close() // the client has closed its end
				t.Logf("the pipe was closed under it: %v", <-served)
			})
			c, err := client.Connect(t.Context(), tr, opts...)
			require.NoError(t, err)
			return c
		},
	} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			c := connect(t, client.WithProtocolVersion("2026-07-28"), client.WithTasks(), client.OnElicitForm(fillEverything))
			t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })

			res, err := c.CallTool(ctx, "greet", map[string]any{"name": "Ada"})
			require.NoError(t, err)
			require.Equal(t, "Hello, Ada!", res.Text())
			for tool, says := range map[string]string{
				"slow_compute": "took 1 s", "confirm_delete": "would be gone", "multi_input": "Hello, Ada and Ada!", "test_tool_with_task": "Hello, Ada!",
			} {
				res, err := c.CallTool(ctx, tool, nil)
				require.NoError(t, err, tool)
				require.False(t, res.IsError, tool)
				require.Contains(t, res.Text(), says, tool)
			}
			res, err = c.CallTool(ctx, "failing_job", nil)
			require.NoError(t, err)
			require.True(t, res.IsError)
			_, err = c.CallTool(ctx, "protocol_error_job", nil)
			require.ErrorContains(t, err, "failed on purpose")
			var about *client.TaskError
			require.ErrorAs(t, err, &about)
			require.Equal(t, mcp.TaskFailed, about.Status)

			task, err := c.StartTool(ctx, "slow_compute", map[string]any{"seconds": 3600})
			require.NoError(t, err)
			require.NotEmpty(t, task.ID())
			state, err := c.ResumeTask("slow_compute", task.ID()).Status(ctx)
			require.NoError(t, err)
			require.Equal(t, mcp.TaskWorking, state.Status)
			require.Equal(t, 30*time.Minute, *state.TTL)
			require.NoError(t, task.Cancel(ctx))
			require.NoError(t, task.Cancel(ctx))
			_, err = task.Wait(ctx)
			require.Equal(t, mcperrors.KindCanceled, mcperrors.KindOf(err), "%v", err)

			_, err = c.ResumeTask("slow_compute", "unknown").Wait(ctx)
			require.True(t, mcperrors.IsNotFound(err), "%v", err)
		})
	}
}

// A client without tasks gets its answers at once, and an error that names what it lacks where
// there are none without.
func TestReferenceServerWithoutTasks(t *testing.T) {
	t.Parallel()
	srv, err := server.New(server.Options{Families: []string{"fixtures"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(web.Close)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		c, err := client.Dial(t.Context(), web.URL+server.Path, client.WithProtocolVersion(version), client.OnElicitForm(fillEverything))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		for tool, says := range map[string]string{"slow_compute": "took 1 s", "confirm_delete": "would be gone", "multi_input": "Hello, Ada and Ada!"} {
			res, err := c.CallTool(t.Context(), tool, nil)
			require.NoError(t, err, tool)
			require.Contains(t, res.Text(), says, "%s %s", tool, version)
		}
		res, err := c.CallTool(t.Context(), "failing_job", nil)
		if version == "2025-11-25" {
			require.NoError(t, err)
			require.True(t, res.IsError)
			require.Contains(t, res.Text(), "runs as a task")
			continue
		}
		require.ErrorContains(t, err, "io.modelcontextprotocol/tasks", "which extension is missing")
	}
}

// A client of another process, after a restart of the server, finds what had ended;
// of what had not it learns that it failed.
func TestTasksSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serve := func() (*client.Client, func()) {
		srv, err := server.New(server.Options{Families: []string{"fixtures"}, DataDir: dir})
		require.NoError(t, err)
		web := httptest.NewServer(srv.Handler())
		c, err := client.Dial(t.Context(), web.URL+server.Path, client.WithProtocolVersion("2026-07-28"), client.WithTasks())
		require.NoError(t, err)
		return c, func() {
			require.NoError(t, c.Close())
			web.Close()
			require.NoError(t, srv.Close())
		}
	}
	c, stop := serve()
	done, err := c.StartTool(t.Context(), "slow_compute", map[string]any{"seconds": 0.01, "label": "The answer"})
	require.NoError(t, err)
	_, err = done.Wait(t.Context())
	require.NoError(t, err)
	running, err := c.StartTool(t.Context(), "slow_compute", map[string]any{"seconds": 3600})
	require.NoError(t, err)
	stop()

	c, stop = serve()
	defer stop()
	res, err := c.ResumeTask(done.Tool(), done.ID()).Wait(t.Context())
	require.NoError(t, err)
	require.Contains(t, res.Text(), "The answer took")
	_, err = c.ResumeTask(running.Tool(), running.ID()).Wait(t.Context())
	require.ErrorContains(t, err, "the server was stopped")
}

// A subscriber of a task gets its state and each change, over both
// transports, until the server ends.
func TestNewsOfTasks(t *testing.T) {
	t.Parallel()
	srv, err := server.New(server.Options{Families: []string{"fixtures"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(web.Close)
	for _, over := range []string{"HTTP", "stdio"} {
		t.Run(over, func(t *testing.T) {
			ctx := t.Context()
			told := make(chan mcp.DetailedTask, 100)
			opts := []client.Option{client.OnNotification(func(_ context.Context, n jsonrpc.Notification) {
				var task mcp.DetailedTask
				if n.Method == mcp.MethodTasks && mcp.Unmarshal(n.Params, &task) == nil {
					told <- task
				}
			}), client.WithProtocolVersion("2026-07-28"), client.WithTasks(), client.WithRequiredCapabilities(), client.OnElicitForm(fillEverything)}
			var c *client.Client
			if over == "HTTP" {
				c, err = client.Dial(ctx, web.URL+server.Path, opts...)
			} else {
				tr, conn := transport.InMemory()
				served := make(chan error, 1)
				serving, cancel := context.WithCancel(ctx)
				go func() { served <- srv.ServeStdio(serving, conn, conn) }()
				t.Cleanup(func() {
					cancel()
					_ = conn.Close() // the client has closed its end
					t.Logf("the pipe was closed under it: %v", <-served)
				})
				c, err = client.Connect(ctx, tr, opts...)
			}
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })
			task, err := c.StartTool(ctx, "confirm_delete", nil)
			require.NoError(t, err)
			sub, err := c.Subscribe(ctx, mcp.SubscriptionFilter{TaskIDs: []string{task.ID(), "unknown"}}, func(context.Context, client.Change) {})
			require.NoError(t, err)
			require.Equal(t, []string{task.ID()}, sub.Accepted().TaskIDs)
			until := func(status mcp.TaskStatus) mcp.DetailedTask {
				for one := range told {
					require.Equal(t, task.ID(), one.TaskID)
					if one.Status == status {
						return one
					}
				}
				return mcp.DetailedTask{}
			}
			require.Len(t, until(mcp.TaskInputRequired).InputRequests, 1)
			_, err = task.Wait(ctx)
			require.NoError(t, err)
			require.Contains(t, string(until(mcp.TaskCompleted).Result), "would be gone")
			require.NoError(t, sub.Close())
		})
	}
}
