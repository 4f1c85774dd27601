package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	core      = "2025-11-25"
	extension = "2026-07-28"
)

const done = `{"content":[{"type":"text","text":"done"}]}`

// taskTools has a tool for every kind of task support.
const taskTools = `{"tools":[
	{"name":"required","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},
	{"name":"optional","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},
	{"name":"forbidden","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}},
	{"name":"silent","inputSchema":{"type":"object"}}]}`

// tasked is a fake server that makes a task of every call it may and goes
// through states, the answers to tasks/get, the last of which stays. at has the
// times of the polls, from the call on.
type tasked struct {
	*fakeServer
	version string

	mu     sync.Mutex
	states []string
	began  time.Time
	at     []time.Duration
}

// task is a state's members in the words of the server's revision.
func (s *tasked) task(status, more string) string {
	ttl, poll := "ttl", "pollInterval"
	if s.version == extension {
		ttl, poll = "ttlMs", "pollIntervalMs"
	}
	text := fmt.Sprintf(`{"taskId":"t-1","status":%q,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z",%q:3600000,%q:5000`, status, ttl, poll)
	if more != "" {
		text += "," + more
	}
	return text + "}"
}

func (s *tasked) script(states ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states = states
}

func (s *tasked) polls() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// completed is the last state of a task that ends well.
func (s *tasked) completed() string {
	if s.version == extension {
		return s.task("completed", `"resultType":"complete","result":`+done)
	}
	return s.task("completed", "")
}

