package failure

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

func TestHumanFaceIsShort(t *testing.T) {
	t.Parallel()
	f := Usage("%s", "many things do not fit")
	for range 40 {
		f.Findings = append(f.Findings, schema.Finding{Pointer: "/a", Message: "is required"})
	}
	f.Note, f.Try = "nothing was sent", []string{"one", "two"}
	got := f.Human(false, console.Unlimited)
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
	require.Contains(t, f.Human(false, console.Unlimited), "\n  (all)  is required\n  /a     must be a string\n")
}

// Words wrap at the width of the terminal, and the kind is never broken.
func TestHumanFitsTheTerminal(t *testing.T) {
	t.Parallel()
	f := Usage("--start-timeout must be positive, and not a number below zero")
	f.Add("url", "%s", "http://localhost:3000/mcp and more words here")
	f.Note = "nothing was sent; --no-validate sends the arguments unchecked"
	require.Equal(t, `error: --start-timeout must be positive,
  and not a number below zero    [usage]
  url       http://localhost:3000/mcp
            and more words here
  nothing was sent; --no-validate sends
    the arguments unchecked
`, f.Human(false, 40))
	for width := 20; width < 100; width++ {
		require.Equal(t, 1, strings.Count(f.Human(false, width), "[usage]\n"), width)
	}
}
