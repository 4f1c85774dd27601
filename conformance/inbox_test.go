package conformance

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestInbox: a flood waits where it is, and nothing that fits waits.
func TestInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, quit := newInbox(), make(chan struct{})
		big := inbound{data: make([]byte, inboxBytes*2/3)}
		arrived := 0
		for range 3 {
			go func() {
				b.put(big, quit)
				arrived++
			}()
		}
		for n := 1; n <= 3; n++ {
			synctest.Wait()
			require.Equal(t, n, arrived, "one at a time")
			b.took(<-b.messages)
		}
		over := inbound{data: make([]byte, inboxBytes+1)}
		b.put(over, quit) // an empty inbox has room for any message
		go func() {
			b.put(big, quit)
			arrived++
		}()
		synctest.Wait()
		require.Equal(t, 3, arrived)
		close(quit)
		synctest.Wait()
		require.Equal(t, 4, arrived, "the end lets go")
	})
}

// TestSession_Flooded: what may rest on a message that was not kept is no verdict.
func TestSession_Flooded(t *testing.T) {
	t.Parallel()
	s := &session{}
	note := inbound{data: make([]byte, keptInAll/4)}
	for range 4 {
		require.True(t, s.keep(note))
	}
	require.False(t, s.flooded)
	require.False(t, s.keep(note))
	tr := &trial{session: s}
	for _, status := range []Status{Pass, Fail, Warn} {
		require.NotEmpty(t, tr.unsure(status))
	}
	require.Empty(t, tr.unsure(Skip))

	s = &session{}
	for range keptMessages {
		require.True(t, s.keep(inbound{}))
	}
	require.False(t, s.keep(inbound{}))
}

// TestTrial_Panics: a fault of the suite is an error of its scenario alone.
func TestTrial_Panics(t *testing.T) {
	t.Parallel()
	l := newLeg(&runner{opts: Options{Timeout: DefaultTimeout}, report: &Report{}}, "")
	sc := &Scenario{ID: "T-1", Area: "base", Checks: []Check{{ID: "T-1", Level: Must}}, run: func(*trial) error { panic("a bug") }}
	tr := &trial{leg: l, scenario: sc}
	l.perform(t.Context(), tr)
	require.Equal(t, Error, tr.results[0].Status)
	require.Contains(t, tr.results[0].Detail, "panic: a bug")
}
