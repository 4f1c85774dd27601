package transport_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// A program gets the variables of the policy and no others. Not parallel: it changes this
// process's environment.
func TestCommandEnvironment(t *testing.T) {
	t.Setenv("MAINSTAY_TEST_API_KEY", "s3cret")
	t.Setenv("LC_TIME", "C")
	t.Setenv("LANG", "() { :; }; echo a function")
	t.Setenv("TERM", "dumb")
	tests := []struct {
		name     string
		policy   transport.EnvPolicy
		has, not []string
	}{
		{"safe", transport.EnvSafe, []string{"PATH", "LC_TIME", "TERM", "GIVEN"}, []string{"MAINSTAY_TEST_API_KEY", "LANG"}},
		{"all", transport.EnvAll, []string{"PATH", "MAINSTAY_TEST_API_KEY", "LANG", "GIVEN"}, nil},
		{"none", transport.EnvNone, []string{"GIVEN"}, []string{"PATH", "HOME", "LC_TIME", "MAINSTAY_TEST_API_KEY"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := run(t, "environment", func(cmd *transport.Command) {
				cmd.Inherit = tt.policy
				cmd.Env = append(cmd.Env, "GIVEN=1", "TERM=given")
			})
			answer, err := c.Call(t.Context(), c.request("environment", ""))
			require.NoError(t, err)
			var got struct{ Env []string }
			require.NoError(t, json.Unmarshal(answer.Result, &got))
			var names []string
			for _, kv := range got.Env {
				name, _, _ := strings.Cut(kv, "=")
				names = append(names, name)
			}
			require.Subset(t, names, tt.has)
			for _, name := range tt.not {
				require.NotContains(t, names, name)
			}
			require.Contains(t, got.Env, "TERM=given", "what is given wins")
			require.NotContains(t, got.Env, "TERM=dumb")
			slices.Sort(names)
			require.Len(t, slices.Compact(names), len(got.Env), "a name twice")
		})
	}
}
