package mainstay_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// action is the part of the syntax of GitHub that action.yml uses.
type action struct {
	Name, Description string
	Branding          map[string]string
	Inputs            map[string]struct{ Description, Default string }
	Outputs           map[string]struct{ Description, Value string }
	Runs              struct {
		Using string
		Steps []struct {
			ID, If, Shell, Run, Uses string
			With, Env                map[string]string
		}
	}
}

// TestAction: action.yml has only fields that GitHub knows, passes each input on, and its script
// reads every variable and sets every output.
func TestAction(t *testing.T) {
	t.Parallel()
	var a action
	file, err := os.Open("action.yml")
	require.NoError(t, err)
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&a))
	require.NoError(t, file.Close())
	script, err := os.ReadFile("scripts/action.sh")
	require.NoError(t, err)

	var expressions strings.Builder
	ids, given := []string{}, []string{}
	for _, step := range a.Runs.Steps {
		require.NotEqual(t, step.Run == "", step.Uses == "", "a step either runs or uses")
		require.Equal(t, step.Run != "", step.Shell != "", "a composite action names the shell of each run")
		require.NotContains(t, step.Run, "${{", "an expression in a script runs what a stranger wrote")
		ids = append(ids, step.ID)
		expressions.WriteString(step.If + "\n")
		for _, value := range step.With {
			expressions.WriteString(value + "\n")
		}
		for name, value := range step.Env {
			given = append(given, name)
			expressions.WriteString(value + "\n")
		}
	}
	require.Equal(t, "composite", a.Runs.Using)

	used := regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllStringSubmatch(expressions.String(), -1)
	for _, m := range used {
		require.Contains(t, a.Inputs, m[1])
	}
	for name, input := range a.Inputs {
		require.NotEmpty(t, input.Description, name)
		require.True(t, slices.ContainsFunc(used, func(m []string) bool { return m[1] == name }), "input %s is not used", name)
	}
	variable := regexp.MustCompile(`\$\{?(CONFORM_[A-Z_]+)`)
	for _, m := range variable.FindAllStringSubmatch(string(script), -1) {
		if m[1] != "CONFORM_MCPCTL" { // for tests and other CIs
			require.Contains(t, given, m[1], "what the script reads")
		}
	}
	for _, name := range given {
		require.Regexp(t, `\$\{?`+name+`\b`, string(script), "the script does not read it")
	}
	output := regexp.MustCompile(`^\$\{\{ steps\.([a-z]+)\.outputs\.([a-z-]+) \}\}$`)
	for name, out := range a.Outputs {
		m := output.FindStringSubmatch(out.Value)
		require.NotNil(t, m, name)
		require.Contains(t, ids, m[1])
		require.Equal(t, name, m[2])
		require.Regexp(t, `output `+name+` |[( ]`+name+`=`, string(script), "the script does not set it")
	}
}
