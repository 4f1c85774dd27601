package familychecks

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSuite: every check of the 29 tools is one of the suite that --suite seeds runs.
func TestSuite(t *testing.T) {
	t.Parallel()
	for _, sc := range All() {
		require.Equal(t, Name, sc.Suite, sc.ID)
	}
}
