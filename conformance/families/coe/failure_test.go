package coe

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/envelope"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/faults"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/limit"
)

func TestErrors_S1_ERR_01_Numeric(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) {
		o.Permissions = map[string]Permission{"reader": ReadOnly}
		o.Rates = &limit.Rates{Agent: limit.Limit{Calls: 2, Window: time.Hour}}
	})
	seen := map[int64]string{}
	see := func(p *reply) {
		require.NotNil(t, p.failure, p.text)
		seen[p.failure.Code] = p.failure.Message
		require.NotEmpty(t, p.failure.Data["status"])
		r.agent += "+" // somebody else, within the limits
	}
	see(r.call("getNextTask", `{"filter":"x"}`))
	see(r.call("reportTaskDone", `{"taskId":"nope","status":"done"}`))
	r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`).ok()
	see(r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`))
	r.call("_test/inject", `{"tool":"*","kind":"internal"}`).ok()
	see(r.call("reportObservation", observationExample))
	r.call("_test/inject", `{"tool":"getNextTask","kind":"unavailable"}`).ok()
	see(r.call("getNextTask", `{}`))
	r.next(`{}`)
	r.next(`{}`)
	see(r.call("getNextTask", `{}`))
	r.agent = "reader"
	see(r.call("reportTaskDone", `{"taskId":"TASK-002","status":"done"}`))
	require.Equal(t, map[int64]string{
		400: "Bad Request: filter must be one of ready, blocked, all",
		403: "Forbidden: agent may only read",
		404: "Task not found",
		409: "Conflict: Task already marked as done",
		429: "Too Many Requests",
		500: "Internal server error",
		503: "Task queue unavailable",
	}, seen)
}

func TestErrors_S1_ERR_02_CodeMessageData(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for tool, args := range map[string]string{
		"reportTaskDone":           `{"taskId":"TASK-999","status":"done"}`,
		"askQuestion":              `{"question":"x","currentTaskId":"TASK-999"}`,
		"reportObservation":        `{"taskId":"TASK-999","observation":"x","type":"issue","severity":"low"}`,
		"reportVerificationResult": fmt.Sprintf(verifyArgs, "TASK-999", "passed", "", "done"),
	} {
		p := r.call(tool, args)
		data := p.number(404, "not found")
		require.Equal(t, "TASK-999", data["taskId"], tool)
		require.Equal(t, "Not Found", data["status"], tool)
		require.Equal(t, "Check if task ID is correct or if task has been deleted", data["suggestion"], tool)
	}
}

// The limit of the headers is the agent's; the data are of the one that refused.
func TestRate_S1_RATE_03_BurstData(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		defaults := limit.Defaults()
		r := newRig(t, func(o *Options) { o.Rates = &defaults })
		for range 10 {
			r.next(`{}`)
		}
		data := r.call("getNextTask", `{}`).number(429, "Too Many Requests")
		require.Equal(t, []any{"burst", 10, 0, 1}, []any{data["scope"], data["limit"], data["remaining"], data["retry_after_seconds"]})
	})
}

// A session id lets its holder into the session: it is neither stored nor
// echoed where it stands for the agent's name.
func TestSecurity_SessionIDsAreNotKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Permissions = map[string]Permission{"reader": ReadOnly} })
	const session = "5f0e1c7a-secret-session"
	for range 2 {
		r.agent, r.session = session, session
		r.call("createTicket", `{"title":"x"}`).ok()
		r.call("reportIssue", `{"issue_description":"x","severity":2}`).ok()
	}
	name := r.tickets()[0].Agent
	require.Regexp(t, `^session-[0-9a-f]{16}$`, name)
	require.Equal(t, name, r.tickets()[1].Agent, "one session is one agent")
	require.Equal(t, name, r.records(ledger.Issue)[0].Agent)
	p := r.call("createTicket", `{}`)
	require.Equal(t, name, dig(t, p.payload, "context", "agent_name"))
	require.NotContains(t, r.logs.String(), session)
	r.agent, r.session = session, "another"
	r.call("createTicket", `{"title":"x"}`).ok()
	require.Equal(t, session, r.tickets()[2].Agent, "a name that was given is kept")
}

func TestArguments_Twice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("createTicket", `{"title":"one","title":"two"}`).field("title")
	data := r.call("reportTaskDone", `{"taskId":"TASK-001","status":"partial","statusDetails":{"progressPercent":1,"progressPercent":2}}`).number(400, "twice")
	require.Equal(t, "statusDetails.progressPercent", data["field"])
	require.Equal(t, "duplicate", data["reason"])
	require.Empty(t, r.tickets())
}

