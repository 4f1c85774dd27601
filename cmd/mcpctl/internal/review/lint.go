package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/lint"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/surface"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// NewLint returns the command lint.
func NewLint(x *explain.Explainer) *cobra.Command {
	l := &linting{x: x}
	cmd := &cobra.Command{
		Use:   "lint SNAPSHOT|SERVER",
		Short: "Find what models, APIs and hosts cannot use in a server's tools",
		Long: `Find what models, their APIs and hosts cannot use in what a server offers, and
what may mislead them. The server is asked for its lists only, or not at all: a
file of mcpctl snapshot can be checked, too. All rules are local, and nothing is
sent to anybody else.

  error    an API of a model, a host or a client refuses it: names, schemas
           whose root is not an object or has oneOf, anyOf or allOf, references
           to elsewhere, arrays without items, hidden characters, pages that
           never end
  warning  models choose or fill in a tool badly, or are misled: missing or
           one-word descriptions, missing annotations, names that are nearly the
           same, defaults that do not fit, texts that try to steer models
  note     good to know: how many tokens the tools take

Exit code: 0 no errors, 1 errors. --fail-on warning makes warnings count, too.`,
		Example: `  mcpctl lint -- ./my-server
  mcpctl lint https://api.example.com/mcp --fail-on warning
  mcpctl lint surface.json -o json`,
		RunE: func(cmd *cobra.Command, args []string) error { return l.run(cmd, args) },
	}
	cmd.Flags().Var(flags.Choice(&l.failOn, "error", "error", "warning", "note", "none"), "fail-on", "exit with 1 for findings of this `level` or worse: error, warning, note or none")
	return cmd
}

// linting is one run of the command.
type linting struct {
	x      *explain.Explainer
	failOn string
}

func (l *linting) run(cmd *cobra.Command, args []string) error {
	x := l.x
	line := target.NewLine(cmd, args)
	var of operandOf
	var err error
	if len(line.Operands) == 1 && !line.Dashed && x.Flags.Server == "" && x.Flags.Config == "" {
		of, err = snapshotOrServer(x, cmd, line.Operands[0])
	} else {
		var rest []string
		if of.target, rest, err = x.Server(line); err == nil && len(rest) > 0 {
			err = failure.Unsent("lint takes one snapshot or server: unexpected operand %s", rest[0])
		}
	}
	if err != nil {
		return err
	}
	if of.snapshot != nil {
		return l.show(of.file, of.snapshot, lint.Check(of.snapshot))
	}
	return x.With(cmd.Context(), of.target, func(ctx context.Context, c *connect.Connection) error {
		found, problems := surface.Of(ctx, x.Dialer, c)
		var broken []lint.Finding
		for _, p := range problems {
			if !ofServer(p.Err) {
				return p.Err
			}
			broken = append(broken, lint.Finding{
				Level: lint.Error, Rule: "list-broken", List: p.List.Name, Pointer: "",
				What: "the list cannot be read whole: " + x.Failure(ctx, p.Err).Message, Why: "clients get no list, or wait for its end", Do: "correct the answer to " + p.List.Method,
			})
		}
		return l.show(x.Shown(of.target), found, append(broken, lint.Check(found)...))
	})
}

// ofServer reports whether an error is one of the server itself: it answered, and wrongly.
func ofServer(err error) bool {
	var own *failure.Failure
	if errors.As(err, &own) {
		return own.Kind == failure.KindProtocol
	}
	var e *mcperrors.Error
	return errors.As(err, &e) && (e.RPC != nil || e.Kind == mcperrors.KindProtocol || e.Kind == mcperrors.KindTooLarge)
}

// fails reports whether the command ends with 1.
func (l *linting) fails(all []lint.Finding) bool {
	limit := slices.Index(lint.Levels, lint.Level(l.failOn))
	for _, level := range lint.Levels[:limit+1] {
		if lint.Count(all, level) > 0 {
			return true
		}
	}
	return false
}

