package coe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/faults"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/limit"
)

func TestReset_S1_TRANS_08(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(*Options){"memory": func(*Options) {}, "sqlite": onDisk(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, where, func(o *Options) {
				o.Rates = &limit.Rates{Agent: limit.Limit{Calls: 6, Window: time.Hour}}
				o.Faults = []faults.Fault{{Tool: "reportIssue", Kind: faults.Internal, Times: 1}}
			})
			for range 2 { // it clears what a first round has left behind
				r.call("reportIssue", `{"issue_description":"x","severity":2}`).enveloped("INTERNAL_ERROR")
				require.Equal(t, "TK-123", dig(t, r.call("createTicket", `{"title":"x"}`).ok(), "ticket", "id"))
				got := r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done","observations":["x"],"followUpTasks":[{"title":"t","why":"w"}]}`).ok()
				require.Equal(t, "OBS-001", dig(t, got, "observationsProcessed", 0, "observationId"))
				require.Equal(t, "TASK-VERIFY-001", dig(t, got, "verificationTaskCreated", "taskId"))
				require.NotNil(t, r.srv.plan.View().Task("TASK-089"))
				require.Equal(t, "OBS-002", r.call("reportObservation", `{"observation":"queued"}`).ok()["observation_id"])
				r.call("_test/inject", `{"tool":"createTicket","kind":"db_down","times":0}`).ok()
				r.call("createTicket", `{"title":"kept"}`).enveloped("RESOURCE_NOT_FOUND")
				require.Equal(t, "TASK-002", r.nextID())
				r.call("getNextTask", `{}`).number(429, "")

				require.Equal(t, `{"success":true}`, r.call("_test/reset", ``).text)
				require.Empty(t, r.tickets())
				require.Empty(t, r.records(ledger.Observation))
				require.Equal(t, `{"faults":[{"tool":"reportIssue","kind":"internal","times":1}],"writes":0}`, r.call("_test/inject", ``).text,
					"what is armed from the start is armed again")
				require.Equal(t, 35, r.srv.plan.View().Counts().Ready+2)
			}
			r.call("_test/reset", `{"really":true}`).number(400, "")
		})
	}
	off := newRig(t, func(o *Options) { o.AllowFaultInjection = false })
	require.Empty(t, off.fam.Methods)
}
