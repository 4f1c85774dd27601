package coe

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/limit"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) {
	if job := os.Getenv(childEnv); job != "" {
		os.Exit(child(job, os.Stdin, os.Stdout)) //nolint:forbidigo // it is a process of its own
	}
	testmain.Run(m)
}

// rig is the family called as the server calls it, without its rate limits
// unless a test sets some.
type rig struct {
	t    testing.TB
	srv  *server
	fam  *family.Family
	logs *logs
	// agent, session and meta are those of the calls that follow.
	agent, session, meta string
}

type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newRig(t testing.TB, change ...func(*Options)) *rig {
	t.Helper()
	opts := Options{Rates: &limit.Rates{}, AllowFaultInjection: true, RetryBackoff: time.Millisecond}
	for _, c := range change {
		c(&opts)
	}
	srv, err := newServer(opts)
	require.NoError(t, err)
	r := &rig{t: t, srv: srv, fam: srv.family(), logs: &logs{}, agent: "tester"}
	t.Cleanup(func() { require.NoError(t, srv.close(context.WithoutCancel(t.Context()))) })
	return r
}

// reply is what a call came to: a payload, marked as an error or not, or a
// JSON-RPC error.
type reply struct {
	t       testing.TB
	payload map[string]any
	text    string // the payload as JSON, or the text block
	isError bool
	failure *family.Error
}

func (r *rig) call(tool, args string) *reply { return r.callWith(r.t.Context(), tool, args) }

func (r *rig) callWith(ctx context.Context, tool, args string) *reply {
	r.t.Helper()
	c := family.NewCall(tool, json.RawMessage(args), slog.New(slog.NewJSONHandler(r.logs, nil)))
	c.Origin = family.Origin{Agent: r.agent, Session: r.session, Transport: "stdio", Meta: json.RawMessage(r.meta)}
	run := r.fam.Methods[tool]
	for i := range r.fam.Tools {
		if t := &r.fam.Tools[i]; t.Name == tool {
			run = t.Handle
			if q := r.fam.Admit(ctx, c); q.Refused {
				run = func(ctx context.Context, c *family.Call) (any, error) { return r.fam.Refuse(ctx, c, q) }
			}
		}
	}
	require.NotNil(r.t, run, "no tool or method %s", tool)
	res, err := run(ctx, c)
	out := &reply{t: r.t, failure: r.fam.Failure(err)}
	c.Finish(ctx, out.failure)
	if err != nil {
		return out
	}
	if answer, ok := res.(*family.Result); ok {
		out.isError, out.text, res = answer.IsError, answer.Text, answer.Payload
	}
	if res != nil {
		raw, err := family.Encode(res)
		require.NoError(r.t, err)
		out.text = string(raw)
		_ = json.Unmarshal(raw, &out.payload) // a payload may be no object
	}
	return out
}

// ok returns the payload of a success.
func (p *reply) ok() map[string]any {
	p.t.Helper()
	require.Nil(p.t, p.failure)
	require.False(p.t, p.isError, p.text)
	require.NotNil(p.t, p.payload)
	return p.payload
}

// number returns the error of a v1.0 tool.
func (p *reply) number(code int64, message string) map[string]any {
	p.t.Helper()
	require.NotNil(p.t, p.failure, p.text)
	require.Equal(p.t, code, p.failure.Code, p.failure.Message)
	require.Contains(p.t, p.failure.Message, message)
	return p.failure.Data
}

// enveloped returns the member error of the envelope of a failure.
func (p *reply) enveloped(code string) map[string]any {
	p.t.Helper()
	require.Nil(p.t, p.failure)
	require.True(p.t, p.isError, p.text)
	e, ok := p.payload["error"].(map[string]any)
	require.True(p.t, ok, p.text)
	require.Equal(p.t, code, e["code"], p.text)
	requireEnvelope(p.t, p.payload)
	return e
}

// field asserts an INVALID_PARAM about a field.
func (p *reply) field(name string) {
	p.t.Helper()
	details, ok := p.enveloped("INVALID_PARAM")["details"].(map[string]any)
	require.True(p.t, ok)
	require.Equal(p.t, name, details["field"])
	require.NotEmpty(p.t, details["reason"])
}

// requireEnvelope checks the form of the global envelope (S1-ERR-03, S1-ERR-06).
func requireEnvelope(t testing.TB, payload map[string]any) {
	t.Helper()
	require.Equal(t, false, payload["success"])
	e, ok := payload["error"].(map[string]any)
	require.True(t, ok)
	for _, key := range []string{
		"code", "message", "details", "severity", "retryable", "retry_after_seconds", "fallback_suggested", "priority_impact", "log_level",
	} {
		require.Contains(t, e, key)
	}
	require.Len(t, e, 9)
	require.Contains(t, []any{"LOW", "MEDIUM", "HIGH", "CRITICAL"}, e["severity"])
	require.Contains(t, []any{"NONE", "P3_IGNORABLE", "P2_DELAYED", "P1_BLOCKED"}, e["priority_impact"])
	require.Contains(t, []any{"DEBUG", "INFO", "WARN", "ERROR"}, e["log_level"])
	require.Equal(t, e["fallback_suggested"], payload["fallback_suggested"])
	c, ok := payload["context"].(map[string]any)
	require.True(t, ok)
	require.Len(t, c, 3)
	require.Contains(t, c, "task_id")
	require.Contains(t, c, "agent_name")
	stamp, ok := c["timestamp"].(string)
	require.True(t, ok)
	_, err := time.Parse(time.RFC3339, stamp)
	require.NoError(t, err)
}

// dig follows a path of names through a payload.
func dig(t testing.TB, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, ok := v.(map[string]any)
			require.True(t, ok, "%v has no %q", v, step)
			v = m[step]
		case int:
			l, ok := v.([]any)
			require.True(t, ok && step < len(l), "%v has no element %d", v, step)
			v = l[step]
		}
	}
	return v
}

func (r *rig) next(args string) map[string]any { return r.call("getNextTask", args).ok() }

func (r *rig) nextID() any {
	task := r.next(`{}`)["task"]
	if task == nil {
		return nil
	}
	return dig(r.t, task, "taskId")
}

func (r *rig) records(k ledger.Kind) []ledger.Record {
	r.t.Helper()
	recs, _, err := r.srv.ledger.Records(r.t.Context(), ledger.RecordQuery{Kind: k})
	require.NoError(r.t, err)
	return recs
}

func mustMember(t testing.TB, raw json.RawMessage, name string) json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &m))
	require.Contains(t, m, name)
	return m[name]
}

func requireTimestamp(t testing.TB, v any) {
	t.Helper()
	s, ok := v.(string)
	require.True(t, ok)
	_, err := time.Parse(time.RFC3339, s)
	require.NoError(t, err)
}

func familyCall(tool, args string) *family.Call {
	return family.NewCall(tool, json.RawMessage(args), slog.New(slog.DiscardHandler))
}

func payloadOf(t testing.TB, res any) any {
	t.Helper()
	answer, ok := res.(*family.Result)
	require.True(t, ok)
	return answer.Payload
}