func (l *linting) show(shown string, s *surface.Surface, all []lint.Finding) error {
	x := l.x
	var f *failure.Failure
	exit := failure.KindOK
	if l.fails(all) {
		exit = failure.KindNegative
		f = failure.New(exit, mcperrors.Answered, "%s: %s", shown, lintCounts(all))
	}
	var err error
	switch x.Console.Format {
	case console.Human:
		err = x.Console.Print(l.human(shown, all))
		if f != nil {
			f.Silent = true
		}
	case console.NDJSON:
		for _, one := range all {
			if err = x.Console.PrintRaw(console.Encode(one)); err != nil {
				return err
			}
		}
	default:
		type summary struct {
			Errors   int    `json:"errors"`
			Warnings int    `json:"warnings"`
			Notes    int    `json:"notes"`
			Tokens   int    `json:"tokens"`
			FailOn   string `json:"failOn"`
			Exit     int    `json:"exit"`
		}
		err = x.Console.PrintJSON(console.Encode(struct {
			Kind     string         `json:"kind"`
			Version  int            `json:"version"`
			Source   string         `json:"source"`
			Server   string         `json:"server"`
			Revision string         `json:"revision"`
			Summary  summary        `json:"summary"`
			Findings []lint.Finding `json:"findings"`
		}{"mcpctl.lint", 1, shown, s.Server(), s.Get("revision").Str(), summary{
			lint.Count(all, lint.Error), lint.Count(all, lint.Warning), lint.Count(all, lint.Note), lint.Tokens(s), l.failOn, exit.ExitCode(),
		}, all}))
	}
	if err != nil || f == nil {
		return err
	}
	return f
}

// lintCounts are the findings in a few words.
func lintCounts(all []lint.Finding) string {
	var out []string
	for _, level := range lint.Levels {
		if n := lint.Count(all, level); n > 0 {
			out = append(out, console.Count(n, string(level), string(level)+"s"))
		}
	}
	if len(out) == 0 {
		return "no findings"
	}
	return strings.Join(out, ", ")
}

// human is the list of findings for people, one paragraph for each item. The first finding of a
// rule has its reason and what to do; the others are short.
func (l *linting) human(shown string, all []lint.Finding) string {
	x := l.x
	s, marks, width := x.Console.OutStyle(), x.Console.Marks(), x.Console.TextWidth()
	const hang = "            " // below the sentence
	var b strings.Builder
	wrapped := func(text string, dim bool) {
		for _, line := range console.Wrap(hang+visible.Line(text), width, hang) {
			if dim {
				line = s.Dim(line)
			}
			b.WriteString(line + "\n")
		}
	}
	last, told := "", map[string]bool{}
	for i := range all {
		f := &all[i]
		head := "server"
		if f.Item != "" {
			head = strings.TrimSuffix(f.List, "s") + " " + f.Item
		} else if f.List != "" {
			head = f.List
		}
		if head != last {
			if last != "" {
				b.WriteByte('\n')
			}
			last = head
			b.WriteString(s.Bold(visible.Line(head)) + "\n")
		}
		mark, level := map[lint.Level]string{lint.Error: marks.Bad, lint.Warning: marks.Warning, lint.Note: "-"}[f.Level], string(f.Level)
		if f.Level == lint.Error {
			level = s.Bad(level)
		}
		what := f.What
		if strings.Count(f.Pointer, "/") > 1 {
			what += " (" + f.Pointer + ")"
		}
		lines := console.Wrap(hang+visible.Line(what), width, hang)
		fmt.Fprintf(&b, "  %s %s%s%s\n", mark, level, strings.Repeat(" ", 8-len(f.Level)), lines[0][len(hang):])
		for _, line := range lines[1:] {
			b.WriteString(line + "\n")
		}
		if !told[f.Rule] {
			told[f.Rule] = true
			wrapped(f.Why, true)
			wrapped(marks.Arrow+" "+f.Do, false)
		}
	}
	if len(all) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(strings.Join(console.Wrap(visible.Line(shown+": "+lintCounts(all)), width, "  "), "\n") + "\n")
	return b.String()
}