func withTasks(t *testing.T, version string, opts ...client.Option) (*client.Client, *tasked) {
	t.Helper()
	tr, f := newFake(t)
	s := &tasked{fakeServer: f, version: version}
	f.result("tools/list", taskTools)
	f.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"fake","version":"1"}}`)
	f.result("server/discover", `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`)
	f.on("tools/call", func(req jsonrpc.Request) any {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.began = time.Now()
		asks := strings.Contains(string(req.Params), `"task":{`)
		switch {
		case version == extension && strings.Contains(string(req.Params), mcp.ExtensionTasks):
			return json.RawMessage(s.task("working", `"resultType":"task"`))
		case version == core && asks:
			return json.RawMessage(`{"task":` + s.task("working", "") + `}`)
		}
		return json.RawMessage(done)
	})
	f.on("tasks/get", func(jsonrpc.Request) any {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.at = append(s.at, time.Since(s.began))
		state := s.states[0]
		if len(s.states) > 1 {
			s.states = s.states[1:]
		}
		if strings.HasPrefix(state, "-") { // an error's code
			var code int64
			_, _ = fmt.Sscan(state, &code)
			return jsonrpc.NewError(code, "no", nil)
		}
		return json.RawMessage(state)
	})
	f.result("tasks/result", done)
	f.on("tasks/cancel", func(jsonrpc.Request) any {
		if version == extension {
			return json.RawMessage(`{"resultType":"complete"}`)
		}
		return json.RawMessage(s.task("cancelled", ""))
	})
	f.result("tasks/update", `{"resultType":"complete"}`)
	s.script(s.task("working", ""), s.completed())
	opts = append([]client.Option{client.WithProtocolVersion(version), client.WithTasks()}, opts...)
	c, err := client.Connect(t.Context(), tr, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })
	return c, s
}

// bothEras runs f for the tasks of either era, in virtual time.
func bothEras(t *testing.T, f func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range []string{core, extension} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { f(t, version) })
		})
	}
}

// CallTool drives a task to its end, asking no more often than the server wants,
// also before the first time (TASK-02, TASK-03, TASK-08, TASK-14).
func TestCallToolDrivesATask(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		res, err := c.CallTool(t.Context(), "required", map[string]any{"a": 1})
		require.NoError(t, err)
		require.Equal(t, "done", res.Text())
		require.Equal(t, []time.Duration{5 * time.Second, 10 * time.Second}, s.polls())
		require.Equal(t, version == core, s.count("tasks/result") == 1)
		require.Zero(t, s.count("notifications/cancelled"))
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
		require.Zero(t, s.count("tasks/cancel"), "it has ended")
		require.NoError(t, task.Cancel(t.Context()))
		require.Equal(t, 1, s.count("tasks/cancel"))
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
// get hold of it again (TASK-10, UTIL-03).
func TestTaskOutlivesItsCall(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		for _, cancels := range []bool{false, true} {
			c, s := withTasks(t, version)
			s.script(s.task("working", ""))
			var opts []client.CallOption
			if cancels {
				opts = append(opts, client.WithTaskCancel())
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
			require.Equal(t, cancels, s.count("tasks/cancel") == 1)
			require.Zero(t, s.count("notifications/cancelled"))

			s.script(s.completed())
			res, err := c.ResumeTask(lost.Tool, lost.ID).Wait(t.Context())
			require.NoError(t, err)
			require.Equal(t, "done", res.Text())
			require.NoError(t, ignoreClosed(c.Close()))
		}
	})
}

// A call waits for its task no longer than for anything else; a handle waits as
// long as the server keeps the task, and when that is for ever, for a day.
func TestTaskWaitsAreBounded(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		s.script(s.task("working", ""))
		began := time.Now()
		_, err := c.CallTool(t.Context(), "required", nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "the task did not end within 10m0s")
		require.Equal(t, client.DefaultMaxTime, time.Since(began))

		began = time.Now()
		_, err = c.ResumeTask("required", "t-1").Wait(t.Context())
		require.Equal(t, mcperrors.KindNotFound, mcperrors.KindOf(err), "%v", err)
		require.InDelta(t, time.Hour, time.Since(began), float64(time.Minute))

		endless := strings.Replace(s.task("working", ""), "3600000", "null", 1)
		s.script(strings.Replace(endless, "5000", "300000", 1))
		began = time.Now()
		_, err = c.ResumeTask("required", "t-1").Wait(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 24*time.Hour, time.Since(began))
		var lost *client.TaskError
		require.ErrorAs(t, err, &lost)
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

// Intervals that make no sense are kept within bounds.
func TestTaskPollIntervals(t *testing.T) {
	t.Parallel()
	for interval, want := range map[string]time.Duration{
		"0": time.Second, "-5": time.Second, "250": time.Second, "2000": 2 * time.Second,
		"9223372036854775807": 5 * time.Minute, "null": time.Second,
	} {
		t.Run(interval, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := withTasks(t, core)
				working := strings.Replace(s.task("working", ""), "5000", interval, 1)
				s.script(working, s.completed())
				_, err := c.CallTool(t.Context(), "required", nil)
				require.NoError(t, err)
				require.Equal(t, want, s.polls()[1]-s.polls()[0])
			})
		})
	}
}

// Polls that fail in a way that may pass are made again, a few times; the rest
// ends the wait at once. An id the server does not know is a task that has
// expired (TASK-04, TASK-13).
func TestTaskPollFailures(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version, client.WithResilience(client.Resilience{MaxTime: time.Hour}))
		s.script("-32603", "-32603", s.task("working", ""), "-32603", s.completed())
		_, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)

		s.script("-32603")
		_, err = c.ResumeTask("x", "t-1").Wait(t.Context())
		require.Equal(t, mcperrors.KindServer, mcperrors.KindOf(err), "%v", err)
		require.Equal(t, 11, s.count("tasks/get"), "5 and 6")

		s.script("-32602")
		_, err = c.ResumeTask("x", "t-1").Wait(t.Context())
		require.Equal(t, mcperrors.KindNotFound, mcperrors.KindOf(err), "%v", err)
		require.Equal(t, 12, s.count("tasks/get"))
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, mcperrors.E204, e.Code)

		s.script(strings.Replace(s.task("working", ""), "t-1", "t-2", 1))
		_, err = c.ResumeTask("x", "t-1").Wait(t.Context())
		require.ErrorContains(t, err, "another task")
		s.script(s.task("asleep", ""))
		_, err = c.ResumeTask("x", "t-1").Wait(t.Context())
		require.ErrorContains(t, err, `unknown task status "asleep"`)
	})
}

// A task ends as the call would have: with its result, which may be an error of
// the tool, with its JSON-RPC error, or cancelled (TASK-05, TASK-08).
func TestTaskOutcomes(t *testing.T) {
	t.Parallel()
	const toolSaid = `{"content":[{"type":"text","text":"no"}],"isError":true}`
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		s.script(s.task("failed", ""))
		s.result("tasks/result", toolSaid)
		res, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)
		require.True(t, res.IsError)

		s.on("tasks/result", func(jsonrpc.Request) any { return jsonrpc.NewError(-32602, "Unknown tool: required", nil) })
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
			require.ErrorContains(t, err, "without its outcome")
		}
	})
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		s.script(s.task("cancelled", ""))
		_, err := c.CallTool(t.Context(), "required", nil)
		require.Equal(t, mcperrors.KindCanceled, mcperrors.KindOf(err))
		require.ErrorContains(t, err, "cancelled")
		require.Zero(t, s.count("tasks/result"))
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

// The output schema holds for what a task brings, too (TOOL-11).
func TestTaskOutputIsJudged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		s.result("tools/list", `{"tools":[{"name":"required","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`)
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

// Which calls are made as tasks, and which are refused here (TASK-01, TASK-06,
// TOOL-14).
func TestTaskSupport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		for tool, want := range map[string]bool{"required": true, "optional": false, "forbidden": false, "silent": false} {
			before := s.count("tasks/get")
			_, err := c.CallTool(t.Context(), tool, nil)
			require.NoError(t, err)
			require.Equal(t, want, s.count("tasks/get") > before, tool)
		}
		for _, tool := range []string{"forbidden", "silent"} {
			requireRefused(t, s.fakeServer, func() error {
				_, err := c.StartTool(t.Context(), tool, nil)
				return err
			}, "cannot be run as a task")
		}
		_, err := c.StartTool(t.Context(), "optional", nil, client.WithTaskTTL(90*time.Second))
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
			requireRefused(t, s, func() error {
				_, err := c.StartTool(t.Context(), "required", nil)
				return err
			}, tt.want)
			requireRefused(t, s, func() error {
				_, err := c.ResumeTask("x", "t-1").Wait(t.Context())
				return err
			}, "")
			requireRefused(t, s, func() error { return c.ResumeTask("x", "").Cancel(t.Context()) }, "no id")
		})
	}
	t.Run("not opted in", func(t *testing.T) {
		t.Parallel()
		c, s := ofVersion(t, extension, taskTools)
		requireRefused(t, s, func() error {
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
			s.result("tools/list", `{"resultType":"task","taskId":"t-1","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null}`)
			_, err := c.ListTools(t.Context(), nil, client.WithCache(client.CacheRefresh))
			require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err))
		})
	})
}

