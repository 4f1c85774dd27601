package coe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/envelope"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/faults"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// A form is how a version of a tool answers a failure (tools.md §1.2).
type form int

const (
	// numeric is a JSON-RPC error with HTTP's numbers: v1.0.
	numeric form = iota
	// enveloped is a result with the global envelope: v3.9 and later.
	enveloped
	// plain is a JSON-RPC error with JSON-RPC's own codes: callCOEAgent.
	plain
	// inBand is a result with a code and a message alone: getNextTask as it has
	// been implemented (C-09).
	inBand
)

// A version is one version of a tool.
type version struct {
	form form
	// writes says that a read-only agent may not call it.
	writes bool
	handle func(ctx context.Context, c *call) (any, error)
	// beside, when set, puts the tool's own members beside the envelope of every
	// failure that has none.
	beside func(envelope.Envelope) any
}

// A tool is a tool with its versions.
type tool struct {
	name, title, description string
	schema                   json.RawMessage
	readOnly                 bool
	// pick chooses the version for a call, by its arguments and by what
	// _meta.version forces.
	pick func(c *call) (version, error)
}

// only is the pick of a tool with one version.
func only(v version) func(*call) (version, error) {
	return func(*call) (version, error) { return v, nil }
}

// A call is a call of a tool, with its time.
type call struct {
	*family.Call
	now time.Time
	// delay is how much longer the answer team takes for this call.
	delay time.Duration
}

// serve makes a tool of the family out of t.
func (s *server) serve(t tool) family.Tool {
	return family.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: t.schema, ReadOnly: t.readOnly,
		Handle: func(ctx context.Context, fc *family.Call) (any, error) { return s.run(ctx, t, fc) },
	}
}

// run answers a call: which version, whether the agent may, what a test wants
// to go wrong, and then the tool itself.
func (s *server) run(ctx context.Context, t tool, fc *family.Call) (any, error) {
	c := newCall(fc)
	v, err := t.pick(c)
	if err != nil {
		return c.fail(ctx, v, err)
	}
	if err := s.permit(c, v); err != nil {
		return c.fail(ctx, v, err)
	}
	if err := s.strike(ctx, t, c); err != nil {
		return c.fail(ctx, v, err)
	}
	res, err := v.handle(ctx, c)
	if err != nil {
		return c.fail(ctx, v, err)
	}
	return res, nil
}

func newCall(fc *family.Call) *call {
	fc.SetTask(taskOf(fc.Arguments))
	return &call{Call: fc, now: time.Now()}
}

// agent is who calls, as it is stored and echoed. Without a name of its own that
// is the session, whose id lets its holder in: a digest stands for it.
func (c *call) agent() string {
	if c.Origin.Agent == c.Origin.Session && c.Origin.Session != "" {
		sum := sha256.Sum256([]byte(c.Origin.Session))
		return "session-" + hex.EncodeToString(sum[:8])
	}
	return params.Clean(c.Origin.Agent)
}

// taskOf finds the task a call is about, for its log lines and the context of
// its errors, even when the arguments are wrong otherwise.
func taskOf(arguments json.RawMessage) string {
	args := params.Loose(arguments)
	for _, name := range []string{"task_id", "taskId", "currentTaskId", "originalTaskId"} {
		if o := params.Loose(arguments); args.Has(name) {
			if id := o.ID(name); o.Err() == nil {
				return id
			}
		}
	}
	return ""
}

// permit refuses agents what they may not call (S1-SEC-01).
func (s *server) permit(c *call, v version) error {
	if !v.writes || s.permission(c) != ReadOnly {
		return nil
	}
	if v.form == numeric || v.form == plain {
		return envelope.Numeric(envelope.Forbidden, "Forbidden: agent may only read", map[string]any{"agent": c.agent()})
	}
	return envelope.New(envelope.Auth, "The agent may only read")
}

// permission returns what the agent may do.
func (s *server) permission(c *call) Permission {
	if p, ok := s.opts.Permissions[c.Origin.Agent]; ok {
		return p
	}
	return s.opts.Permissions[AnyAgent]
}

// errQueue is a task queue that is not there.
var errQueue = errors.New("task queue unavailable")

