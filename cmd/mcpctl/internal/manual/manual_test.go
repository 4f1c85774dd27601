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