func requireRefused(t *testing.T, s *fakeServer, f func() error, want string) {
	t.Helper()
	before := len(s.received())
	err := f()
	var e *mcperrors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, mcperrors.NotSent, e.Delivery)
	require.ErrorContains(t, err, want)
	require.Len(t, s.received(), before, "no traffic")
}

// Servers may answer at once, asked for a task or not (TASK-07).
func TestTaskThatIsNone(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		s.result("tools/call", done)
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
		require.Zero(t, s.count("tasks/get"))
	})
}

// Progress goes on until the task has ended, with the token of the call
// (UTIL-10).
func TestTaskProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		s.script(s.task("working", ""), s.task("working", ""), s.completed())
		var seen []float64
		report := client.WithProgress(func(p mcp.ProgressParams) { seen = append(seen, p.Progress) })
		tell := func(token, n int) {
			s.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%d,"progress":%d,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}}}`, token, n))
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

// Notifications are hints: they shorten a pause, not below a second, and mean
// nothing else (TASK-02).
func TestTaskNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		s.script(strings.Replace(s.task("working", ""), "5000", "60000", 1), s.completed())
		go func() {
			time.Sleep(3 * time.Second)
			for range 100 {
				s.notify("notifications/tasks/status", s.task("completed", ""))
			}
			s.notify("notifications/tasks/status", `{"taskId":7}`)
		}()
		began := time.Now()
		_, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)
		require.Equal(t, []time.Duration{3 * time.Second, 4 * time.Second}, s.polls(), "once more, a second later at the earliest")
		require.Less(t, time.Since(began), 5*time.Second)
	})
}

// In 2025-11-25 a task that wants to know something asks on the stream of
// tasks/result, which is why the client waits there (TASK-03).
func TestCoreTaskAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		c, s := withTasks(t, core, client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
			asked.Add(1)
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		}))
		s.script(s.task("input_required", ""))
		s.on("tasks/result", func(jsonrpc.Request) any {
			s.write(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Go on?","requestedSchema":{"type":"object","properties":{}},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}}}}`)
			time.Sleep(3 * time.Second)
			return json.RawMessage(done)
		})
		res, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)
		require.Equal(t, "done", res.Text())
		require.EqualValues(t, 1, asked.Load())
		synctest.Wait() // the server reads the answer after it has given its own
		answer := ""
		for _, line := range s.received() {
			if strings.Contains(line, `"id":7`) {
				answer = line
			}
		}
		require.Contains(t, answer, `"io.modelcontextprotocol/related-task":{"taskId":"t-1"}`, "META-09")
	})
	// Servers that do not let anybody wait are polled.
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		s.script(s.task("input_required", ""), s.task("input_required", ""), s.completed())
		n := 0
		s.on("tasks/result", func(jsonrpc.Request) any {
			if n++; n == 1 {
				return jsonrpc.NewError(-32602, "not yet", nil)
			}
			return json.RawMessage(done)
		})
		_, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)
	})
}

