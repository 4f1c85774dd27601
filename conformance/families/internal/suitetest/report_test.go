package suitetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	of := func(level conformance.Level, status conformance.Status, reason conformance.SkipReason) conformance.Result {
		return conformance.Result{Level: level, Status: status, Reason: reason}
	}
	pass := of(conformance.Must, conformance.Pass, "")
	for name, c := range map[string]struct {
		results []conformance.Result
		want    conformance.Verdict
	}{
		"all well":                     {[]conformance.Result{pass}, conformance.Passed},
		"nothing at all":               {nil, conformance.VerdictInconclusive},
		"only skips":                   {[]conformance.Result{of(conformance.Must, conformance.Skip, conformance.SkipNotDeclared)}, conformance.VerdictInconclusive},
		"a control skip":               {[]conformance.Result{pass, of(conformance.Must, conformance.Skip, conformance.SkipControl)}, conformance.Passed},
		"a missing prerequisite":       {[]conformance.Result{pass, of(conformance.Must, conformance.Skip, conformance.SkipPrerequisite)}, conformance.VerdictInconclusive},
		"an open recommendation":       {[]conformance.Result{pass, of(conformance.Should, conformance.Inconclusive, "")}, conformance.Passed},
		"an open requirement":          {[]conformance.Result{pass, of(conformance.Must, conformance.Inconclusive, "")}, conformance.VerdictInconclusive},
		"a fault of the suite":         {[]conformance.Result{pass, of(conformance.Must, conformance.Error, "")}, conformance.VerdictInconclusive},
		"a warning":                    {[]conformance.Result{pass, of(conformance.Should, conformance.Warn, "")}, conformance.Passed},
		"a failure beside open ones":   {[]conformance.Result{of(conformance.Must, conformance.Inconclusive, ""), of(conformance.Must, conformance.Fail, "")}, conformance.Failed},
		"a failure beside many passes": {[]conformance.Result{pass, pass, of(conformance.Must, conformance.Fail, "")}, conformance.Failed},
	} {
		r := conformance.Report{Results: c.results}
		require.Equal(t, c.want, r.Verdict(), name)
	}
}
