package client_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// A call waits for its task within its maximum time. A handle waits as long as the
// server keeps the task, or a day if the server keeps it forever.
func TestTaskWaitsAreBounded(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		s.script(s.task("working", ""))
		began := time.Now()
		_, err := c.CallTool(t.Context(), "required", nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "the task did not end within 10m0s")
		require.Equal(t, 10*time.Minute, time.Since(began))

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
// expired.
func TestTaskPollFailures(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version, client.WithResilience(client.Resilience{Off: true, MaxTime: time.Hour}))
		s.script("-32603", "-32603", s.task("working", ""), "-32603", s.completed())
		_, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)

		s.script("-32603")
		_, err = c.ResumeTask("x", "t-1").Wait(t.Context())
		require.Equal(t, mcperrors.KindServer, mcperrors.KindOf(err), "%v", err)
		require.Equal(t, 11, s.Count("tasks/get"), "5 and 6")

		s.script("-32602")
		_, err = c.ResumeTask("x", "t-1").Wait(t.Context())
		require.Equal(t, mcperrors.KindNotFound, mcperrors.KindOf(err), "%v", err)
		require.Equal(t, 12, s.Count("tasks/get"))
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, mcperrors.CodeToolNotFound, e.Code)

		s.script(strings.Replace(s.task("working", ""), "t-1", "t-2", 1))
		_, err = c.ResumeTask("x", "t-1").Wait(t.Context())
		require.ErrorContains(t, err, "another task")
		s.script(s.task("asleep", ""))
		_, err = c.ResumeTask("x", "t-1").Wait(t.Context())
		require.ErrorContains(t, err, `unknown task status "asleep"`)
	})
}

// Notifications are hints: they shorten a pause, not below a second, and mean
// nothing else.
func TestTaskNotifications(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := withTasks(t, core)
		s.script(strings.Replace(s.task("working", ""), "5000", "60000", 1), s.completed())
		go func() {
			time.Sleep(3 * time.Second)
			for range 100 {
				s.Notify("notifications/tasks/status", json.RawMessage(s.task("completed", "")))
			}
			s.Notify("notifications/tasks/status", json.RawMessage(`{"taskId":7}`))
		}()
		began := time.Now()
		_, err := c.CallTool(t.Context(), "required", nil)
		require.NoError(t, err)
		require.Equal(t, []time.Duration{3 * time.Second, 4 * time.Second}, s.polls(), "once more, a second later at the earliest")
		require.Less(t, time.Since(began), 5*time.Second)
	})
}

// A poll that fails is not a call that is made again: who follows the task polls
// again by himself, at his own pace.
func TestTaskPollIsNotRetried(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string) {
		c, s := withTasks(t, version)
		s.script("-32000")
		_, err := c.ResumeTask("x", "t-1").Status(t.Context())
		require.Error(t, err)
		require.Equal(t, 1, s.Count("tasks/get"))
	})
}
