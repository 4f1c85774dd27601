package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// TestTrial_Flooded: what may rest on a message that was not kept is no verdict.
func TestTrial_Flooded(t *testing.T) {
	t.Parallel()
	tr := &Trial{session: &wire.Session{Flooded: true}}
	for _, status := range []conformance.Status{conformance.Pass, conformance.Fail, conformance.Warn} {
		require.NotEmpty(t, tr.unsure(status))
	}
	require.Empty(t, tr.unsure(conformance.Skip))
}

// TestTrial_Panics: a fault of the suite is an error of its scenario alone.
func TestTrial_Panics(t *testing.T) {
	t.Parallel()
	l := newRevisionRun(&runner{Opts: conformance.Options{Timeout: DefaultTimeout}, Report: &conformance.Report{}}, "")
	sc := &Scenario{ID: "T-1", Area: "base", Checks: []Check{{Check: conformance.Check{ID: "T-1", Level: conformance.Must}}}, Run: func(*Trial) { panic("a bug") }}
	tr := &Trial{Rev: l, Scenario: sc}
	l.perform(t.Context(), tr)
	require.Equal(t, conformance.Error, tr.results[0].Status)
	require.Contains(t, tr.results[0].Detail, "panic: a bug")
}

// TestTrial_NoError: an error stops the scenario and is the reason of its open checks.
func TestTrial_NoError(t *testing.T) {
	t.Parallel()
	l := newRevisionRun(&runner{Opts: conformance.Options{Timeout: DefaultTimeout}, Report: &conformance.Report{}}, "")
	sc := &Scenario{ID: "T-1", Area: "base", Checks: []Check{{Check: conformance.Check{ID: "T-1/a"}}, {Check: conformance.Check{ID: "T-1/b"}}}, Run: func(tr *Trial) {
		tr.NoError(nil)
		tr.Pass("T-1/a")
		tr.NoError(wire.ErrClosed, "ping")
		tr.Pass("T-1/b")
	}}
	tr := &Trial{Rev: l, Scenario: sc}
	l.perform(t.Context(), tr)
	require.Equal(t, conformance.Pass, tr.results[0].Status)
	require.Equal(t, conformance.Inconclusive, tr.results[1].Status)
	require.Equal(t, "ping: "+wire.ErrClosed.Error(), tr.results[1].Detail)
}

// TestMayCall: a tool of a stranger is not called because its name begins like
// those of the official suite.
func TestMayCall(t *testing.T) {
	t.Parallel()
	l := &RevisionRun{runner: &runner{Opts: conformance.Options{AllowTools: []string{"mine"}}}, grant: conformance.SideEffectsNone}
	for name, want := range map[string]bool{
		fixture.ToolSimpleText: true, fixture.InputRequired + "elicitation": true, "mine": true,
		"test_connection": false, "test_": false, "test_simple_text_and_delete": false, "yours": false,
	} {
		require.Equal(t, want, l.MayCall(name), name)
	}
}

// TestErrors: faults of the suite are errors, not verdicts on the server.
func TestErrors(t *testing.T) {
	t.Parallel()
	sc := Scenario{ID: "T-1", Area: "base", Checks: []Check{{Check: conformance.Check{ID: "T-1", Level: conformance.Must}}}}
	for _, c := range []struct {
		err  error
		want conformance.Status
	}{
		{SuiteError(errors.New("disk full")), conformance.Error},
		{wire.ErrClosed, conformance.Inconclusive},
		{nil, conformance.Inconclusive},
		{context.DeadlineExceeded, conformance.Inconclusive},
	} {
		tr := &Trial{Rev: &RevisionRun{runner: &runner{}}, Scenario: &sc}
		tr.finish(c.err)
		require.Equal(t, c.want, tr.results[0].Status)
		r := conformance.Report{Results: append(tr.results, conformance.Result{Check: conformance.Check{Level: conformance.Must}, Level: conformance.Must, Status: conformance.Pass})}
		require.Equal(t, conformance.VerdictInconclusive, r.Verdict())
	}
}
