//go:build !race

package mutants

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// TestKnownFailuresOfMutants: whatever is wrong with a server, a file of known
// failures that one run writes makes the next one pass.
func TestKnownFailuresOfMutants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: two runs for each of a dozen servers")
	}
	wanted := map[string][]string{
		"id-missing-in-errors": {"errors"}, "result-and-error": {"errors"}, "unknown-method-result": {"errors"},
		"capability-as-boolean": {"lifecycle", "prompts"}, "prompts-declared-missing": {"lifecycle", "prompts"}, "version-not-echoed": {"lifecycle"},
		"answer-as-text": {"http"}, "origin-ignored": {"http"}, "session-shared": {"http"}, "get-500": {"http"},
		"stdout-banner": {"stdio"}, "stdout-log-lines": {"stdio", "errors"}, "bad-line-ends-it": {"stdio", "errors"}, "line-limit-64k": {"stdio"},
	}
	if os.Getenv("MAINSTAY_SOAK") == "" { // one of each kind
		maps.DeleteFunc(wanted, func(id string, _ []string) bool {
			return !slices.Contains([]string{"id-missing-in-errors", "origin-ignored", "answer-as-text", "stdout-banner"}, id)
		})
	}
	rig := inProcess()
	blocked := 0
	t.Run("each", func(t *testing.T) {
		for _, m := range Mutants() {
			only, sampled := wanted[m.ID]
			if !sampled {
				continue
			}
			delete(wanted, m.ID)
			t.Run(m.ID, func(t *testing.T) {
				first := judgeKnown(t, rig, m, conformance.Options{Only: only})
				require.Equal(t, conformance.Failed, first.Verdict())
				blocked += first.Summary().Blocked
				var file bytes.Buffer
				require.NoError(t, conformance.WriteExpectations(&file, first))
				known, err := conformance.ReadExpectations("known.txt", bytes.NewReader(file.Bytes()))
				require.NoError(t, err)
				again := judgeKnown(t, rig, m, conformance.Options{Only: only, Expected: conformance.Expectations{Failing: known}})
				require.Zero(t, again.ExitCode(), "%+v\n%s", again.Summary(), file.String())
			})
		}
	})
	require.Empty(t, wanted, "there are no such mutants")
	require.Positive(t, blocked, "a defect that keeps other checks from being looked at is among them")
}

func judgeKnown(t *testing.T, rig Rig, m Mutant, opts conformance.Options) *conformance.Report {
	t.Helper()
	subject, stop, err := Detector{Rig: rig}.subject(t.Context(), m)
	require.NoError(t, err)
	defer stop()
	opts.Revisions, opts.Answer, opts.SideEffects, opts.Skip = m.Revisions, 2*time.Second, conformance.SideEffectsAll, heavy
	report, err := engine.Run(t.Context(), subject, suite(), opts)
	require.NoError(t, err)
	return report
}
