package mcp

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// ExtensionTasks is the id of the tasks extension of the stateless era.
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// TaskStatus is the status of a task (schema TaskStatus).
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type TaskStatus string

// The statuses of a task.
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Final reports whether the status is the last one: completed, failed or
// cancelled.
func (s TaskStatus) Final() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// TaskMetadata asks the server to run a call as a task (schema TaskMetadata,
// 2025-11-25 only).
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type TaskMetadata struct {
	// TTL is how long the server keeps the task, in milliseconds; nil leaves that to
	// the server.
	TTL   *int64
	Extra Members
	zero  presence
}

func (v *TaskMetadata) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	c.integer("ttl", optional, &v.TTL)
}

// Task is a long call in 2025-11-25 (schema Task). It is part of [CreateTaskResult],
// the result of tasks/get and tasks/cancel, and the parameters of
// notifications/tasks/status. The extension's form is [DetailedTask].
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type Task struct {
	TaskID        string
	Status        TaskStatus
	StatusMessage string
	// CreatedAt and LastUpdatedAt are ISO 8601 times.
	CreatedAt     string
	LastUpdatedAt string
	// TTL is in milliseconds from creation; nil means forever.
	TTL *int64
	// PollInterval is in milliseconds, nil if the server sets none.
	PollInterval *int64
	Meta         json.RawMessage
	Extra        Members
	zero         presence
}

func (v *Task) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "taskId", required, &v.TaskID)
	str(c, "status", required, &v.Status)
	str(c, "statusMessage", optional, &v.StatusMessage)
	str(c, "createdAt", written, &v.CreatedAt)
	str(c, "lastUpdatedAt", written, &v.LastUpdatedAt)
	c.integer("ttl", written, &v.TTL)
	c.integer("pollInterval", optional, &v.PollInterval)
	c.raw("_meta", &v.Meta)
}

// CreateTaskResult reports that a call became a task (schema CreateTaskResult,
// 2025-11-25).
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type CreateTaskResult struct {
	Task  Task
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

func (v *CreateTaskResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	val(c, "task", required, &v.Task)
	c.raw("_meta", &v.Meta)
}

// ListTasksResult is one page of tasks (schema ListTasksResult, 2025-11-25).
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type ListTasksResult struct {
	Tasks []Task
	// NextCursor is nil at the end of the list.
	NextCursor *string
	Meta       json.RawMessage
	Extra      Members
	zero       presence
}

func (v *ListTasksResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	list(c, "tasks", required, &v.Tasks)
	c.cursor("nextCursor", &v.NextCursor)
	c.raw("_meta", &v.Meta)
}

// TaskParams names a task: the parameters of tasks/get, tasks/cancel and
// tasks/result (schemas GetTaskRequest, CancelTaskRequest,
// GetTaskPayloadRequest).
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type TaskParams struct {
	TaskID string
	Meta   json.RawMessage
	Extra  Members
	zero   presence
}

func (v *TaskParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "taskId", required, &v.TaskID)
	c.raw("_meta", &v.Meta)
}

// DetailedTask is a task in the tasks extension, and the parameters of
// notifications/tasks (schema DetailedTask).
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type DetailedTask struct {
	// ResultType is [ResultTask] or [ResultComplete]; empty in a notification.
	ResultType    ResultType
	TaskID        string
	Status        TaskStatus
	StatusMessage string
	// CreatedAt and LastUpdatedAt are ISO 8601 times.
	CreatedAt     string
	LastUpdatedAt string
	// TTLMs is from creation; nil means forever.
	TTLMs *int64
	// PollIntervalMs is nil if not given.
	PollIntervalMs *int64
	// InputRequests are the questions of a task that is input_required.
	InputRequests InputRequests
	// Result is the result of a completed task.
	Result json.RawMessage
	// Error is the error of a failed task.
	Error *jsonrpc.Error
	Meta  json.RawMessage
	Extra Members
	zero  presence
}

func (v *DetailedTask) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "resultType", optional, &v.ResultType)
	str(c, "taskId", required, &v.TaskID)
	str(c, "status", required, &v.Status)
	str(c, "statusMessage", optional, &v.StatusMessage)
	str(c, "createdAt", written, &v.CreatedAt)
	str(c, "lastUpdatedAt", written, &v.LastUpdatedAt)
	c.integer("ttlMs", written, &v.TTLMs)
	c.integer("pollIntervalMs", optional, &v.PollIntervalMs)
	c.inputRequests("inputRequests", &v.InputRequests)
	c.raw("result", &v.Result)
	c.rpcError("error", &v.Error)
	c.raw("_meta", &v.Meta)
}

// rpcError is an error object that may be absent.
func (c *codec) rpcError(name string, p **jsonrpc.Error) {
	if !c.enterValue(name, optional) {
		return
	}
	if c.mode == reading {
		raw := c.next()
		if c.err != nil {
			return
		}
		*p = &jsonrpc.Error{}
		if err := (*p).UnmarshalJSON(raw); err != nil {
			c.err = &DecodeError{Path: c.pathString(), Reason: err.Error()}
		}
		return
	}
	if *p != nil {
		c.key(name)
		c.out = (*p).AppendJSON(c.out)
	}
}

// UpdateTaskParams answers the questions of a task (schema UpdateTaskRequest of the
// extension).
//
// # Experimental
//
// Tasks are experimental in 2025-11-25 and an extension since 2026-07-28. They may change.
type UpdateTaskParams struct {
	TaskID         string
	InputResponses InputResponses
	Meta           json.RawMessage
	Extra          Members
	zero           presence
}

func (v *UpdateTaskParams) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	str(c, "taskId", required, &v.TaskID)
	c.raws("inputResponses", (*map[string]json.RawMessage)(&v.InputResponses))
	c.raw("_meta", &v.Meta)
}
