package conformance

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/internal/official"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

// TestTrial_Flooded: what may rest on a message that was not kept is no verdict.
func TestTrial_Flooded(t *testing.T) {
	t.Parallel()
	tr := &Trial{session: &wire.Session{Flooded: true}}
	for _, status := range []Status{Pass, Fail, Warn} {
		require.NotEmpty(t, tr.unsure(status))
	}
	require.Empty(t, tr.unsure(Skip))
}

// TestTrial_Panics: a fault of the suite is an error of its scenario alone.
func TestTrial_Panics(t *testing.T) {
	t.Parallel()
	l := newRevisionRun(&runner{Opts: Options{Timeout: DefaultTimeout}, Report: &Report{}}, "")
	sc := &Scenario{ID: "T-1", Area: "base", Checks: []Check{{ID: "T-1", Level: Must}}, Run: func(*Trial) error { panic("a bug") }}
	tr := &Trial{Rev: l, Scenario: sc}
	l.perform(t.Context(), tr)
	require.Equal(t, Error, tr.results[0].Status)
	require.Contains(t, tr.results[0].Detail, "panic: a bug")
}

// TestMayCall: a tool of a stranger is not called because its name begins like
// those of the official suite.
func TestMayCall(t *testing.T) {
	t.Parallel()
	l := &RevisionRun{runner: &runner{Opts: Options{AllowTools: []string{"mine"}}}, grant: SideEffectsNone}
	for name, want := range map[string]bool{
		official.ToolSimpleText: true, official.InputRequired + "elicitation": true, "mine": true,
		"test_connection": false, "test_": false, "test_simple_text_and_delete": false, "yours": false,
	} {
		require.Equal(t, want, l.MayCall(name), name)
	}
}

// TestErrors: faults of the suite are errors, not verdicts on the server.
func TestErrors(t *testing.T) {
	t.Parallel()
	sc := Scenario{ID: "T-1", Area: "base", Checks: []Check{{ID: "T-1", Level: Must}}}
	for _, c := range []struct {
		err  error
		want Status
	}{
		{Ours(errors.New("disk full")), Error},
		{wire.ErrClosed, Unknown},
		{nil, Unknown},
		{context.DeadlineExceeded, Unknown},
	} {
		tr := &Trial{Rev: &RevisionRun{runner: &runner{}}, Scenario: &sc}
		tr.finish(c.err)
		require.Equal(t, c.want, tr.results[0].Status)
		r := Report{Results: append(tr.results, Result{Check: Check{Level: Must}, Level: Must, Status: Pass})}
		require.Equal(t, Incomplete, r.Verdict())
	}
}
