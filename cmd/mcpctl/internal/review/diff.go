package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/changes"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/github"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/surface"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// NewDiff returns the command diff.
func NewDiff(x *explain.Explainer) *cobra.Command {
	d := &diffing{x: x}
	cmd := &cobra.Command{
		Use:   "diff SNAPSHOT|SERVER [SNAPSHOT|SERVER]",
		Short: "Show what changed between two servers, and whom it breaks",
		Long: `Show what changed from one server to another, each of them a file of mcpctl
snapshot or a server, and what each change does to callers:

  breaking    a call or a program that worked may fail: a tool, an argument or a
              value of an enumeration is gone, an argument is required or a
              limit tighter now, a result may be something else
  risky       models or hosts may act differently: a description, a default
              or an annotation changed. Such a change can be an attack.
  compatible  nobody has to react: a new tool, a new optional argument

The order of members and items and the form of the text are no change.

Exit code: 1 if there is a change of the level of --fail-on or worse, else 0. By
default every change counts, as in diff. --report github marks the snapshot in
GitHub Actions, and appends a summary to GITHUB_STEP_SUMMARY if that is set.`,
		Example: `  mcpctl diff surface.json -- ./my-server
  mcpctl diff old.json new.json --fail-on breaking
  mcpctl diff surface.json https://api.example.com/mcp -o json`,
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd, args) },
	}
	cmd.Flags().Var(flags.Choice(&d.failOn, "any", "breaking", "risky", "any", "none"), "fail-on", "exit with 1 for changes of this `level` or worse: breaking, risky, any or none")
	flags.Texts(cmd.Flags(), &d.reports, "report", "also write a `report`: github, or json=FILE (repeatable)")
	return cmd
}

// diffing is one run of the command.
type diffing struct {
	x       *explain.Explainer
	failOn  string
	reports []string
	// json is the file of the report in JSON, "" for none; github is set for the other one.
	json   string
	github bool
}

// side is one of the two that are compared.
type side struct {
	*surface.Surface
	// file is that of a snapshot, "" for a server.
	file string
	// shown names it to people.
	shown string
}

func (d *diffing) run(cmd *cobra.Command, args []string) error {
	x := d.x
	for _, report := range d.reports {
		file, isJSON := strings.CutPrefix(report, "json=")
		switch {
		case report == "github":
			d.github = true
		case isJSON && file != "":
			d.json = file
		default:
			return failure.Unsent("--report %s: write github or json=FILE", report)
		}
	}
	l := target.NewLine(cmd, args)
	byEnv, _ := x.Console.Env("MCPCTL_SERVER")
	words := len(l.Operands)
	sides := words
	if l.Dashed || x.Flags.Server != "" || x.Flags.Config != "" || byEnv != "" && words == 1 {
		sides++
	}
	if sides != 2 {
		f := failure.Unsent("diff compares two: name two snapshots or servers, or one and a program after --")
		f.Try = append(f.Try, "mcpctl diff surface.json -- PROGRAM ARG…", "mcpctl diff old.json new.json")
		return f
	}
	var given [2]operandOf
	for i := range given {
		var err error
		if i < words {
			given[i], err = snapshotOrServer(x, cmd, l.Operands[i])
		} else {
			l.Operands = nil
			given[i].target, _, err = x.Server(l)
		}
		if err != nil {
			return err
		}
	}
	was, err := d.read(cmd.Context(), given[0])
	if err != nil {
		return err
	}
	now, err := d.read(cmd.Context(), given[1])
	if err != nil {
		return err
	}
	return d.show(was, now, changes.Between(was.Surface, now.Surface))
}

// operandOf is a snapshot that was read, or a server.
type operandOf struct {
	snapshot *surface.Surface
	file     string
	target   target.Target
}

// snapshotOrServer returns the snapshot of a file, or the server that a word names.
func snapshotOrServer(x *explain.Explainer, cmd *cobra.Command, word string) (operandOf, error) {
	text, err := operand.ReadText(word)
	if err == nil {
		found, err := surface.Parse(text)
		if err == nil {
			return operandOf{snapshot: found, file: word}, nil
		}
		if !errors.Is(err, surface.ErrOther) {
			return operandOf{}, failure.Unsent("%s cannot be used: %v", word, err)
		}
	} else if errors.Is(err, fs.ErrNotExist) && filepath.Ext(word) == ".json" {
		f := failure.Unsent("there is no file %s", word)
		f.Try = append(f.Try, "mcpctl snapshot -O "+word+" SERVER")
		return operandOf{}, f
	}
	// The word wins over the variable of the environment, because it is typed.
	typed := x.Flags.Server
	x.Flags.Server = word
	defer func() { x.Flags.Server = typed }()
	l := target.NewLine(cmd, nil)
	l.Dashed, l.Program = false, nil
	t, _, err := x.Server(l)
	return operandOf{target: t}, err
}