func TestErrors_S1_ERR_04_Defaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		code, severity, impact, level string
		retryable                     bool
		after                         any
	}{
		{"INVALID_PARAM", "MEDIUM", "P1_BLOCKED", "WARN", false, nil},
		{"TOKEN_LIMIT_EXCEEDED", "HIGH", "P1_BLOCKED", "ERROR", false, nil},
		{"TIMEOUT", "HIGH", "P2_DELAYED", "ERROR", true, 10.0},
		{"INTERNAL_ERROR", "CRITICAL", "P1_BLOCKED", "ERROR", false, nil},
		{"RATE_LIMIT", "MEDIUM", "P2_DELAYED", "WARN", true, nil},
		{"INVALID_STATE", "MEDIUM", "P1_BLOCKED", "WARN", false, nil},
		{"RESOURCE_NOT_FOUND", "LOW", "P3_IGNORABLE", "INFO", false, nil},
		{"DB_LOCKED", "MEDIUM", "P2_DELAYED", "WARN", true, 2.0},
		{"SCHEMA_VALIDATION_FAILED", "MEDIUM", "P2_DELAYED", "WARN", false, nil},
		{"TOOL_NOT_FOUND", "MEDIUM", "P2_DELAYED", "WARN", false, nil},
		{"AUTH_ERROR", "CRITICAL", "P1_BLOCKED", "ERROR", false, nil},
		{"ORCHESTRATOR_NOT_INITIALIZED", "CRITICAL", "P1_BLOCKED", "ERROR", false, nil},
	}
	for _, tt := range tests {
		raw, err := json.Marshal(envelope.New(envelope.Code(tt.code), "m").Payload("", "", time.Now()))
		require.NoError(t, err)
		var payload map[string]any
		require.NoError(t, json.Unmarshal(raw, &payload))
		requireEnvelope(t, payload)
		require.Equal(t, map[string]any{
			"code": tt.code, "message": "m", "details": nil, "severity": tt.severity, "retryable": tt.retryable,
			"retry_after_seconds": tt.after, "fallback_suggested": false, "priority_impact": tt.impact, "log_level": tt.level,
		}, payload["error"])
		require.Nil(t, dig(t, payload, "context", "task_id"))
		require.Nil(t, dig(t, payload, "context", "agent_name"))
	}
}

func TestErrors_S1_ERR_05_Context(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.agent = "copilot\u0007"
	p := r.call("reportTaskCompleted", `{"task_id":"TASK-001","status":"odd"}`)
	require.Equal(t, "TASK-001", dig(t, p.payload, "context", "task_id"))
	require.Equal(t, "copilot", dig(t, p.payload, "context", "agent_name"))
	p = r.call("reportIssue", `{"task_id":"../../etc","severity":9}`)
	require.Nil(t, dig(t, p.payload, "context", "task_id"), "what is no id is not echoed as one")
	require.Contains(t, r.logs.String(), `"error_code":"INVALID_PARAM"`)
}

func TestFaults_X_SEC_03_Panic(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("_test/inject", `{"tool":"createTicket","kind":"panic"}`).ok()
	require.Panics(t, func() { r.call("createTicket", `{"title":"x"}`) }, "the server makes an answer of it")
	r.call("createTicket", `{"title":"x"}`).ok()
}

// Every kind of fault, on every tool, is answered in the tool's form, and the
// tool works again afterwards.
func TestFaults_EveryTool(t *testing.T) {
	t.Parallel()
	for tool, args := range goodArguments {
		for kind, codes := range map[faults.Kind][3]any{
			faults.Internal:    {int64(500), "INTERNAL_ERROR", int64(-32603)},
			faults.Unavailable: {int64(503), "RESOURCE_NOT_FOUND", int64(-32603)},
		} {
			t.Run(tool+"/"+string(kind), func(t *testing.T) {
				t.Parallel()
				r := verified(t)
				name := toolOf(tool)
				r.call("_test/inject", fmt.Sprintf(`{"tool":%q,"kind":%q}`, name, kind)).ok()
				p := r.call(name, args)
				switch {
				case p.failure != nil && name == "callCOEAgent":
					require.Equal(t, codes[2], p.failure.Code)
				case p.failure != nil:
					require.Equal(t, codes[0], p.failure.Code)
				default:
					p.enveloped(fmt.Sprint(codes[1]))
				}
				p = r.call(name, args)
				require.Nil(t, p.failure)
				require.False(t, p.isError, p.text)
			})
		}
	}
}