// strike lets happen what a test has asked for.
func (s *server) strike(ctx context.Context, t tool, c *call) error {
	if s.faults == nil {
		return nil
	}
	if _, ok := s.faults.Strike(t.name, faults.Panic); ok {
		panic("injected: a bug in " + t.name)
	}
	if _, ok := s.faults.Strike(t.name, faults.Internal); ok {
		return errors.New("injected: an internal error")
	}
	if _, ok := s.faults.Strike(t.name, faults.Unavailable); ok {
		if t.name == nextTaskName {
			return errQueue
		}
		return ledger.ErrUnavailable
	}
	if hit, ok := s.faults.Strike(t.name, faults.Delay); ok {
		if t.name == askName || t.name == immediateName {
			c.delay = hit.Delay
			return nil
		}
		timer := time.NewTimer(hit.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// trouble is what a test wants to happen to an attempt to write. What is
// written in the background meets a database that is down, but uses up none of
// the times it is to be so.
func (s *server) trouble(tool string) ledger.Trouble {
	if s.faults == nil {
		return ledger.None
	}
	if tool == "" {
		if s.faults.Armed(faults.Down) {
			return ledger.Cut
		}
		return ledger.None
	}
	if _, ok := s.faults.Strike(tool, faults.Locked); ok {
		return ledger.Lock
	}
	if _, ok := s.faults.Strike(tool, faults.Down); ok {
		return ledger.Cut
	}
	return ledger.None
}

// fail answers with a failure in the form of the version.
func (c *call) fail(ctx context.Context, v version, err error) (any, error) {
	f := v.form
	var fe *family.Error
	if errors.As(err, &fe) {
		return nil, err
	}
	// A v1.0 tool has failures of the later kind as well: the timeout of
	// askQuestion is one in S1's own test.
	if errors.As(err, new(*envelope.Failure)) {
		f = enveloped
	}
	switch f {
	case numeric:
		return nil, numericError(err)
	case plain:
		return nil, plainError(err)
	case inBand:
		e := numericError(err)
		c.Started(ctx)
		c.Failed(slog.String("cause", err.Error()))
		return c.implementedFailure(string(envelope.Internal), e.Message), nil
	case enveloped:
	}
	failure := envelopeFailure(err)
	if failure.With == nil {
		failure.With = v.beside
	}
	c.Started(ctx)
	c.Failed(slog.String("error_code", string(failure.Code())), slog.String("error", failure.Error()))
	if cause := failure.Unwrap(); cause != nil {
		c.Failed(slog.String("cause", cause.Error()))
	}
	return &family.Result{
		IsError: true,
		Payload: failure.Payload(c.Task(), c.agent(), c.now),
	}, nil
}

// numericError is an error of a v1.0 tool.
func numericError(err error) *family.Error {
	var v *params.Violation
	switch {
	case errors.As(err, &v):
		return envelope.Numeric(envelope.BadRequest, "Bad Request: "+v.Message, map[string]any{"field": v.Field, "reason": v.Reason})
	case errors.Is(err, plan.ErrUnknown):
		return taskNotFound("Task not found", "")
	case errors.Is(err, plan.ErrDone):
		return envelope.Numeric(envelope.Conflict, "Conflict: Task already marked as done", nil)
	case errors.Is(err, plan.ErrVerification), errors.Is(err, errHeld):
		return envelope.Numeric(envelope.Conflict, "Conflict: "+err.Error(), nil)
	case errors.Is(err, plan.ErrFull):
		return envelope.Numeric(envelope.ServiceUnavailable, "Service Unavailable: the task queue is full", nil)
	case errors.Is(err, errQueue):
		return envelope.Numeric(envelope.ServiceUnavailable, "Task queue unavailable", nil)
	case errors.Is(err, ledger.ErrTooLarge):
		return envelope.Numeric(envelope.BadRequest, "Bad Request: "+err.Error(), map[string]any{"field": "arguments", "reason": params.Length})
	case errors.Is(err, ledger.ErrFull):
		return envelope.Numeric(envelope.ServiceUnavailable, "Service Unavailable: "+err.Error(), nil)
	case errors.Is(err, ledger.ErrLocked), errors.Is(err, ledger.ErrUnavailable):
		message := ""
		if reason := because(err); reason != "" {
			message = "Service Unavailable" + reason
		}
		e := envelope.Numeric(envelope.ServiceUnavailable, message, map[string]any{"retry_after_seconds": 2})
		e.Err = err
		return e
	}
	e := envelope.Numeric(envelope.ServerError, "Internal server error", nil)
	e.Err = err
	return e
}

// taskNotFound is S1's own example of an error.
func taskNotFound(message, id string) *family.Error {
	return envelope.Numeric(envelope.NotFound, message, map[string]any{
		"taskId": params.Clean(id), "suggestion": "Check if task ID is correct or if task has been deleted",
	})
}

// envelopeFailure is a failure of a tool of v3.9 or later.
func envelopeFailure(err error) *envelope.Failure {
	var f *envelope.Failure
	var v *params.Violation
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &v):
		return envelope.New(envelope.InvalidParam, "Invalid parameter: "+v.Message).Detail("field", v.Field).Detail("reason", v.Reason)
	case errors.Is(err, plan.ErrUnknown):
		return envelope.New(envelope.ResourceNotFound, "Task not found").Detail("field", "task_id")
	case errors.Is(err, plan.ErrDone), errors.Is(err, plan.ErrVerification), errors.Is(err, errHeld):
		return envelope.New(envelope.InvalidState, "The state does not allow this: "+err.Error()).Cause(err)
	case errors.Is(err, ledger.ErrLocked):
		return envelope.New(envelope.DBLocked, "The database is locked by another writer").Cause(err)
	case errors.Is(err, ledger.ErrUnavailable):
		return unavailable("The database is unavailable" + because(err)).Cause(err)
	case errors.Is(err, ledger.ErrTooLarge):
		return envelope.New(envelope.InvalidParam, "Invalid parameter: "+err.Error()).Detail("field", "arguments").Detail("reason", params.Length)
	case errors.Is(err, ledger.ErrFull):
		return envelope.New(envelope.ResourceNotFound, "Nothing was kept: "+err.Error()).Cause(err)
	}
	return envelope.New(envelope.Internal, "Unexpected failure, see the server's log").Cause(err)
}

// retryUnavailable is when to try again while the database is gone.
const retryUnavailable = 5 * time.Second

// unavailable is how S1 reports a database that is gone (C-34).
func unavailable(message string) *envelope.Failure {
	return envelope.New(envelope.ResourceNotFound, message).Again(retryUnavailable).Fallback()
}

// plainError is an error of callCOEAgent.
func plainError(err error) *family.Error {
	var v *params.Violation
	if errors.As(err, &v) {
		return family.Invalid(v.Field, v.Reason, "%s; commands are %s", v.Message, agentUsage)
	}
	return &family.Error{Code: jsonrpc.CodeInternalError, Message: "Internal error: the agent failed, see the server's log", Err: err}
}
