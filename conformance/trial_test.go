package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

// TestTrial_Flooded: what may rest on a message that was not kept is no verdict.
func TestTrial_Flooded(t *testing.T) {
	t.Parallel()
	tr := &trial{session: &wire.Session{Flooded: true}}
	for _, status := range []Status{Pass, Fail, Warn} {
		require.NotEmpty(t, tr.unsure(status))
	}
	require.Empty(t, tr.unsure(Skip))
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