func TestFaults_Delay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.call("_test/inject", `{"tool":"getNextTask","kind":"delay","delay":"7s","times":2}`).ok()
		begin := time.Now()
		r.next(`{}`)
		require.Equal(t, 7*time.Second, time.Since(begin))
	})
}

func TestInject_S1_INJ_02(t *testing.T) {
	t.Parallel()
	off := newRig(t, func(o *Options) { o.AllowFaultInjection = false })
	require.Empty(t, off.fam.Methods, "the method does not exist unless enabled")
	_, err := New(Options{Faults: []faults.Fault{{Tool: "*", Kind: faults.Internal, Times: 1}}})
	require.ErrorContains(t, err, "fault injection")

	r := newRig(t)
	require.Equal(t, `{"faults":[],"writes":0}`, r.call("_test/inject", ``).text)
	require.Equal(t, `{"faults":[{"tool":"*","kind":"delay","times":3,"delay":"1m0s"}],"writes":0}`,
		r.call("_test/inject", `{"tool":"*","kind":"delay","times":3,"delay":"1m"}`).text)
	require.Equal(t, `{"faults":[],"writes":0}`, r.call("_test/inject", `{"clear":true}`).text)
	for _, args := range []string{
		`{"tool":"getNextTask"}`, `{"kind":"panic"}`, `{"tool":"nobody","kind":"panic"}`, `{"tool":"getNextTask","kind":"odd"}`,
		`{"tool":"getNextTask","kind":"delay"}`, `{"tool":"getNextTask","kind":"delay","delay":"soon"}`, `{"tool":"*","kind":"delay","delay":"99h"}`,
		`{"tool":"getNextTask","kind":"panic","times":-1}`, `{"what":1}`, `[]`,
	} {
		r.call("_test/inject", args).number(400, "Bad Request")
	}
	require.Equal(t, `{"faults":[],"writes":0}`, r.call("_test/inject", `{}`).text)
}

func TestFaults_FromTheStart(t *testing.T) {
	t.Parallel()
	f, err := faults.Parse("tool=getNextTask,kind=unavailable,times=1")
	require.NoError(t, err)
	r := newRig(t, func(o *Options) { o.Faults = []faults.Fault{f} })
	r.call("getNextTask", `{}`).number(503, "")
	r.next(`{}`)
}

func TestRate_S1_RATE_01_02_Forms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		defaults := limit.Defaults()
		r := newRig(t, func(o *Options) { o.Rates = &defaults })
		for range 100 { // paced: not a burst
			r.next(`{}`)
			time.Sleep(101 * time.Millisecond)
		}
		data := r.call("getNextTask", `{}`).number(429, "Too Many Requests")
		require.Equal(t, "agent", data["scope"])
		require.Equal(t, 100, data["limit"])
		require.Equal(t, 0, data["remaining"])
		require.Equal(t, 50, data["retry_after_seconds"])
		require.Greater(t, data["reset"], time.Now().Unix())

		p := r.call("reportIssue", `{"issue_description":"x","severity":3}`)
		e := p.enveloped("RATE_LIMIT")
		require.Equal(t, 50.0, e["retry_after_seconds"])
		require.Equal(t, true, e["retryable"])
		require.Equal(t, "agent", dig(t, e, "details", "scope"))
		r.call("askQuestion", fmt.Sprintf(ask12, `"x"`, "")).enveloped("RATE_LIMIT")
		r.call("askQuestion", `{"question":"x"}`).number(429, "")
		r.call("callCOEAgent", `{}`).number(429, "")
		r.call("_test/inject", `{}`).ok() // no tool: not limited
		time.Sleep(50 * time.Second)
		r.next(`{}`) // after the wait it said
	})
}

