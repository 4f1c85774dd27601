package manual

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
)

// TestPage: text of the help is text of the page, whatever roff would make of it.
func TestPage(t *testing.T) {
	t.Parallel()
	cmd := &cobra.Command{
		Use: "tool FILE", Short: "Do 'it'", Run: func(*cobra.Command, []string) {},
		Long: ".SH begins no section,\n'nor does this\n\n  back\\slash ~ ^ `x`\n",
	}
	cmd.Flags().StringP("out", "O", "x", "the `file`; .\nnext")
	require.Equal(t, origin+strings.Join([]string{
		`.TH "TOOL" "1" "" "mcpctl ` + escaped(client.Version) + `" "mcpctl"`,
		`.SH NAME`, `tool \- Do \(aqit\(aq`,
		`.SH SYNOPSIS`, `.B tool FILE [flags]`,
		`.SH DESCRIPTION`, `.PP`, `\&.SH begins no section,`, `\(aqnor does this`,
		`.PP`, `.nf`, `  back\eslash \(ti \(ha \(gax\(ga`, `.fi`,
		`.SH FLAGS`, `.TP`, `\fB\-h, \-\-help\fR`, `help for tool`,
		`.TP`, `\fB\-O, \-\-out\fR \fIfile\fR`, `the file; .`, `next (default x)`,
		`.SH EXAMPLES`, `.PP`, `.nf`, ``, `.fi`, `.SH SEE ALSO`, ``, ``,
	}, "\n"), page(cmd))
}

// TestReflow: paragraphs and second columns are joined and wrapped; what ends early, and what fits,
// keeps its lines.
func TestReflow(t *testing.T) {
	t.Parallel()
	text := strings.Join([]string{
		"Heading",
		"A paragraph of two lines, the first of which is as long as lines are in",
		"the source.",
		"",
		"  a      one",
		"  bc     the second column begins here, and it also has a line that is full",
		"         and another",
		"  command with no second column, and it is as long as the lines of the source",
		"  the next command",
	}, "\n")
	require.Equal(t, text, reflow(text, 0))
	require.Equal(t, text, reflow(text, 80))
	require.Equal(t, strings.Join([]string{
		"Heading",
		"A paragraph of two lines, the first of",
		"which is as long as lines are in the",
		"source.",
		"",
		"  a      one",
		"  bc     the second column begins here,",
		"         and it also has a line that is",
		"         full and another",
		"  command with no second column, and it",
		"  is as long as the lines of the source",
		"  the next command",
	}, "\n"), reflow(text, 40))
	require.Equal(t, "  first\n      the second column\n      wraps", reflow("  first   the second column wraps", 25))
}
