package client

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// readTask reads the answer to tasks/get.
func readTask(raw json.RawMessage, stateless bool, id string) (state TaskState, err error) {
	got := ""
	if stateless {
		var task mcp.DetailedTask
		if err = mcp.Unmarshal(raw, &task); err == nil {
			got = task.TaskID
			state, err = detailedState(&task)
		}
	} else {
		var task mcp.Task
		if err = mcp.Unmarshal(raw, &task); err == nil {
			got = task.TaskID
			state, err = stateOf(&task)
		}
	}
	if err == nil && got != id {
		err = fmt.Errorf("it is about another task, %q", jsonrpc.Printable(got, 100))
	}
	return state, err
}

func stateOf(v *mcp.Task) (TaskState, error) {
	return TaskState{
		Status: v.Status, Message: v.StatusMessage, CreatedAt: v.CreatedAt, LastUpdatedAt: v.LastUpdatedAt,
		TTL: duration(v.TTL), PollInterval: pollInterval(v.PollInterval),
	}, checkStatus(v.Status)
}

func detailedState(v *mcp.DetailedTask) (TaskState, error) {
	return TaskState{
		Status: v.Status, Message: v.StatusMessage, CreatedAt: v.CreatedAt, LastUpdatedAt: v.LastUpdatedAt,
		TTL: duration(v.TTLMs), PollInterval: pollInterval(v.PollIntervalMs),
		InputRequests: v.InputRequests, result: v.Result, err: v.Error,
	}, checkStatus(v.Status)
}

func checkStatus(s mcp.TaskStatus) error {
	if s.Final() || s == mcp.TaskWorking || s == mcp.TaskInputRequired {
		return nil
	}
	return fmt.Errorf("unknown task status %q", jsonrpc.Printable(string(s), 40))
}

// pollInterval is 0 when the server does not say.
func pollInterval(ms *int64) time.Duration {
	if ms == nil {
		return 0
	}
	return *milliseconds(*ms)
}

// duration is nil for a task that is kept without end.
func duration(ms *int64) *time.Duration {
	if ms == nil {
		return nil
	}
	return milliseconds(*ms)
}