func TestSecurity_S1_SEC_01_Permissions(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) {
		o.Permissions = map[string]Permission{"reader": ReadOnly, "writer": Write, AnyAgent: ReadOnly}
	})
	reading := map[string]bool{"getNextTask": true, "askQuestion": true, "getImmediateAnswer": true}
	for _, agent := range []string{"reader", "stranger"} {
		r.agent = agent
		for name, args := range goodArguments {
			tool := toolOf(name)
			p := r.call(tool, args)
			switch {
			case reading[tool]:
				p.ok()
			case p.failure != nil:
				p.number(403, "Forbidden")
			default:
				p.enveloped("AUTH_ERROR")
			}
		}
	}
	r.agent = "writer"
	r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`).ok()
	require.Empty(t, r.records(ledger.Issue))

	_, err := New(Options{Permissions: map[string]Permission{"x": "admin"}})
	require.ErrorContains(t, err, "permission")
}

func TestSecurity_S1_SEC_03_ControlCharacters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.call("askQuestion", `{"question":"a\u0000b\u001b[31m\tc\nd <b>&é\u0085\r?"}`).ok()
	require.Equal(t, "ab[31m\tc\nd <b>&é?", got["question"])
	got = r.call("createTicket", `{"title":"\u0007<script>"}`).ok()
	require.Equal(t, "<script>", dig(t, got, "ticket", "title"))
	p := r.call("reportTaskDone", `{"taskId":"TASK\u0007","status":"done"}`)
	p.number(400, "taskId is not an id")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]Options{
		"shape":    {NextTask: "new"},
		"negative": {AnswerDelay: -1},
		"fault":    {AllowFaultInjection: true, Faults: []faults.Fault{{Tool: "x", Kind: faults.Panic}}},
		"folder":   {DataDir: "family.go"},
	} {
		_, err := New(opts)
		require.ErrorContains(t, err, "coe: ", name)
	}
}

// The rows of S1's error-injection tables: what is answered, and that the
// recovery the table names works.
func TestInject_S1_INJ_01_Rows(t *testing.T) {
	t.Parallel()
	type next struct{ tool, args string }
	tests := []struct {
		row, fault, tool, args string
		code                   string
		retryable, fallback    bool
		recovery               next
	}{
		{
			"DB locked", `{"tool":"createTicket","kind":"db_locked","times":6}`, "createTicket", `{"title":"Test"}`,
			"DB_LOCKED", true, false,
			next{"createTicket", `{"title":"Test"}`},
		},
		{
			"Invalid input", ``, "createTicket", `{"description":"x"}`,
			"INVALID_PARAM", false, false,
			next{"createTicket", `{"title":"Test"}`},
		},
		{
			"DB unavailable", `{"tool":"createTicket","kind":"db_down"}`, "createTicket", `{"title":"Test"}`,
			"RESOURCE_NOT_FOUND", true, true,
			next{"createTicket", `{"title":"Test"}`},
		},
		{
			"Task not found", ``, "reportTaskStatus", `{"task_id":"TASK-999","status":"done"}`,
			"RESOURCE_NOT_FOUND", false, false,
			next{"reportTaskStatus", `{"task_id":"TASK-001","status":"done"}`},
		},
		{
			"Invalid state", ``, "reportTaskStatus", `{"task_id":"TASK-001","status":"invalid_value"}`,
			"INVALID_PARAM", false, false,
			next{"reportTaskStatus", `{"task_id":"TASK-001","status":"done"}`},
		},
		{
			"Cascaded failure", `{"tool":"reportTaskStatus","kind":"unblock"}`, "reportTaskStatus", `{"task_id":"TASK-004","status":"done"}`,
			"INTERNAL_ERROR", false, false,
			next{"reportTaskStatus", `{"task_id":"TASK-004","status":"done"}`},
		},
		{
			"Timeout", `{"tool":"askQuestion","kind":"delay","delay":"35s"}`, "askQuestion", `{"question":"Should we use X or Y?","context":{"taskId":"TASK-001"}}`,
			"TIMEOUT", true, true,
			next{"createTicket", `{"title":"Should we use X or Y?"}`},
		},
		{
			"Token limit", ``, "askQuestion", `{"question":"x","context":` + quoted(17_000) + `}`,
			"TOKEN_LIMIT_EXCEEDED", false, true,
			next{"askQuestion", `{"question":"x","context":"shorter"}`},
		},
		{
			"Invalid question", ``, "askQuestion", `{"question":"{\"broken"}`,
			"INVALID_PARAM", false, false,
			next{"askQuestion", `{"question":"whole"}`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.tool+"/"+tt.row, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, onDisk(t), func(o *Options) { o.AnswerTimeout = 50 * time.Millisecond })
			if tt.fault != "" {
				r.call("_test/inject", tt.fault).ok()
			}
			p := r.call(tt.tool, tt.args)
			e := p.enveloped(tt.code)
			require.Equal(t, tt.retryable, e["retryable"])
			require.Equal(t, tt.fallback, e["fallback_suggested"])
			r.call(tt.recovery.tool, tt.recovery.args).ok()
		})
	}
}
