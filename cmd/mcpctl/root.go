package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/internal/suggest"
)

// newRoot builds the command tree.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpctl",
		Short: "Talk to MCP servers from the command line",
		Long: `Mcpctl talks to MCP servers: it lists and describes what they offer, calls
their tools, and tells exactly what went wrong when something did.

  mcpctl [flags] COMMAND [SERVER] [operand…] [-- PROGRAM ARG…]

SERVER is a URL (https://host/mcp, :3000/mcp, localhost:3000/mcp), given as the
first operand, with -s, or in MCPCTL_SERVER. A program after -- takes its place.`,
		Example: `  mcpctl ls -- npx -y @modelcontextprotocol/server-everything stdio
  mcpctl describe :3000/mcp echo
  mcpctl call :3000/mcp echo message=hi
  mcpctl conform server -- ./my-server`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.flags.check() },
	}
	a.flags.register(root.PersistentFlags())
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newInfoCmd(a), newLsCmd(a), newDescribeCmd(a),
		newCallCmd(a), newPingCmd(a), newRPCCmd(a),
		newConformCmd(a), newVersionCmd(a),
	)
	root.AddCommand(topics()...)
	inGroups(root)
	return root
}

// inGroups keeps flags in the order they are registered in, which is by what
// they are about.
func inGroups(cmd *cobra.Command) {
	for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags(), cmd.LocalFlags(), cmd.InheritedFlags()} {
		set.SortFlags = false
	}
	for _, child := range cmd.Commands() {
		inGroups(child)
	}
}

// flagError adds the flag that may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	f := usage("%s", err)
	f.note = "nothing was sent"
	name, found := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !found {
		return f
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	cmd.InheritedFlags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	if near := suggest.Nearest(name, names); len(near) > 0 {
		f.message += ", did you mean --" + near[0] + "?"
	}
	return f
}

// group is a command that only has subcommands: a word it does not know is a
// mistake, and never the name of something to run.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			f := usage("unknown command %q for %q", args[0], cmd.CommandPath())
			for _, child := range children {
				if !child.Hidden {
					f.try = append(f.try, child.CommandPath())
				}
			}
			return f
		},
	}
	cmd.AddCommand(children...)
	return cmd
}
