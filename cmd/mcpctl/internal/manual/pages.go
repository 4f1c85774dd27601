package manual

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// New returns the command that writes the pages.
func New(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the pages for man",
		Long: `Write the pages for man into a folder: mcpctl(1), one for each command, such as
mcpctl-call(1), and one for each topic, such as mcpctl-syntax(7). They are what
this program prints as help. Pages of an earlier version are replaced; other
files are not.`,
		Example: `  mcpctl man ~/.local/share/man
  mcpctl man ./man
  mcpctl man /usr/local/share/man`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return failure.Usage("man takes one folder, such as ~/.local/share/man")
			}
			n, err := write(cmd.Root(), args[0])
			if err != nil {
				return failure.New(failure.KindOutput, mcperrors.NotSent, "the pages could not be written: %v", err)
			}
			if !c.Quiet {
				c.Note("wrote " + console.Count(n, "page", "pages") + "; MANPATH must have this folder")
			}
			return nil
		},
	}
}

// origin is the first line of a page, by which one of an earlier version is known.
const origin = `.\" Written by mcpctl man.` + "\n"

// write writes the pages below a folder, each into that of its section, and returns how many.
func write(root *cobra.Command, folder string) (int, error) {
	n := 0
	for _, cmd := range documented(root) {
		path := filepath.Join(folder, "man"+section(cmd), name(cmd)+"."+section(cmd))
		switch old, err := os.ReadFile(path); {
		case err == nil && !bytes.HasPrefix(old, []byte(origin)):
			return n, errors.New(path + " is no page of mcpctl, and is not overwritten")
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return n, err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // all users read man pages
			return n, err
		}
		if err := os.WriteFile(path, []byte(page(cmd)), 0o644); err != nil { //nolint:gosec // all users read man pages
			return n, err
		}
		n++
	}
	return n, nil
}

// documented returns a command and those below it that have a page.
func documented(cmd *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			out = append(out, documented(c)...)
		}
	}
	return out
}

// section is the one of the manual: commands are in the first, topics in the seventh.
func section(cmd *cobra.Command) string {
	if cmd.IsAdditionalHelpTopicCommand() {
		return "7"
	}
	return "1"
}

func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page is the page of a command or a topic.
func page(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	b.WriteString(origin)
	b.WriteString(`.TH "` + strings.ToUpper(escaped(name(cmd))) + `" "` + section(cmd) + `" "" "mcpctl ` + escaped(client.Version) + `" "mcpctl"` + "\n")
	b.WriteString(".SH NAME\n" + escaped(name(cmd)) + ` \- ` + escaped(cmd.Short) + "\n")
	if section(cmd) == "1" {
		b.WriteString(".SH SYNOPSIS\n.B " + escaped(synopsis(cmd)) + "\n")
	}
	b.WriteString(".SH DESCRIPTION\n")
	if cmd.Long == "" {
		b.WriteString(paragraphs(cmd.Short + "."))
	}
	b.WriteString(paragraphs(cmd.Long))
	for _, g := range groups(cmd) {
		b.WriteString(heading(g.title))
		for _, c := range g.commands {
			b.WriteString(".TP\n.BR " + escaped(name(c)) + " (1)\n" + escaped(c.Short) + "\n")
		}
	}
	if section(cmd) == "1" {
		for _, g := range flagGroups(cmd) {
			b.WriteString(heading(g.title) + options(g.set))
		}
		b.WriteString(".SH EXAMPLES\n" + literal(cmd.Example))
	}
	return b.String() + ".SH SEE ALSO\n" + strings.Join(related(cmd), ",\n") + "\n"
}

// related names the pages above and beside a page.
func related(cmd *cobra.Command) []string {
	var out []string
	for at := cmd.Parent(); at != nil; at = at.Parent() {
		out = append(out, ".BR "+escaped(name(at))+" (1)")
	}
	for _, c := range topics(cmd.Root()) {
		if c != cmd {
			out = append(out, ".BR "+escaped(name(c))+" (7)")
		}
	}
	return out
}

func heading(title string) string { return ".SH " + strings.ToUpper(escaped(title)) + "\n" }

func options(set *pflag.FlagSet) string {
	var b strings.Builder
	set.VisitAll(func(flag *pflag.Flag) {
		value, about := pflag.UnquoteUsage(flag)
		word := "--" + flag.Name
		if flag.Shorthand != "" {
			word = "-" + flag.Shorthand + ", " + word
		}
		b.WriteString(".TP\n\\fB" + escaped(word) + "\\fR")
		if value != "" {
			b.WriteString(" \\fI" + escaped(value) + "\\fR")
		}
		if flag.DefValue != "" && flag.DefValue != "false" && flag.DefValue != "[]" && flag.DefValue != "0" {
			about += " (default " + flag.DefValue + ")"
		}
		b.WriteString("\n" + escaped(about) + "\n")
	})
	return b.String()
}

// paragraphs is text of the help. A part with an indented line keeps its lines.
func paragraphs(text string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		switch {
		case part == "":
		case strings.HasPrefix(part, "  ") || strings.Contains(part, "\n  "):
			b.WriteString(literal(part))
		default:
			b.WriteString(".PP\n" + escaped(part) + "\n")
		}
	}
	return b.String()
}

func literal(text string) string { return ".PP\n.nf\n" + escaped(text) + "\n.fi\n" }

// escaped keeps text from being read as requests, and its dashes as they are typed.
func escaped(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`, "'", `\(aq`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
