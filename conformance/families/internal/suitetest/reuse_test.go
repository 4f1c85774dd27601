package suitetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// TestDefect_OnUsedProgram: a defect is found on a program that other scenarios have used.
func TestDefect_OnUsedProgram(t *testing.T) {
	t.Parallel()
	table, elsewhere := defects(), rewrites()
	stride := 12
	if testmain.Race {
		stride = 60
	}
	n := 0
	for _, sc := range registry() {
		for _, c := range sc.Checks {
			b, there := table[c.ID]
			_, rewritten := elsewhere[c.ID]
			if c.ID == "X-GATE-01/after" || b.chunks { // what shows in a function alone
				continue
			}
			if !there || rewritten || b.http || sc.Last || sc.Needs.Fixture != "" || sc.Suite != "" && sc.Suite != engine.SuiteProtocol {
				continue
			}
			if n++; n%stride != 0 {
				continue
			}
			t.Run(c.ID, func(t *testing.T) {
				t.Parallel()
				b.process = true
				b.also = append(b.also, "LC-01/answered", "LC-07/early", "TALK-PING/empty-params", "X-GATE-02/alive")
				got := b.judge(t, c.ID, c.ID)
				require.Contains(t, []conformance.Status{conformance.Fail, conformance.Warn}, got.Status, "%+v", got)
			})
		}
	}
}
