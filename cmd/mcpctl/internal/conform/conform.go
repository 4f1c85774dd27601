// Package conform is the command mcpctl conform: runs of the conformance suite
// against servers and clients, the list of its checks, and its reports.
package conform

import (
	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
)

// suite runs the commands: it reaches servers and explains errors like all
// commands do.
type suite struct{ *explain.Explainer }

// New returns the command.
func New(x *explain.Explainer) *cobra.Command {
	s := &suite{x}
	return group("conform", "Test a server or a client against the specification", `  mcpctl conform server -- ./my-server
  mcpctl conform client -- ./my-client --url {url}
  mcpctl conform list tools --level MUST`,
		newConformServerCmd(s), newConformInitCmd(s), newConformClientCmd(s), newConformListCmd(s), newConformExplainCmd(s),
		newConformReportCmd(s), newConformMergeCmd(s), newConformBridgeCmd())
}

// group is a command that only has subcommands: a word it does not know is a
// mistake, and never the name of something to run.
func group(use, short, examples string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: examples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			f := failure.Usage("unknown command %q for %q", args[0], cmd.CommandPath())
			var names, lines []string
			for _, child := range children {
				if !child.Hidden {
					names, lines = append(names, child.Name()), append(lines, child.CommandPath())
				}
			}
			if near := suggest.Nearest(args[0], names); len(near) > 0 {
				f.Message += "; did you mean " + near[0] + "?"
				return f
			}
			f.Try = lines
			return f
		},
	}
	cmd.AddCommand(children...)
	return cmd
}
