package coe

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
)

// Many agents at once, on one plan and one file: every call is answered, and
// the numbers add up.
func TestConcurrentAgents(t *testing.T) {
	t.Parallel()
	r := newRig(t, onDisk(t))
	var wg sync.WaitGroup
	const agents = 15
	for i := range agents {
		wg.Go(func() {
			task := fmt.Sprintf("TASK-%03d", i+1)
			r.next(`{"filter":"all"}`)
			r.call("createTicket", fmt.Sprintf(`{"title":"t","type":"investigation","task_id":%q}`, task)).ok()
			r.call("reportObservation", fmt.Sprintf(`{"observation":"x","task_id":%q}`, task)).ok()
			got := r.call("reportTaskStatus", fmt.Sprintf(`{"task_id":%q,"status":"done"}`, task)).ok()
			require.Equal(t, 1.0, dig(t, got, "cascaded", "ticketsResolved"))
			r.call("reportTaskDone", fmt.Sprintf(`{"taskId":%q,"status":"done"}`, task)).number(409, "")
		})
	}
	wg.Wait()
	n := r.srv.plan.View().Counts()
	require.Equal(t, []int{35, agents, agents}, []int{n.Total, n.Completed, n.VerificationPending})
	for _, ticket := range r.tickets() {
		require.False(t, ticket.Open)
	}
	require.NoError(t, r.srv.ledger.Close(t.Context()))
	require.Len(t, r.records(ledger.Observation), agents)
}

// Of many reports that one task is done, one is right.
func TestConcurrentDone(t *testing.T) {
	t.Parallel()
	r := newRig(t, onDisk(t))
	var mu sync.Mutex
	codes := map[int64]int{}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			p := r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`)
			mu.Lock()
			defer mu.Unlock()
			if p.failure != nil {
				codes[p.failure.Code]++
			} else {
				codes[0]++
			}
		})
	}
	wg.Wait()
	require.Equal(t, map[int64]int{0: 1, 409: 19}, codes)
}
