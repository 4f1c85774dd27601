package conform

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/clientsuite"
	"github.com/mainstay-mcp/mainstay/mcp"
)

type conformClientOptions struct {
	outcomeOptions
	spec, transport string
	parallel        int
	limit           time.Duration
	login           bool
}

func newConformClientCmd(s *suite) *cobra.Command {
	var o conformClientOptions
	cmd := &cobra.Command{
		Use:   "client -- PROGRAM ARG…",
		Short: "Run the conformance suite against a client",
		Long: `Run the conformance suite against a client. The program is started once for each
scenario, with a test server that follows a script or misbehaves, and its
messages are checked. In the arguments, {url} is replaced by the server's URL,
and {command} by the command line of a stdio server. Without either, the URL is
the last argument.

The environment variable MAINSTAY_CONFORM_TASK names what the client should do
in a scenario. A client that reads it, and prints a line for each step, is also
judged by its conclusions. docs/conformance-clients.md describes this, with a
client of 60 lines in Go.

Exit code: 0 passed, 1 failed, 10 a requirement is inconclusive.`,
		Example: `  mcpctl conform client -- ./my-client --url {url}
  mcpctl conform client --transport stdio -- ./my-client {command}
  mcpctl conform client --known-failing known.txt --report html=conform.html -- ./my-client {url}`,
		RunE: func(cmd *cobra.Command, args []string) error {
			l := target.NewLine(cmd, args)
			switch {
			case len(l.Operands) > 0:
				return failure.Usage("conform client takes only a program after --: unexpected operand %s", l.Operands[0])
			case len(l.Program) == 0:
				return failure.Usage("no program given: name the client after --")
			}
			return s.conformClient(cmd, l.Program, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.spec, "spec", "", "`revision` to test, which the client must offer; default: the newest of each era that it supports")
	f.Var(flags.Choice(&o.transport, "", string(conformance.TransportHTTP), string(conformance.TransportStdio)), "transport", "transport to the client: http or stdio; default: from the arguments")
	o.outcomeOptions.add(f)
	f.IntVar(&o.parallel, "parallel", 4, "number of scenarios at a time")
	f.BoolVar(&o.login, "login", false, "judge logins of a client that prints no lines: it opens login pages itself")
	f.DurationVar(&o.limit, "limit", 40*time.Second, "time limit for one run of the client")
	return cmd
}

func (s *suite) conformClient(cmd *cobra.Command, argv []string, o conformClientOptions) error {
	files, err := s.reportFiles(o.reports)
	if err != nil {
		return err
	}
	expected, err := o.expected()
	if err != nil {
		return err
	}
	env, err := s.conformEnv()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := cmd.Context(), func() {}
	if cmd.Flags().Changed("max-time") {
		ctx, cancel = context.WithTimeout(ctx, s.Flags.MaxTime)
	}
	defer cancel()
	opts := clientsuite.Options{
		Transport: conformance.TransportKind(cmp.Or(o.transport, reachedBy(argv))), Only: o.only, Skip: o.skip,
		Timeout: o.limit, Parallel: o.parallel, Expected: expected, Repeat: o.repeat, Strict: o.strict, Login: o.login, Bridge: []string{self, "conform", "bridge"},
	}
	if o.spec = cmp.Or(o.spec, s.Flags.Pinned()); o.spec != "" {
		opts.Revisions = []mcp.Version{mcp.Version(o.spec)}
	}
	live := s.newLive("starting the client")
	opts.OnResult = live.result
	report, err := clientsuite.Run(ctx, clientsuite.Command(argv, env), opts)
	live.End()
	return s.conformed(ctx, cmd, target.Target{Argv: argv}, report, files, err)
}

// reachedBy returns the transport that the arguments of a client ask for.
func reachedBy(argv []string) string {
	has := func(mark string) bool {
		return slices.ContainsFunc(argv[1:], func(arg string) bool { return strings.Contains(arg, mark) })
	}
	if has("{command}") && !has("{url}") {
		return string(conformance.TransportStdio)
	}
	return string(conformance.TransportHTTP)
}

// conformEnv is the environment of a program that is judged.
func (s *suite) conformEnv() ([]string, error) {
	command, err := s.Command(target.Target{})
	if err != nil {
		return nil, err
	}
	switch command.Inherit {
	case transport.EnvAll:
		return append(os.Environ(), command.Env...), nil
	case transport.EnvNone:
		return append([]string{}, command.Env...), nil // not nil, which would mean everything
	default:
		return nil, failure.Usage("conform supports only --inherit-env all or none")
	}
}

// verdictOf is how the command ends.
func verdictOf(report *conformance.Report) error {
	switch report.ExitCode() {
	case 0:
		return nil
	case failure.KindNegative.ExitCode():
		return failure.Shown(failure.KindNegative)
	default:
		return failure.Shown(failure.KindIncomplete)
	}
}

// newConformBridgeCmd is what a client under test starts as its server: it is
// not for people.
func newConformBridgeCmd() *cobra.Command {
	return &cobra.Command{
		Use: "bridge ADDRESS", Hidden: true, Short: "Serve a client under test over stdio", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if clientsuite.Bridge(args[0]) != 0 {
				return failure.Shown(failure.KindNegative)
			}
			return nil
		},
	}
}
