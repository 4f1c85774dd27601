package checks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// TestAreas: each area has its place in a report, and no check of the 29 tools comes
// with those of the specification.
func TestAreas(t *testing.T) {
	t.Parallel()
	for _, sc := range All() {
		require.Contains(t, areas, sc.Area, sc.ID)
		require.Equal(t, conformance.SuiteProtocol, sc.Suite(), sc.ID)
	}
}
