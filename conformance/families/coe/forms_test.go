package coe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/faults"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/limit"
)

// The shape that S1 says has been built so far answers its own failures in
// band, whatever they are.
func TestForms_S1_NEXT_09_ImplementedFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.NextTask = Implemented })
	for kind, message := range map[string]string{
		"internal":    "Internal server error",
		"unavailable": "Task queue unavailable",
	} {
		r.call("_test/inject", `{"tool":"getNextTask","kind":"`+kind+`"}`).ok()
		p := r.call("getNextTask", `{}`)
		require.Nil(t, p.failure)
		require.True(t, p.isError)
		require.JSONEq(t, `{"success":false,"task":null,"error":{"code":"INTERNAL_ERROR","message":"`+message+`"}}`, p.text)
		r.next(`{}`)
	}
	require.Contains(t, r.logs.String(), "injected: an internal error", "the log has the cause")
}

// Every refusal of reportTaskStatus says that nothing has cascaded (C-12).
func TestForms_S1_STAT_05_CascadedInEveryRefusal(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) {
		o.Permissions = map[string]Permission{"reader": ReadOnly}
		o.Rates = &limit.Rates{Agent: limit.Limit{Calls: 3, Window: time.Hour}}
	})
	const args = `{"task_id":"TASK-001","status":"in_progress"}`
	refused := func(code, args string) {
		t.Helper()
		p := r.call("reportTaskStatus", args)
		p.enveloped(code)
		require.Equal(t, map[string]any{"ticketsResolved": 0.0, "tasksUnblocked": 0.0}, p.payload["cascaded"], code)
	}
	refused("INVALID_PARAM", `{"task_id":7}`)
	refused("RESOURCE_NOT_FOUND", `{"task_id":"TASK-999"}`)
	r.call("_test/inject", `{"tool":"reportTaskStatus","kind":"internal"}`).ok()
	refused("INTERNAL_ERROR", args)
	refused("RATE_LIMIT", args)
	r.agent = "reader"
	refused("AUTH_ERROR", args)
	r.agent = "other"
	r.call("_test/inject", `{"tool":"reportTaskStatus","kind":"unavailable"}`).ok()
	refused("RESOURCE_NOT_FOUND", args)
	p := r.call("reportTaskCompleted", `{}`)
	p.enveloped("INVALID_PARAM")
	require.NotContains(t, p.payload, "cascaded", "it is of the one tool")
}

// Who may not call a tool uses up no fault that is meant for it.
func TestFaults_S1_SEC_01_PermissionFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) {
		o.Permissions = map[string]Permission{"reader": ReadOnly}
		o.Faults = []faults.Fault{{Tool: "createTicket", Kind: faults.Internal, Times: 1}}
	})
	r.agent = "reader"
	r.call("createTicket", `{"title":"x"}`).enveloped("AUTH_ERROR")
	r.agent = "writer"
	r.call("createTicket", `{"title":"x"}`).enveloped("INTERNAL_ERROR")
	r.call("createTicket", `{"title":"x"}`).ok()
}
