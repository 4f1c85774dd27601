package family

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"
	"unicode"
)

// maxTaskID bounds the correlation id of a workflow.
const maxTaskID = 128

// A Call is one call of a tool: its arguments and its two log lines. It belongs to the
// goroutine that runs the tool.
type Call struct {
	Tool      string
	Arguments json.RawMessage
	// Origin says where the call came from; the server fills it in.
	Origin Origin

	log       *slog.Logger
	taskID    string
	begin     time.Time
	started   bool
	completed []slog.Attr
	failed    bool
}

// NewCall returns the call of tool with its raw arguments, logging to log.
func NewCall(tool string, arguments json.RawMessage, log *slog.Logger) *Call {
	return &Call{
		Tool:      tool,
		Arguments: arguments,
		log:       log,
		taskID:    peekTask(arguments),
		begin:     time.Now(),
	}
}

// peekTask is the task of a call for its log, whose arguments may be wrong.
func peekTask(arguments json.RawMessage) string {
	id := peekString(arguments, "task_id", maxTaskID)
	if hasControls(id) {
		return ""
	}
	return id
}

// TaskID returns the required argument task_id, which correlates a workflow.
func (a Args) TaskID() (string, error) {
	id, err := a.String("task_id", 1, maxTaskID)
	if err == nil && hasControls(id) {
		return "", Invalid("task_id", "characters", "task_id must not contain control characters")
	}
	return id, err
}

func hasControls(id string) bool { return strings.ContainsFunc(id, unicode.IsControl) }

// Task returns the correlation id of the call, or "": what its log lines carry
// and what REST calls made for it send as X-Task-Id.
func (c *Call) Task() string { return c.taskID }

// SetTask sets the correlation id of a tool that has it under another name
// than task_id. It comes before [Call.Started].
func (c *Call) SetTask(id string) { c.taskID = id }

// Log returns a logger for what happens during the call, whose lines carry
// tool_name and task_id.
func (c *Call) Log() *slog.Logger {
	return c.log.With(slog.String("tool_name", c.Tool), slog.String("task_id", c.taskID))
}

// Failed is like [Call.Completed] for a failure that is answered in a result:
// the last line then says success false with these fields.
func (c *Call) Failed(attrs ...slog.Attr) {
	c.failed = true
	c.completed = append(c.completed, attrs...)
}

// Started writes the first log line with the tool's own fields. A tool calls
// it as soon as it knows them; a call that fails earlier gets the line anyway.
func (c *Call) Started(ctx context.Context, attrs ...slog.Attr) {
	if c.started {
		return
	}
	c.started = true
	c.emit(ctx, slog.LevelInfo, "invocation_started", attrs)
}

// Completed adds the tool's own fields to the line a success ends with.
func (c *Call) Completed(attrs ...slog.Attr) { c.completed = append(c.completed, attrs...) }

// Warn writes a warning about the call, such as a traversal attempt. Like every
// line of a call it comes after the first one.
func (c *Call) Warn(ctx context.Context, event string, attrs ...slog.Attr) {
	c.Started(ctx)
	c.log.LogAttrs(ctx, slog.LevelWarn, event, append(c.common(), attrs...)...)
}

// Finish writes the last log line: completed, failed at level error, or cancelled
// at level info when the caller has given the call up. The cause of a failure is
// logged, which is why no error of a family may quote the body of an artifact.
func (c *Call) Finish(ctx context.Context, failure *Error) {
	c.Started(ctx)
	took := slog.Float64("duration_ms", float64(time.Since(c.begin).Microseconds())/1000)
	level, what := slog.LevelError, "invocation_failed"
	if c.cancelled(ctx, failure) {
		level, what = slog.LevelInfo, "invocation_cancelled"
	}
	if failure == nil && c.failed {
		c.emit(ctx, level, what, append(c.completed, slog.Bool("success", false), took))
		return
	}
	if failure == nil {
		c.emit(ctx, slog.LevelInfo, "invocation_completed", append(c.completed, slog.Bool("success", true), took))
		return
	}
	attrs := []slog.Attr{
		slog.Bool("success", false), took,
		slog.Int64("error_code", failure.Code), slog.String("error", failure.Message),
	}
	if failure.Err != nil {
		attrs = append(attrs, slog.String("cause", failure.Err.Error()))
	}
	c.emit(ctx, level, what, attrs)
}

// cancelled reports whether a call failed because its caller canceled it. Nobody gets its
// answer.
func (c *Call) cancelled(ctx context.Context, failure *Error) bool {
	if !errors.Is(ctx.Err(), context.Canceled) {
		return false
	}
	return failure == nil || failure.Err == nil || errors.Is(failure.Err, context.Canceled)
}

func (c *Call) emit(ctx context.Context, level slog.Level, what string, attrs []slog.Attr) {
	c.log.LogAttrs(ctx, level, c.Tool+"_"+what, append(c.common(), attrs...)...)
}

func (c *Call) common() []slog.Attr {
	return []slog.Attr{slog.String("tool_name", c.Tool), slog.String("task_id", c.taskID)}
}
