package login

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// TestScenarios: every check has one source, and a level that its source can give it.
func TestScenarios(t *testing.T) {
	t.Parallel()
	all := Scenarios()
	require.Greater(t, len(all), 60)
	for _, sc := range all {
		require.Equal(t, Area, sc.Area, sc.ID)
		for _, c := range sc.Checks {
			require.NotEqual(t, c.Spec.Section == "", c.Spec.Seed == "", "%s has one source", c.ID)
			require.Equal(t, c.Spec.Section == "", c.Level == conformance.Advice, "%s: what the specification does not say is advice", c.ID)
			require.LessOrEqual(t, len(c.Spec.Quote), 200, c.ID)
		}
	}
}

// TestModern: what stands on another page since 2026-07-28 is found there.
func TestModern(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		"basic/authorization#open-redirection":                                 "basic/authorization/security-considerations#open-redirection",
		"basic/authorization#client-registration-approaches":                   "basic/authorization/client-registration",
		"basic/authorization#step-up-authorization-flow":                       "",
		"basic/authorization/client-registration#authorization-server-binding": "",
	} {
		require.Equal(t, want, Modern(conformance.Spec{Section: section, Quote: "q"}).Section)
	}
}
