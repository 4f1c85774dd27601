package tasks

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// shown is the part of a task that every description of it has.
type shown struct {
	TaskID         string `json:"taskId"`
	Status         status `json:"status"`
	CreatedAt      string `json:"createdAt"`
	LastUpdatedAt  string `json:"lastUpdatedAt"`
	TTLMs          int64  `json:"ttlMs"`
	PollIntervalMs int64  `json:"pollIntervalMs"`
}

// created answers the call that became a task.
type created struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
	shown
}

// detailed answers tasks/get.
type detailed struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
	shown
	Result        json.RawMessage     `json:"result,omitempty"`
	Error         *jsonrpc.Error      `json:"error,omitempty"`
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
}

// acknowledged answers tasks/update and tasks/cancel.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

const (
	typeTask     = "task"
	typeComplete = "complete"
)

// timeForm is that of ISO 8601.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

// show describes the task. The caller holds the lock, or is the only one yet.
func (t *Task) show() shown {
	form := func(at time.Time) string { return at.UTC().Format(timeForm) }
	return shown{
		TaskID: t.ID, Status: t.Status, CreatedAt: form(t.CreatedAt), LastUpdatedAt: form(t.UpdatedAt),
		TTLMs: t.TTLMs, PollIntervalMs: t.store.opts.Poll.Milliseconds(),
	}
}

// snapshot is what the client of a new task gets.
func (t *Task) snapshot() *created { return &created{ResultType: typeTask, shown: t.show()} }

// detailed is the state of the task, without a result.
func (t *Task) detailed() *detailed {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	return &detailed{ResultType: typeComplete, shown: t.show(), Error: t.Error, InputRequests: maps.Clone(t.asked)}
}
