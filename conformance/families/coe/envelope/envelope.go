// Package envelope is the two ways in which the coe tools answer a failure: the
// global error envelope of S1 v4.0 with string codes, and JSON-RPC errors with
// HTTP's numbers (tools.md §3.2, §3.3).
package envelope

import (
	"time"
)

// A Code is a string code of the global envelope.
type Code string

// The codes of the registry. That of an unknown tool and of a schema that does
// not hold are for others: here the server answers the one, and the other is
// INVALID_PARAM.
const (
	InvalidParam              Code = "INVALID_PARAM"
	TokenLimitExceeded        Code = "TOKEN_LIMIT_EXCEEDED"
	Timeout                   Code = "TIMEOUT"
	Internal                  Code = "INTERNAL_ERROR"
	RateLimit                 Code = "RATE_LIMIT"
	InvalidState              Code = "INVALID_STATE"
	ResourceNotFound          Code = "RESOURCE_NOT_FOUND"
	DBLocked                  Code = "DB_LOCKED"
	SchemaValidationFailed    Code = "SCHEMA_VALIDATION_FAILED"
	ToolNotFound              Code = "TOOL_NOT_FOUND"
	Auth                      Code = "AUTH_ERROR"
	OrchestratorUninitialized Code = "ORCHESTRATOR_NOT_INITIALIZED"
)

// Error is the member error of the envelope; every member is always there.
type Error struct {
	Code              Code           `json:"code"`
	Message           string         `json:"message"`
	Details           map[string]any `json:"details"`
	Severity          string         `json:"severity"`
	Retryable         bool           `json:"retryable"`
	RetryAfterSeconds *int           `json:"retry_after_seconds"`
	FallbackSuggested bool           `json:"fallback_suggested"`
	PriorityImpact    string         `json:"priority_impact"`
	LogLevel          string         `json:"log_level"`
}

// Context is the member context of the envelope.
type Context struct {
	TaskID    *string `json:"task_id"`
	AgentName *string `json:"agent_name"`
	Timestamp string  `json:"timestamp"`
}

// An Envelope is the whole answer.
type Envelope struct {
	Success bool    `json:"success"`
	Error   Error   `json:"error"`
	Context Context `json:"context"`
	// FallbackSuggested mirrors the member of Error: S1's own test reads it
	// here, its schema has it there (C-20).
	FallbackSuggested bool `json:"fallback_suggested"`
}

// defaults are the severity, impact and retry of each code (tools.md §3.3).
var defaults = map[Code]struct {
	severity, impact string
	retryable        bool
	after            int
}{
	InvalidParam:              {severity: "MEDIUM", impact: "P1_BLOCKED"},
	TokenLimitExceeded:        {severity: "HIGH", impact: "P1_BLOCKED"},
	Timeout:                   {severity: "HIGH", impact: "P2_DELAYED", retryable: true, after: 10},
	Internal:                  {severity: "CRITICAL", impact: "P1_BLOCKED"},
	RateLimit:                 {severity: "MEDIUM", impact: "P2_DELAYED", retryable: true},
	InvalidState:              {severity: "MEDIUM", impact: "P1_BLOCKED"},
	ResourceNotFound:          {severity: "LOW", impact: "P3_IGNORABLE"},
	DBLocked:                  {severity: "MEDIUM", impact: "P2_DELAYED", retryable: true, after: 2},
	SchemaValidationFailed:    {severity: "MEDIUM", impact: "P2_DELAYED"},
	ToolNotFound:              {severity: "MEDIUM", impact: "P2_DELAYED"},
	Auth:                      {severity: "CRITICAL", impact: "P1_BLOCKED"},
	OrchestratorUninitialized: {severity: "CRITICAL", impact: "P1_BLOCKED"},
}

// levels are the log levels of the severities.
var levels = map[string]string{"LOW": "INFO", "MEDIUM": "WARN", "HIGH": "ERROR", "CRITICAL": "ERROR"}

// A Failure is an application failure on its way to an envelope.
type Failure struct {
	body Error
	// With is a payload whose members stand beside those of the envelope, which
	// it embeds; nil is the envelope alone.
	With func(Envelope) any
	// Err is the cause, for the log only.
	Err error
}

// New returns a failure with the defaults of its code.
func New(code Code, message string) *Failure {
	d := defaults[code]
	f := &Failure{body: Error{
		Code: code, Message: message,
		Severity: d.severity, Retryable: d.retryable, PriorityImpact: d.impact, LogLevel: levels[d.severity],
	}}
	if d.after > 0 {
		f.body.RetryAfterSeconds = &d.after
	}
	return f
}

func (f *Failure) Error() string { return string(f.body.Code) + ": " + f.body.Message }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Code returns the code of the failure.
func (f *Failure) Code() Code { return f.body.Code }

// Details adds members to details.
func (f *Failure) Details(members map[string]any) *Failure {
	for name, value := range members {
		f = f.Detail(name, value)
	}
	return f
}

// Detail adds a member to details.
func (f *Failure) Detail(name string, value any) *Failure {
	if f.body.Details == nil {
		f.body.Details = map[string]any{}
	}
	f.body.Details[name] = value
	return f
}

// Fallback says that the caller should go another way.
func (f *Failure) Fallback() *Failure {
	f.body.FallbackSuggested = true
	return f
}

// Once says that trying again is of no use, whatever the code's default.
func (f *Failure) Once() *Failure {
	f.body.Retryable, f.body.RetryAfterSeconds = false, nil
	return f
}

// Again says that trying again may help, after a while.
func (f *Failure) Again(after time.Duration) *Failure {
	seconds := Seconds(after)
	f.body.Retryable, f.body.RetryAfterSeconds = true, &seconds
	return f
}

// Cause sets the cause for the log.
func (f *Failure) Cause(err error) *Failure {
	f.Err = err
	return f
}

// Payload returns the answer to a call about a task from an agent, either of
// which may be unknown.
func (f *Failure) Payload(taskID, agent string, now time.Time) any {
	e := Envelope{
		Error:             f.body,
		Context:           Context{TaskID: known(taskID), AgentName: known(agent), Timestamp: Timestamp(now)},
		FallbackSuggested: f.body.FallbackSuggested,
	}
	if f.With != nil {
		return f.With(e)
	}
	return e
}

func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Timestamp writes an instant as every coe answer does: ISO 8601, UTC, with
// milliseconds.
func Timestamp(now time.Time) string { return now.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// Seconds rounds a wait up to whole seconds, at least one: a caller that waits
// so long is not too early.
func Seconds(d time.Duration) int { return max(1, int((d+time.Second-1)/time.Second)) }
