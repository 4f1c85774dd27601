package faults

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Without a fault, both carriers pass on what is said, and the history has it.
func TestNothingWrong(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		web := newHTTPRig(t)
		g := web.ask(call(1))
		require.Equal(t, 200, g.status)
		require.Contains(t, g.body, `"done"`)
		line := newStreamRig(t)
		line.say(call(1))
		heard, err := line.hear(1)
		require.NoError(t, err)
		require.Contains(t, heard[0], `"done"`)
		for _, p := range []*Proxy{web.proxy, line.proxy} {
			all := p.History()
			require.Len(t, all, 1)
			require.Equal(t, Call{Seq: 1, ID: "1", Method: "tools/call", Tool: "add", Key: "k1", Sent: true, Answered: true, Delivered: true}, all[0])
			require.Equal(t, 1, p.Executions("k1"))
			require.Empty(t, p.Stats())
			p.Forget()
			require.Empty(t, p.History())
		}
	})
}

// An answer that the client does not take is not delivered.
func TestNotDelivered(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		rig := newHTTPRig(t, Rule{Fault: "B3"})
		c := rig.conn()
		post(c, call(1))
		_, err := io.ReadFull(c, make([]byte, 100))
		require.NoError(t, err)
		require.NoError(t, c.Close())
		<-time.After(time.Minute)
		require.Equal(t, []bool{true, true, false}, []bool{rig.proxy.History()[0].Sent, rig.proxy.History()[0].Answered, rig.proxy.History()[0].Delivered})
	})
}

// What a hold keeps back goes on when the plan is replaced.
func TestHeal(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		web := newHTTPRig(t, Rule{Fault: "B1"})
		time.AfterFunc(time.Minute, web.proxy.Heal)
		g := web.ask(call(1))
		require.Equal(t, 200, g.status)
		require.Equal(t, time.Minute, g.took)
		require.Equal(t, map[string]int{"B1": 1}, web.proxy.Stats())
		require.NoError(t, web.proxy.Set(Plan{Rules: []Rule{{Fault: "B16"}}}))
		require.Equal(t, 404, web.ask(call(2)).status)
		require.Error(t, web.proxy.Set(Plan{Rules: []Rule{{Fault: "B99"}}}))
		require.EqualValues(t, 1, web.server.executed.Load())
	})
}

// What is under way when the history is forgotten, and reaches the server after
// that, is counted: else a checker would miss a duplicate.
func TestForgetKeepsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		web := newHTTPRig(t, Rule{Fault: "B1", Unsent: true, When: Selector{Count: 1}}, Rule{Fault: "B4", When: Selector{Count: 1}})
		time.AfterFunc(time.Second, func() {
			_ = web.ask(call(2)) // executed, and its answer lost, before Forget
			web.proxy.Forget()
			web.proxy.Heal()
		})
		require.Equal(t, 200, web.ask(call(1)).status)
		require.EqualValues(t, 2, web.server.executed.Load())
		require.Equal(t, 1, web.proxy.Executions("k1"))
		all := web.proxy.History()
		require.NotEmpty(t, all)
		require.Equal(t, "1", all[0].ID)
	})
}
