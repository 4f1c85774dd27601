package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/completion"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
)

// tree returns the application with its commands, and each command that people see.
func tree() (*app, *cobra.Command, []*cobra.Command) {
	a, root := newApp(console.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Env: os.LookupEnv}, nil)
	var all []*cobra.Command
	var add func(*cobra.Command)
	add = func(cmd *cobra.Command) {
		if cmd.Name() == "help" || cmd.IsAvailableCommand() {
			all = append(all, cmd)
		}
		for _, child := range cmd.Commands() {
			add(child)
		}
	}
	add(root)
	return a, root, all
}

// TestOnly: the command that a line is for is the same as among all others.
func TestOnly(t *testing.T) {
	t.Parallel()
	_, all, _ := tree()
	lone := 0
	for _, cmd := range all.Commands() {
		_, root := newApp(console.Streams{Env: os.LookupEnv}, []string{cmd.Name()})
		built, _, err := root.Find([]string{cmd.Name()})
		require.NoError(t, err)
		require.Equal(t, cmd.UsageString(), built.UsageString())
		if len(root.Commands()) == 1 {
			lone++
		}
	}
	require.Greater(t, lone, 15)
	for _, args := range [][]string{nil, {"help"}, {"help", "call"}, {"man"}, {"completion", "bash"}, {"__complete", "ca"}, {"-o", "json", "ls"}, {"cal"}} {
		_, root := newApp(console.Streams{Env: os.LookupEnv}, args)
		require.Len(t, root.Commands(), len(all.Commands()), args)
	}
}

// TestExamples: each command has three examples or more, and their flags and operands are accepted.
func TestExamples(t *testing.T) {
	t.Parallel()
	_, _, all := tree()
	require.Greater(t, len(all), 40)
	for _, cmd := range all {
		lines := strings.Split(cmd.Example, "\n")
		require.GreaterOrEqual(t, len(lines), 3, cmd.CommandPath())
		own := 0
		for _, line := range lines {
			require.Regexp(t, `^  (mcpctl |curl .*\$\(mcpctl )`, line, cmd.CommandPath())
			if !strings.HasPrefix(line, "  mcpctl ") {
				continue // another program
			}
			if strings.HasPrefix(line, "  "+cmd.CommandPath()) {
				own++
			}
			require.NoError(t, accepted(shellWords(line)[1:]), line)
		}
		require.Positive(t, own, cmd.CommandPath())
	}
	require.Error(t, accepted([]string{"ls", "--no-such-flag"}))
	require.Error(t, accepted([]string{"lss"}))
	require.Error(t, accepted([]string{"version", "operand"}))
	require.Error(t, accepted([]string{"call", ":3000/mcp", "echo", "message"}))
	require.Error(t, accepted([]string{"ls", "-o", "xml"}))
}

// accepted parses a command line as a run does, up to what a file or a server decides.
func accepted(args []string) error {
	a, root, _ := tree()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	operands := cmd.Flags().Args()
	if err := cmd.ValidateArgs(operands); err != nil {
		return err
	}
	if err := a.flags.Check(); err != nil {
		return err
	}
	if name := cmd.Name(); name != "call" && name != "prompt" && name != "read" {
		return nil
	}
	words := target.NewLine(cmd, operands).Operands
	if !target.NewLine(cmd, operands).Dashed {
		words = words[1:]
	}
	for _, word := range words[1:] {
		if strings.Contains(word, "=@") {
			continue // a file that is not here
		}
		if _, err := operand.Parse(word, nil); err != nil {
			return err
		}
	}
	return nil
}

// shellWords splits a line as a shell does, up to a pipe or a redirection.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	quote, begun := rune(0), false
	for _, c := range line + " " {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote == 0 && (c == '|' || c == '<' || c == '>'):
			return words
		case quote == 0 && c == ' ':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	return words
}

// TestHelpIsNarrow: help fits a terminal of 80 columns as it is written, because lines do not wrap in
// a pipe.
func TestHelpIsNarrow(t *testing.T) {
	t.Parallel()
	_, root, all := tree()
	for _, cmd := range append(all, root.Commands()...) {
		if cmd.Name() == "doctor" {
			continue // its table is wider by two columns
		}
		for line := range strings.Lines(cmd.Long) {
			assert.LessOrEqual(t, visible.Width(strings.TrimRight(line, "\n")), 80, "%s: %s", cmd.CommandPath(), line)
		}
		assert.LessOrEqual(t, len("  completion  "+cmd.Short), 80, cmd.CommandPath())
	}
}

// TestHelpWraps: on a narrow terminal all of the help wraps but command lines, which are to be copied,
// and words that are wider.
func TestHelpWraps(t *testing.T) {
	t.Parallel()
	_, root, all := tree()
	for _, width := range []int{80, 40} {
		for _, cmd := range append(all, root.Commands()...) {
			var out strings.Builder
			_, other := newApp(console.Streams{Out: &out, OutTerminal: true, Width: width, Env: os.LookupEnv}, nil)
			other.SetOut(&out)
			other.SetArgs(append([]string{"help"}, strings.Fields(cmd.CommandPath())[1:]...))
			require.NoError(t, other.Execute())
			for line := range strings.Lines(out.String()) {
				words := strings.Fields(line)
				if len(words) < 2 || strings.HasPrefix(line, "  mcpctl ") || strings.HasPrefix(line, "  curl ") {
					continue
				}
				assert.LessOrEqual(t, visible.Width(strings.TrimRight(line, "\n")), width, "%s: %s", cmd.CommandPath(), line)
			}
		}
	}
}

// TestGlobalFlagsOnce: the help of a command has its own flags, and the root has the global ones.
func TestGlobalFlagsOnce(t *testing.T) {
	t.Parallel()
	_, root, all := tree()
	require.Contains(t, root.UsageString(), "--server-stderr")
	for _, cmd := range all[1:] {
		text := cmd.UsageString()
		require.NotContains(t, text, "--server-stderr", cmd.CommandPath())
		require.Contains(t, text, "mcpctl help", cmd.CommandPath())
		if cmd.Parent() == root && cmd.Name() != "help" {
			require.NotEmpty(t, cmd.GroupID, cmd.CommandPath())
		}
	}
}

// TestServersAreCompleted: each command that takes a server completes it.
func TestServersAreCompleted(t *testing.T) {
	t.Parallel()
	a, root, all := tree()
	completion.Attach(root, a.dial, []string{cobra.ShellCompRequestCmd, ""})
	for _, cmd := range all {
		if strings.Contains(cmd.Use, "SERVER") {
			require.NotNil(t, cmd.ValidArgsFunction, cmd.CommandPath())
		}
	}
}
