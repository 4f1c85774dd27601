// Package manual prints the help of mcpctl, and writes the same as pages for man.
package manual

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
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
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = reflow(cmp.Or(cmd.Long, cmd.Short), width)
		help(cmd, args)
	})
}

// leastColumn is the least width of a second column beside the first one.
const leastColumn = 24

// reflow wraps a text that is wider than the terminal; a width of 0 is none. The lines of a paragraph,
// or of a second column, are one text: the source breaks them at 80 columns.
func reflow(text string, width int) string {
	lines := strings.Split(text, "\n")
	if width == 0 || !slices.ContainsFunc(lines, func(line string) bool { return visible.Width(line) > width }) {
		return text
	}
	const filled = 60 // a shorter line ends where its text does
	var out []string
	for i := 0; i < len(lines); {
		line := lines[i]
		indent, second := indentOf(line), secondColumn(line)
		hang := visible.Width(line[:second])
		for i++; i < len(lines) && len(lines[i-1]) > filled && lines[i] != "" && indentOf(lines[i]) == hang && (hang > indent || hang == 0); i++ {
			line += " " + lines[i][hang:]
		}
		if width-hang < leastColumn && second > indent && visible.Width(line) > width {
			hang = indent + 4
			out = append(out, console.Wrap(strings.TrimRight(line[:second], " "), width, strings.Repeat(" ", hang))...)
			line = strings.Repeat(" ", hang) + line[second:]
		}
		out = append(out, console.Wrap(line, width, strings.Repeat(" ", hang))...)
	}
	return strings.Join(out, "\n")
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// secondColumn returns where the last column of an indented line begins, or else its text.
func secondColumn(line string) int {
	indent := indentOf(line)
	if at := strings.LastIndex(line, "  ") + 2; indent > 0 && at > indent {
		return at
	}
	return indent
}

// usage is the help of a command below its description.
func usage(cmd *cobra.Command, width int) string {
	var b strings.Builder
	write := func(text string) { b.WriteString(reflow(text, width)) }
	write("Usage:\n  " + synopsis(cmd) + "\n")
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n") // to be copied, so it does not wrap
	}
	for _, g := range groups(cmd) {
		write("\n" + g.title + ":\n" + listed(g.commands))
	}
	for _, g := range flagGroups(cmd) {
		write("\n" + g.title + ":\n" + g.set.FlagUsages())
	}
	if topics := topics(cmd); len(topics) > 0 {
		write("\nHelp topics:\n" + listed(topics))
	}
	if cmd.HasAvailableSubCommands() {
		write("\n" + cmd.Root().Name() + " help" + strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()) + " COMMAND explains a command.\n")
	}
	if cmd.HasParent() {
		write("\nThe flags of all commands are in " + cmd.Root().Name() + " help.\n")
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