// In the stateless era tasks/get says what a task wants to know; each thing is
// shown and answered once, however often it is listed (TASK-09).
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
		s.on("tasks/update", func(jsonrpc.Request) any {
			if fails++; fails == 1 {
				return jsonrpc.NewError(-32603, "try again", nil)
			}
			return json.RawMessage(`{"resultType":"complete"}`)
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

// Cancelling what has ended is no error, in spite of the server's (TASK-04).
func TestTaskCancelAfterTheEnd(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		s.on("tasks/cancel", func(jsonrpc.Request) any { return jsonrpc.NewError(-32602, "too late", nil) })
		s.script(s.completed())
		require.NoError(t, c.ResumeTask("x", "t-1").Cancel(t.Context()))
		s.script("-32602")
		err := c.ResumeTask("x", "t-1").Cancel(t.Context())
		require.Equal(t, mcperrors.KindNotFound, mcperrors.KindOf(err))
	})
}

// Tasks walks the list where there is one (TASK-04, TASK-14).
func TestListTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		s.on("tasks/list", func(req jsonrpc.Request) any {
			if strings.Contains(string(req.Params), "next") {
				return json.RawMessage(`{"tasks":[` + s.task("working", "") + `]}`)
			}
			return json.RawMessage(`{"tasks":[` + s.completed() + `],"nextCursor":"next"}`)
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
		requireRefused(t, s.fakeServer, func() error {
			for _, err := range c.Tasks(t.Context()) {
				return err
			}
			return errors.New("nothing came")
		}, "")
	})
}

// Giving up a request with a task behind it is not told by a notification: the
// task would be given up with it (UTIL-03, TASK-10).
func TestTaskRequestsAreNotCancelled(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		silent := func(jsonrpc.Request) any { return nil }
		within := func(f func(ctx context.Context) error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			require.ErrorIs(t, f(ctx), context.DeadlineExceeded)
			synctest.Wait()
		}
		s.on("tasks/get", silent)
		within(func(ctx context.Context) error {
			_, err := c.ResumeTask("x", "t-1").Wait(ctx)
			return err
		})
		require.Zero(t, s.count("notifications/cancelled"))
		s.on("tools/call", silent)
		within(func(ctx context.Context) error {
			_, err := c.StartTool(ctx, "optional", nil)
			return err
		})
		// In the stateless era the call was no task yet, and nobody asked for one.
		require.Equal(t, version == extension, s.count("notifications/cancelled") == 1)
	})
}

// A poll that fails is not a call that is made again: who follows the task polls
// again by himself, at his own pace.
func TestTaskPollIsNotRetried(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version, client.WithResilience(client.DefaultResilience()))
		s.script("-32000")
		_, err := c.ResumeTask("x", "t-1").Status(t.Context())
		require.Error(t, err)
		require.Equal(t, 1, s.count("tasks/get"))
	})
}
