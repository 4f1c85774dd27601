package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/conformance"
	rendered "github.com/mainstay-mcp/mainstay/conformance/report"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

type conformOptions struct {
	spec        string
	only, skip  []string
	sideEffects string
	allowTools  []string
	reports     []string
}

func newConformCmd(a *app) *cobra.Command {
	return group("conform", "Test a server or a client against the specification", newConformServerCmd(a), newConformClientCmd(a), newConformBridgeCmd())
}

func newConformServerCmd(a *app) *cobra.Command {
	var o conformOptions
	cmd := &cobra.Command{
		Use:   "server [SERVER]",
		Short: "Run the conformance suite against a server",
		Long: `Run the conformance suite against a server: what applies to it is decided by the
capabilities it declares. Tools are called only with leave: --side-effects, the
server's own grant, or --allow-tool.

Exit code 0 passed, 1 failed, 10 something required could not be established.`,
		Example: `  mcpctl conform server -- ./my-server
  mcpctl conform server :3000/mcp --only 'lifecycle.*' -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := a.server(newLine(cmd, args))
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return usage("conform server takes no operand after the server, got %s", rest[0])
			}
			return a.conform(cmd, t, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.spec, "spec", "", "`revision` to test against; the newest of each era the server speaks")
	f.StringArrayVar(&o.only, "only", nil, "only checks whose id, scenario or area matches this `pattern`")
	f.StringArrayVar(&o.skip, "skip", nil, "leave out what matches this `pattern`")
	f.Var(choice(&o.sideEffects, "", "none", "read-only", "all"), "side-effects", "which tools may be called: none, read-only or all")
	f.StringArrayVar(&o.allowTools, "allow-tool", nil, "this `tool` may be called whatever --side-effects says")
	f.StringArrayVar(&o.reports, "report", nil, "write a report too: json=`FILE`")
	return cmd
}

func (a *app) conform(cmd *cobra.Command, t target, o conformOptions) error {
	reports, err := reportFiles(o.reports)
	if err != nil {
		return err
	}
	subject, done, err := a.subject(t)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := cmd.Context(), func() {}
	if cmd.Flags().Changed("max-time") {
		ctx, cancel = context.WithTimeout(ctx, a.flags.maxTime)
	}
	defer cancel()
	opts := conformance.Options{
		Only: o.only, Skip: o.skip,
		SideEffects: conformance.SideEffects(o.sideEffects), AllowTools: o.allowTools, StartTimeout: defaultConformStart,
	}
	if o.spec = cmp.Or(o.spec, a.pinned()); o.spec != "" {
		opts.Revisions = []mcp.Version{mcp.Version(o.spec)}
	}
	if cmd.Flags().Changed("start-timeout") {
		opts.StartTimeout = a.flags.startTimeout
	}
	if cmd.Flags().Changed("timeout") {
		opts.Answer = a.flags.idle
	}
	report, err := conformance.Run(ctx, subject, opts)
	if err != nil {
		return a.conformFailure(ctx, t, err)
	}
	for _, name := range reports {
		if err := writeReport(name, report); err != nil {
			return err
		}
	}
	if err := a.showReport(cmd, t, report); err != nil {
		return err
	}
	if code := report.ExitCode(); code != 0 {
		f := &failure{kind: kindIncomplete, silent: true}
		if code == exitCodes[kindNegative] {
			f.kind = kindNegative
		}
		return f
	}
	return nil
}

// subject is the server as the suite reaches it: with a wire of its own, not
// with the client.
func (a *app) subject(t target) (conformance.Subject, func(), error) {
	stderr, done, err := a.serverStderr()
	if err != nil {
		return nil, nil, err
	}
	if t.argv == nil {
		header, err := a.header()
		s := conformance.URL(t.url, header)
		s.RoundTripper = a.roundTripper()
		return s, done, err
	}
	command, err := a.command()
	if err != nil {
		return nil, nil, err
	}
	env := command.Env
	switch command.Inherit {
	case transport.EnvAll:
		env = append(os.Environ(), env...)
	case transport.EnvSafe:
		return nil, nil, usage("conform gives the program all of our environment or none: --inherit-env all or none")
	case transport.EnvNone:
		env = append([]string{}, env...) // not nil, which would mean everything
	}
	s := conformance.Command(t.argv, env)
	s.Dir, s.Stderr = a.flags.dir, stderr
	return s, done, nil
}

func (a *app) conformFailure(ctx context.Context, t target, err error) error {
	var unreachable *conformance.UnreachableError
	if !errors.As(err, &unreachable) {
		if ctx.Err() != nil {
			return &failure{kind: kindIncomplete, message: "the run was not finished: " + a.safe(err.Error())}
		}
		return usage("%v", err)
	}
	f := &failure{kind: kindUnreachable, message: a.safe(unreachable.Error())}
	if a.explainCommon(f, t, err) {
		return f
	}
	if t.argv != nil {
		f.add("program", "%s", short(strings.Join(mcperrors.RedactCommand(t.argv, a.secrets...), " "), 100))
	} else {
		f.add("url", "%s", withoutSecrets(t.url))
	}
	lines := strings.Split(strings.TrimSpace(unreachable.Stderr), "\n")
	for _, line := range lines[max(0, len(lines)-shownStderr):] {
		if line != "" && a.flags.serverStderr != "hide" {
			f.add("stderr", "%s", short(a.safe(line), 200))
		}
	}
	return f
}

func (a *app) showReport(cmd *cobra.Command, t target, report *conformance.Report) error {
	return a.data(func(w io.Writer) error {
		switch a.flags.output {
		case formatJSON:
			return rendered.JSON(w, report)
		case formatNDJSON, formatRaw:
			var b strings.Builder
			if err := rendered.JSON(&b, report); err != nil {
				return err
			}
			_, err := w.Write(append(compact([]byte(b.String())), '\n'))
			return err
		}
		return rendered.Text(a.stdout, report, rendered.TextOptions{
			Summary: a.outTerminal, Verbose: a.flags.verbose > 0, Quiet: a.flags.quiet, Color: bool(a.style(a.outTerminal)),
			Again: againLine(cmd, t),
		})
	})
}

// againLine is the start of the line that repeats one check. The report adds
// to its end, where a program's own arguments stand, so programs are left to it.
func againLine(cmd *cobra.Command, t target) string {
	if t.argv != nil {
		return ""
	}
	words := append([]string{"mcpctl", "conform", "server"}, typedFlags(cmd)...)
	return example.Quote(append(words, t.words()...))
}

// reportFiles reads json=FILE.
func reportFiles(given []string) ([]string, error) {
	var out []string
	for _, r := range given {
		format, name, found := strings.Cut(r, "=")
		if !found || format != "json" || name == "" {
			return nil, usage("--report %s: write json=FILE", r)
		}
		out = append(out, name)
	}
	return out, nil
}

func writeReport(name string, report *conformance.Report) error {
	f, err := os.Create(name)
	if err != nil {
		return usage("--report: %v", err)
	}
	if err := rendered.JSON(f, report); err != nil {
		_ = f.Close() // the first error is the one to tell
		return fmt.Errorf("--report %s: %w", name, err)
	}
	return f.Close()
}
