// Package manual prints the help of mcpctl, and writes the same as pages for man.
package manual

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
)

// Group adds commands under a heading of the help.
func Group(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// Help makes the root print the help of all commands. The global flags are in that of the root only.
func Help(root *cobra.Command, c *console.Console) {
	width := 0 // lines wrap on a terminal, never in a pipe
	if c.OutTerminal {
		width = c.Width
	}
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usage(cmd, width))
		return err
	})
}

// usage is the help of a command below its description.
func usage(cmd *cobra.Command, width int) string {
	var b strings.Builder
	b.WriteString("Usage:\n  " + synopsis(cmd) + "\n")
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	for _, g := range groups(cmd) {
		b.WriteString("\n" + g.title + ":\n" + listed(g.commands))
	}
	for _, g := range flagGroups(cmd) {
		b.WriteString("\n" + g.title + ":\n" + g.set.FlagUsagesWrapped(width))
	}
	if topics := topics(cmd); len(topics) > 0 {
		b.WriteString("\nHelp topics:\n" + listed(topics))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n" + cmd.Root().Name() + " help" + strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()) + " COMMAND explains a command.\n")
	}
	if cmd.HasParent() {
		b.WriteString("\nThe flags of all commands are in " + cmd.Root().Name() + " help.\n")
	}
	return b.String()
}

// synopsis is how a command is written.
func synopsis(cmd *cobra.Command) string {
	if !cmd.HasAvailableSubCommands() {
		return cmd.UseLine()
	}
	return cmd.CommandPath() + " COMMAND [flags]"
}

func listed(commands []*cobra.Command) string {
	var b strings.Builder
	for _, c := range commands {
		b.WriteString("  " + c.Name() + strings.Repeat(" ", max(1, 12-len(c.Name()))) + c.Short + "\n")
	}
	return b.String()
}

// group is a part of the commands below a command.
type group struct {
	title    string
	commands []*cobra.Command
}

// groups returns the commands below a command, each once.
func groups(cmd *cobra.Command) []group {
	var out []group
	for _, g := range append(cmd.Groups(), &cobra.Group{Title: "Commands"}) {
		var commands []*cobra.Command
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && c.IsAvailableCommand() {
				commands = append(commands, c)
			}
		}
		if len(commands) > 0 {
			out = append(out, group{g.Title, commands})
		}
	}
	return out
}

// topics returns the help pages that are no commands.
func topics(cmd *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.IsAdditionalHelpTopicCommand() {
			out = append(out, c)
		}
	}
	return out
}

// flagGroup is a part of the flags of a command.
type flagGroup struct {
	title string
	set   *pflag.FlagSet
}

// flagGroups returns the flags of a command: its own, or the global ones by their subjects.
func flagGroups(cmd *cobra.Command) []flagGroup {
	out := []flagGroup{{title: "Flags"}}
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if title := flags.Heading(flag.Name); title != "" && !cmd.HasParent() {
			out = append(out, flagGroup{title: title})
		}
		last := &out[len(out)-1]
		if last.set == nil {
			last.set = pflag.NewFlagSet("", pflag.ContinueOnError)
			last.set.SortFlags = false
		}
		last.set.AddFlag(flag)
	})
	if out[0].set == nil {
		return out[1:]
	}
	return out
}