// read reads a side.
func (d *diffing) read(ctx context.Context, of operandOf) (side, error) {
	if of.snapshot != nil {
		return side{of.snapshot, of.file, of.file}, nil
	}
	x := d.x
	var out side
	err := x.With(ctx, of.target, func(ctx context.Context, c *connect.Connection) error {
		found, problems := surface.Of(ctx, x.Dialer, c)
		if len(problems) > 0 {
			return problems[0].Err
		}
		out = side{Surface: found, shown: x.Shown(of.target)}
		return nil
	})
	return out, err
}

// fails reports whether the command ends with 1.
func (d *diffing) fails(all []changes.Change) bool {
	switch worst := changes.Worst(all); d.failOn {
	case "any":
		return worst != ""
	case "risky":
		return worst == changes.Breaking || worst == changes.Risky
	case "breaking":
		return worst == changes.Breaking
	}
	return false
}

// show prints the changes, writes the report, and ends the command.
func (d *diffing) show(was, now side, all []changes.Change) error {
	x := d.x
	var f *failure.Failure
	if d.fails(all) {
		f = failure.New(failure.KindNegative, mcperrors.Answered, "%s differs from %s: %s", now.shown, was.shown, counts(all))
	}
	var err error
	switch x.Console.Format {
	case console.Human:
		err = x.Console.Print(d.human(was, now, all))
		if f != nil {
			f.Silent = true
		}
	case console.NDJSON:
		for _, c := range all {
			if err = x.Console.PrintRaw(console.Encode(c)); err != nil {
				return err
			}
		}
	default:
		err = x.Console.PrintJSON(d.document(was, now, all))
	}
	if d.json != "" && err == nil {
		if wrong := os.WriteFile(d.json, append(console.Indent(d.document(was, now, all)), '\n'), 0o644); wrong != nil { //nolint:gosec // a report, for all to read
			err = failure.New(failure.KindOutput, mcperrors.Answered, "%s was not written: %s", d.json, failure.RootCause(wrong))
		}
	}
	if d.github && err == nil {
		err = d.mark(was, now, all)
	}
	if err != nil || f == nil {
		return err
	}
	return f
}

// counts are the changes in a few words.
func counts(all []changes.Change) string {
	var out []string
	for _, level := range changes.Levels {
		if n := changes.Count(all, level); n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, level))
		}
	}
	if len(out) == 0 {
		return "no changes"
	}
	return strings.Join(out, ", ")
}

func (d *diffing) document(was, now side, all []changes.Change) []byte {
	type end struct {
		Source   string `json:"source"`
		Server   string `json:"server"`
		Revision string `json:"revision"`
	}
	type summary struct {
		Breaking   int    `json:"breaking"`
		Risky      int    `json:"risky"`
		Compatible int    `json:"compatible"`
		FailOn     string `json:"failOn"`
		Exit       int    `json:"exit"`
	}
	exit := failure.KindOK
	if d.fails(all) {
		exit = failure.KindNegative
	}
	of := func(s side) end { return end{s.shown, s.Server(), s.Get("revision").Str()} }
	sum := summary{
		changes.Count(all, changes.Breaking), changes.Count(all, changes.Risky), changes.Count(all, changes.Compatible), d.failOn, exit.ExitCode(),
	}
	return console.Encode(struct {
		Kind    string           `json:"kind"`
		Version int              `json:"version"`
		From    end              `json:"from"`
		To      end              `json:"to"`
		Summary summary          `json:"summary"`
		Changes []changes.Change `json:"changes"`
	}{"mcpctl.diff", 1, of(was), of(now), sum, all})
}

