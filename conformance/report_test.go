package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	of := func(level Level, status Status, reason SkipReason) Result {
		return Result{Level: level, Status: status, Reason: reason}
	}
	pass := of(Must, Pass, "")
	for name, c := range map[string]struct {
		results []Result
		want    Verdict
	}{
		"all well":                     {[]Result{pass}, Passed},
		"nothing at all":               {nil, Incomplete},
		"only skips":                   {[]Result{of(Must, Skip, SkipNotDeclared)}, Incomplete},
		"a control skip":               {[]Result{pass, of(Must, Skip, SkipControl)}, Passed},
		"a missing prerequisite":       {[]Result{pass, of(Must, Skip, SkipPrerequisite)}, Incomplete},
		"an open recommendation":       {[]Result{pass, of(Should, Unknown, "")}, Passed},
		"an open requirement":          {[]Result{pass, of(Must, Unknown, "")}, Incomplete},
		"a fault of the suite":         {[]Result{pass, of(Must, Error, "")}, Incomplete},
		"a warning":                    {[]Result{pass, of(Should, Warn, "")}, Passed},
		"a failure beside open ones":   {[]Result{of(Must, Unknown, ""), of(Must, Fail, "")}, Failed},
		"a failure beside many passes": {[]Result{pass, pass, of(Must, Fail, "")}, Failed},
	} {
		r := Report{Results: c.results}
		require.Equal(t, c.want, r.Verdict(), name)
	}
}
