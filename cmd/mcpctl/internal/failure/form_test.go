package failure

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/schema"
)

func TestHumanFaceIsShort(t *testing.T) {
	t.Parallel()
	f := Usage("%s", "many things do not fit")
	for range 40 {
		f.Findings = append(f.Findings, schema.Finding{Pointer: "/a", Message: "is required"})
	}
	f.Note, f.Try = "nothing was sent", []string{"one", "two"}
	got := f.Human(false)
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	require.Len(t, lines, maxLines)
	require.True(t, strings.HasPrefix(lines[0], "error: many things do not fit"))
	require.True(t, strings.HasSuffix(lines[0], "[usage]"))
	require.Contains(t, got, "more lines")
	require.Equal(t, "            two", lines[len(lines)-1], "the next step stays")
}

// Findings about the whole value are as wide as their word.
func TestFindingsAreAligned(t *testing.T) {
	t.Parallel()
	f := Usage("two arguments do not fit")
	f.Findings = []schema.Finding{{Message: "is required"}, {Pointer: "/a", Message: "must be a string"}}
	require.Contains(t, f.Human(false), "\n  (all)  is required\n  /a     must be a string\n")
}
