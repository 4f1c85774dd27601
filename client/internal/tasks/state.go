package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// State is the state of a task in the server's last report.
type State struct {
	Status mcp.TaskStatus
	// Message is the server's untrusted text about the status.
	Message string
	// CreatedAt and LastUpdatedAt are ISO 8601 times of the server's clock.
	CreatedAt, LastUpdatedAt string
	// TTL is how long the server keeps the task after its creation; nil means forever.
	TTL *time.Duration
	// PollInterval is the shortest interval between polls that the server wants; 0 if it sends
	// none.
	PollInterval time.Duration
	// InputRequests are the questions of a task of the stateless era.
	InputRequests mcp.InputRequests
}

// report is the result of tasks/get: a state, and the outcome of an ended task of the stateless
// era.
type report struct {
	State
	result json.RawMessage
	err    *jsonrpc.Error
}

// readReport decodes the answer to tasks/get.
func readReport(raw json.RawMessage, stateless bool, id string) (r report, err error) {
	got := ""
	if stateless {
		var task mcp.DetailedTask
		if err = mcp.Unmarshal(raw, &task); err == nil {
			got = task.TaskID
			r.State, err = detailedState(&task)
			r.result, r.err = task.Result, task.Error
		}
	} else {
		var task mcp.Task
		if err = mcp.Unmarshal(raw, &task); err == nil {
			got = task.TaskID
			r.State, err = stateOf(&task)
		}
	}
	if err == nil && got != id {
		err = fmt.Errorf("it is about another task, %q", jsonrpc.Printable(got, 100))
	}
	return r, err
}

// ReadCreated decodes the result that a call returned with its task.
func ReadCreated(raw json.RawMessage, stateless bool) (id string, state State, err error) {
	if stateless {
		var task mcp.DetailedTask
		if err = mcp.Unmarshal(raw, &task); err == nil {
			id = task.TaskID
			state, err = detailedState(&task)
		}
	} else {
		var created mcp.CreateTaskResult
		if err = mcp.Unmarshal(raw, &created); err == nil {
			id = created.Task.TaskID
			state, err = stateOf(&created.Task)
		}
	}
	if err == nil && id == "" {
		err = errors.New("the task has no id")
	}
	return id, state, err
}

func stateOf(v *mcp.Task) (State, error) {
	return State{
		Status: v.Status, Message: v.StatusMessage, CreatedAt: v.CreatedAt, LastUpdatedAt: v.LastUpdatedAt,
		TTL: duration(v.TTL), PollInterval: interval(v.PollInterval),
	}, checkStatus(v.Status)
}

func detailedState(v *mcp.DetailedTask) (State, error) {
	return State{
		Status: v.Status, Message: v.StatusMessage, CreatedAt: v.CreatedAt, LastUpdatedAt: v.LastUpdatedAt,
		TTL: duration(v.TTLMs), PollInterval: interval(v.PollIntervalMs), InputRequests: v.InputRequests,
	}, checkStatus(v.Status)
}

func checkStatus(s mcp.TaskStatus) error {
	if s.Final() || s == mcp.TaskWorking || s == mcp.TaskInputRequired {
		return nil
	}
	return fmt.Errorf("unknown task status %q", jsonrpc.Printable(string(s), 40))
}

// interval returns 0 if the server sends no interval.
func interval(ms *int64) time.Duration {
	if ms == nil {
		return 0
	}
	return *duration(ms)
}

// duration returns nil for a task that is kept forever.
func duration(ms *int64) *time.Duration {
	if ms == nil {
		return nil
	}
	d := time.Duration(min(max(*ms, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	return &d
}