// human is the list of changes for people, one paragraph for each item.
func (d *diffing) human(was, now side, all []changes.Change) string {
	x := d.x
	s, marks, width := x.Console.OutStyle(), x.Console.Marks(), x.Console.TextWidth()
	var b strings.Builder
	last := ""
	for i := range all {
		c := &all[i]
		if head := headOf(c); head != last {
			if last != "" {
				b.WriteByte('\n')
			}
			last = head
			b.WriteString(s.Bold(visible.Line(head)) + "\n")
		}
		mark, level := " ", string(c.Level)
		switch c.Level {
		case changes.Breaking:
			mark, level = marks.Bad, s.Bad(level)
		case changes.Risky:
			mark = marks.Warning
		case changes.Compatible:
			mark = "+"
		}
		const hang = "               " // below the sentence
		lines := console.Wrap(hang+visible.Line(c.What), width, hang)
		b.WriteString("  " + mark + " " + level + strings.Repeat(" ", 11-len(c.Level)) + lines[0][len(hang):] + "\n")
		for _, line := range lines[1:] {
			b.WriteString(line + "\n")
		}
		if text := shortChange(c, marks.Arrow); text != "" {
			b.WriteString(strings.Join(console.Wrap(hang+text, width, hang), "\n") + "\n")
		}
		if c.Level != changes.Compatible {
			for _, line := range console.Wrap(hang+c.Why, width, hang) {
				b.WriteString(s.Dim(line) + "\n")
			}
		}
	}
	if len(all) > 0 {
		b.WriteByte('\n')
	}
	for _, line := range console.Wrap(visible.Line(was.shown+" "+marks.Arrow+" "+now.shown+": "+counts(all)), width, "  ") {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// headOf names the item of a change.
func headOf(c *changes.Change) string {
	if c.List == "" {
		return "server"
	}
	return strings.TrimSuffix(c.List, "s") + " " + c.Item
}

// shortChange is the old and the new value of a text that changed, from the first difference on.
func shortChange(c *changes.Change, arrow string) string {
	was, err := doc.Parse(c.Was)
	if err != nil || was.Kind() != doc.String || !strings.HasSuffix(c.What, " changed") {
		return ""
	}
	now, err := doc.Parse(c.Now)
	if err != nil || now.Kind() != doc.String {
		return ""
	}
	a, b := []rune(was.Str()), []rune(now.Str())
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	from := max(0, same-20)
	part := func(text []rune) string {
		begin := ""
		if from > 0 {
			begin = "…"
		}
		return `"` + begin + visible.Line(visible.Cut(string(text[from:]), 100)) + `"`
	}
	return part(a) + " " + arrow + " " + part(b)
}

// mostAnnotations is how many GitHub shows of a step.
const mostAnnotations = 10

// mark marks the snapshot in GitHub Actions, and appends to the summary of the step.
func (d *diffing) mark(was, now side, all []changes.Change) error {
	x := d.x
	file := was
	if now.file != "" {
		file = now
	}
	var commands bytes.Buffer
	written := 0
	for _, level := range changes.Levels {
		kind := map[changes.Level]string{changes.Breaking: "error", changes.Risky: "warning", changes.Compatible: "notice"}[level]
		for i := range all {
			c := &all[i]
			if c.Level != level {
				continue
			}
			if written++; written == mostAnnotations && len(all) > mostAnnotations {
				fmt.Fprintln(&commands, github.Annotation{Kind: "notice", Title: "MCP surface", Text: fmt.Sprintf("%d more changes are in the summary", len(all)-written+1)})
			}
			if written >= mostAnnotations && len(all) > mostAnnotations {
				continue
			}
			mark := github.Annotation{Kind: kind, Title: "MCP " + string(level) + " change: " + headOf(c), Text: c.What + " (" + c.Why + ")"}
			if file.file != "" && filepath.IsLocal(file.file) {
				mark.File, mark.Line = filepath.ToSlash(file.file), lineOf(file, c)
			}
			fmt.Fprintln(&commands, mark)
		}
	}
	// The runner reads commands from both streams; standard output is that of the changes.
	if _, err := x.Console.Err.Write(commands.Bytes()); err != nil {
		return err
	}
	summary, _ := x.Console.Env(github.Summary)
	if summary == "" {
		return nil
	}
	return github.AppendSummary(summary, d.markdown(was, now, all))
}

func lineOf(s side, c *changes.Change) int {
	for _, l := range listing.Lists {
		if l.Name == c.List {
			return s.Line(l, c.Item)
		}
	}
	return 1
}

// mostSummary bounds the rows of a summary, of which GitHub takes 1 MiB.
const mostSummary = 500

// markdown is the summary of a step.
func (d *diffing) markdown(was, now side, all []changes.Change) string {
	var b strings.Builder
	mark := "✓"
	if d.fails(all) {
		mark = "✗"
	}
	fmt.Fprintf(&b, "### %s MCP surface: %s\n\nFrom %s to %s.\n\n", mark, counts(all), github.Markdown(was.shown), github.Markdown(now.shown))
	if len(all) > 0 {
		b.WriteString("| | where | what changed | why it matters |\n|---|---|---|---|\n")
	}
	rows := 0
	for _, level := range changes.Levels {
		for i := range all {
			c := &all[i]
			if c.Level != level {
				continue
			}
			if rows++; rows > mostSummary {
				continue
			}
			what := visible.Cut(c.What, 300)
			if text := shortChange(c, "→"); text != "" {
				what += ": " + text
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", level, github.Markdown(visible.Cut(headOf(c), 100)), github.Markdown(what), github.Markdown(c.Why))
		}
	}
	if rows > mostSummary {
		fmt.Fprintf(&b, "\n%d more changes are in the log of the step.\n", rows-mostSummary)
	}
	b.WriteByte('\n')
	return b.String()
}
