package coe

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/knowledge"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

// own starts the family with a plan and documents of the user's.
func own(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "docs"), 0o700))
	for name, text := range map[string]string{
		"plan.md":       "# Observatory\n\n- [x] Choose a site\n- [ ] Pour the foundation (high, after Choose a site)\n- [ ] Mount the telescope (critical, after Pour the foundation)\n",
		"docs/dome.md":  "# Dome\n\n## Motor\n\nThe dome turns at two degrees a second.\n\nGrease the motor every spring.\n\n## Shutter\n\nClose the shutter when the wind is above 60 km/h.\n",
		"docs/staff.md": "# Staff\n\nTwo astronomers work each night; one guide leads the visitors.\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	seed, err := plan.Load(filepath.Join(dir, "plan.md"))
	require.NoError(t, err)
	base, err := knowledge.Load(filepath.Join(dir, "docs"))
	require.NoError(t, err)
	return newRig(t, func(o *Options) { o.Seed, o.Knowledge = &seed, base })
}

func TestLoaded_Plan(t *testing.T) {
	t.Parallel()
	r := own(t)
	require.Equal(t, "TASK-002", r.nextID(), "the critical task waits for it")
	require.Equal(t, "Observatory", dig(t, r.next(`{}`), "task", "planReference", "planId"))
	r.call("reportTaskDone", `{"taskId":"TASK-002","status":"done"}`).ok()
	require.Equal(t, "TASK-003", r.nextID())
	r.call("_test/reset", `{}`).ok()
	require.Equal(t, "TASK-002", r.nextID())
}

func TestLoaded_Answers(t *testing.T) {
	t.Parallel()
	r := own(t)
	got := r.call("askQuestion", `{"question":"When must the shutter be closed?"}`).ok()
	require.Equal(t, "Close the shutter when the wind is above 60 km/h.", got["answerFromPlan"])
	require.GreaterOrEqual(t, got["confidence"], 0.7)
	require.NotContains(t, got, "uncertainty")
	evidence, ok := got["evidence"].(map[string]any)
	require.True(t, ok)
	require.Regexp(t, "^sha256:", evidence["planVersion"])
	delete(evidence, "planVersion")
	require.Equal(t, map[string]any{
		"source": "dome.md", "section": "Dome > Shutter", "exactQuote": "Close the shutter when the wind is above 60 km/h.", "lineNumbers": []any{11.0, 11.0},
	}, evidence)

	got = r.call("askQuestion", `{"question":"How often is the motor greased?","context_summary":"x","task_id":"TASK-002"}`).ok()
	require.Contains(t, got["answer"], "Grease the motor every spring.")
	require.Equal(t, "dome.md#Dome > Motor", got["source"])
	require.Equal(t, false, got["follow_up_needed"])
	require.NotContains(t, got, "sample_data")

	got = r.call("getImmediateAnswer", `{"query":"How many astronomers are there each night?"}`).ok()
	require.Contains(t, got["answer"], "Two astronomers")
	require.Equal(t, "staff.md#Staff", got["source"])

	require.Contains(t, r.call("callCOEAgent", `{"command":"ask","args":{"question":"How fast does the dome turn?"}}`).text, "Source: dome.md#Dome")
	require.Contains(t, r.call("callCOEAgent", `{"command":"plan","args":{"task":"Grease the motor of the dome"}}`).text, "Follow dome.md#Dome")
}

func TestLoaded_Escalates(t *testing.T) {
	t.Parallel()
	r := own(t)
	for _, question := range []string{"Should sidebar collapse on mobile?", "Who is the mayor of Lisbon?"} {
		got := r.call("askQuestion", fmt.Sprintf(`{"question":%q}`, question)).ok()
		require.Less(t, got["confidence"], 0.4)
		require.NotContains(t, got, "answerFromPlan")
		require.Contains(t, got["uncertainty"], "the documents")
		got = r.call("askQuestion", fmt.Sprintf(`{"question":%q,"context_summary":"x","task_id":"TASK-002"}`, question)).ok()
		require.Equal(t, []any{true, true, nil}, []any{got["follow_up_needed"], got["escalated_to_user"], got["source"]})
	}
	got := r.call("askQuestion", `{"question":"How often should a guide grease the purple motor?","context_summary":"x","task_id":"TASK-002"}`).ok()
	require.Equal(t, []any{true, true}, []any{got["follow_up_needed"], got["escalated_to_user"]}, "nothing is said of purple: %v", got)
	require.Contains(t, got["answer"], `it does not say "purple"`)
	require.Contains(t, r.logs.String(), "coe_question_escalated")
}
