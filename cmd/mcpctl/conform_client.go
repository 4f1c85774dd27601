package main

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/clientsuite"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

type conformClientOptions struct {
	outcomeOptions
	spec, transport string
	parallel        int
	limit           time.Duration
}

func newConformClientCmd(a *app) *cobra.Command {
	var o conformClientOptions
	cmd := &cobra.Command{
		Use:   "client -- PROGRAM ARG…",
		Short: "Run the conformance suite against a client",
		Long: `Run the conformance suite against a client: the program is started once for each
scenario, before a server that is scripted or misbehaves, and what it sends is
judged. In its arguments {url} stands for the server's endpoint and {command} for
the program and arguments of a stdio server; without either the URL is added at
the end.

What to do in a scenario stands in the environment as MAINSTAY_CONFORM_TASK, and
a client that reads it and writes a line for each step is also judged by what it
concludes. docs/conformance-clients.md has the protocol and a client of 50 lines.

Exit code 0 passed, 1 failed, 10 a requirement is inconclusive.`,
		Example: `  mcpctl conform client -- ./my-client --url {url}
  mcpctl conform client --transport stdio -- ./my-client {command}
  mcpctl conform client --known-failing known.txt --report html=conform.html -- ./my-client {url}`,
		RunE: func(cmd *cobra.Command, args []string) error {
			l := newLine(cmd, args)
			switch {
			case len(l.operands) > 0:
				return usage("conform client takes the client's program after --, got %s before it", l.operands[0])
			case len(l.program) == 0:
				return usage("no program: give the client's after --")
			}
			return a.conformClient(cmd, l.program, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.spec, "spec", "", "`revision` to test against; the newest of each era the client speaks")
	f.Var(choice(&o.transport, "", string(wire.TransportHTTP), string(wire.TransportStdio)), "transport", "how the client reaches the server: http or stdio; by the arguments when not given")
	o.outcomeOptions.add(f)
	f.IntVar(&o.parallel, "parallel", clientsuite.DefaultParallel, "how many scenarios run at once")
	f.DurationVar(&o.limit, "limit", clientsuite.DefaultTimeout, "how long one start of the client may take")
	return cmd
}

func (a *app) conformClient(cmd *cobra.Command, argv []string, o conformClientOptions) error {
	files, err := a.reportFiles(o.reports)
	if err != nil {
		return err
	}
	expected, err := o.expected()
	if err != nil {
		return err
	}
	env, err := a.conformEnv()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := cmd.Context(), func() {}
	if cmd.Flags().Changed("max-time") {
		ctx, cancel = context.WithTimeout(ctx, a.flags.maxTime)
	}
	defer cancel()
	opts := clientsuite.Options{
		Transport: wire.TransportKind(cmp.Or(o.transport, reachedBy(argv))), Only: o.only, Skip: o.skip,
		Timeout: o.limit, Parallel: o.parallel, Expected: expected, Repeat: o.repeat, Strict: o.strict, Bridge: []string{self, "conform", "bridge"},
	}
	if o.spec = cmp.Or(o.spec, a.pinned()); o.spec != "" {
		opts.Revisions = []mcp.Version{mcp.Version(o.spec)}
	}
	live := a.newLive("starting the client")
	opts.OnResult = live.result
	report, err := clientsuite.Run(ctx, clientsuite.Command(argv, env), opts)
	live.end()
	return a.conformed(ctx, cmd, target{argv: argv}, report, files, err)
}

// reachedBy is the transport that the arguments of a client speak of.
func reachedBy(argv []string) string {
	has := func(mark string) bool {
		return slices.ContainsFunc(argv[1:], func(arg string) bool { return strings.Contains(arg, mark) })
	}
	if has(clientsuite.CommandMark) && !has(clientsuite.URLMark) {
		return string(wire.TransportStdio)
	}
	return string(wire.TransportHTTP)
}

// conformEnv is the environment of a program that is judged.
func (a *app) conformEnv() ([]string, error) {
	command, err := a.command()
	if err != nil {
		return nil, err
	}
	switch command.Inherit {
	case transport.EnvAll:
		return append(os.Environ(), command.Env...), nil
	case transport.EnvNone:
		return append([]string{}, command.Env...), nil // not nil, which would mean everything
	default:
		return nil, usage("conform gives the program all of our environment or none: --inherit-env all or none")
	}
}

// verdictOf is how the command ends.
func verdictOf(report *conformance.Report) error {
	switch report.ExitCode() {
	case 0:
		return nil
	case exitCodes[kindNegative]:
		return shown(kindNegative)
	default:
		return shown(kindIncomplete)
	}
}

// newConformBridgeCmd is what a client under test starts as its server: it is
// not for people.
func newConformBridgeCmd() *cobra.Command {
	return &cobra.Command{
		Use: "bridge ADDRESS", Hidden: true, Short: "Be the stdio server of a client that is judged", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if clientsuite.Bridge(args[0]) != 0 {
				return shown(kindNegative)
			}
			return nil
		},
	}
}
