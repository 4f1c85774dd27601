package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

type conformOptions struct {
	outcomeOptions
	spec, requirements string
	transport          string
	sideEffects        string
	allowTools, suites []string
	seed               uint64
	dryRun             bool
}

// outcomeOptions are what a run against a server and one against a client have in
// common: what is judged, what of it is known, and where it is written.
type outcomeOptions struct {
	only, skip     []string
	failing, flaky []string
	repeat         int
	strict         bool
	reports        []string
}

func (o *outcomeOptions) add(f *pflag.FlagSet) {
	f.StringArrayVar(&o.only, "only", nil, "only checks whose id, scenario or area matches this `pattern`")
	f.StringArrayVar(&o.skip, "skip", nil, "leave out what matches this `pattern`")
	f.StringArrayVar(&o.failing, "known-failing", nil, "`file` of checks that are known to fail; one that passes fails the run")
	f.StringArrayVar(&o.flaky, "known-flaky", nil, "`file` of checks that come and go")
	f.BoolVar(&o.strict, "strict", false, "a broken recommendation fails the run, too")
	f.IntVar(&o.repeat, "repeat", 1, "run everything so many times; the worst outcome of a check counts")
	f.StringArrayVar(&o.reports, "report", nil, reportUsage)
}

// expected checks the count of runs and reads the files of known outcomes.
func (o *outcomeOptions) expected() (conformance.Expectations, error) {
	var x conformance.Expectations
	if o.repeat < 1 {
		return x, usage("--repeat must be at least 1, is %d", o.repeat)
	}
	var err error
	if x.Failing, err = expectations(o.failing); err != nil {
		return x, err
	}
	x.Flaky, err = expectations(o.flaky)
	return x, err
}

func newConformCmd(a *app) *cobra.Command {
	return group("conform", "Test a server or a client against the specification",
		newConformServerCmd(a), newConformClientCmd(a), newConformListCmd(a), newConformExplainCmd(a),
		newConformReportCmd(a), newConformMergeCmd(a), newConformBridgeCmd())
}

// conformLimits says where the global flags have other defaults here.
func conformLimits() string {
	return fmt.Sprintf("Other than the global flags say, --start-timeout is %s by default, --timeout is %s, and\n--max-time is unlimited.",
		defaultConformStart, conformance.DefaultAnswer)
}

func newConformServerCmd(a *app) *cobra.Command {
	var o conformOptions
	cmd := &cobra.Command{
		Use:   "server [SERVER]",
		Short: "Run the conformance suite against a server",
		Long: `Run the conformance suite against a server. The capabilities that it declares
decide what applies. Tools are called only with permission: --side-effects, the
server's own grant, or --allow-tool. The report fits on one screen; -v lists every
check and shows the messages behind each failure.

` + conformLimits() + `

Exit code 0 passed, 1 failed, 10 a requirement is inconclusive, 3 the server does
not answer, 5 what it answers is not MCP.`,
		Example: `  mcpctl conform server -- ./my-server
  mcpctl conform server :3000/mcp --only lifecycle -v
  mcpctl conform server :3000/mcp --report junit=conform.xml --report html=conform.html
  mcpctl conform server --known-failing known.txt -- ./my-server`,
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
	f.StringVar(&o.requirements, "requirements", "", "test against this `revision`, and score only its frozen set of checks")
	o.outcomeOptions.add(f)
	f.Var(choice(&o.sideEffects, "", "none", "read-only", "all"), "side-effects", "which tools may be called: none, read-only or all")
	f.StringArrayVar(&o.allowTools, "allow-tool", nil, "this `tool` may be called whatever --side-effects says")
	f.StringArrayVar(&o.suites, "suite", nil, "only this `suite`: protocol, or seeds for the 29 tools of the reference server; seeds also runs where a server declares them")
	f.Var(choice(&o.transport, "auto", "auto", "http", "sse"), "transport", "how a URL is reached: http is streamable HTTP, sse the old HTTP+SSE, auto http or what the server falls back to")
	f.Uint64Var(&o.seed, "seed", 0, "run the scenarios in an order that this number decides")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would run, and why the rest would not")
	return cmd
}

func (a *app) conform(cmd *cobra.Command, t target, o conformOptions) error {
	files, err := a.reportFiles(o.reports)
	if err != nil {
		return err
	}
	opts, err := a.conformOptions(cmd, o)
	if err != nil {
		return err
	}
	subject, done, err := a.subject(t, wire.TransportKind(o.transport))
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := cmd.Context(), func() {}
	if cmd.Flags().Changed("max-time") {
		ctx, cancel = context.WithTimeout(ctx, a.flags.maxTime)
	}
	defer cancel()
	if o.dryRun {
		live := a.newLive("starting")
		opts.OnProgress = live.progress
		plan, err := checks.Plan(ctx, subject, opts)
		live.end()
		if err != nil {
			return a.conformFailure(ctx, t, err)
		}
		return a.showPlan(plan)
	}
	live := a.newLive("starting")
	opts.OnResult, opts.OnProgress = live.result, live.progress
	report, err := checks.Run(ctx, subject, opts)
	live.end()
	a.sent.delivery = mcperrors.Answered // whatever is lost from here on is output
	return a.conformed(ctx, cmd, t, report, files, err)
}

// conformed ends the command after a run: with its verdict, or with what kept it
// from one. A run that was cut short has a report, too.
func (a *app) conformed(ctx context.Context, cmd *cobra.Command, t target, report *conformance.Report, files []reportFile, err error) error {
	if report == nil {
		return a.conformFailure(ctx, t, err)
	}
	for _, name := range report.Policy.NoTools {
		a.warn("--allow-tool %s: the server has no such tool", name)
	}
	verdict := a.conclude(cmd, t, report, files)
	var f *failure
	if err != nil && (!errors.As(verdict, &f) || f.silent) {
		return a.conformFailure(ctx, t, err)
	}
	return verdict
}

// conformOptions are the options of a run as the suite has them.
func (a *app) conformOptions(cmd *cobra.Command, o conformOptions) (conformance.Options, error) {
	opts := conformance.Options{
		Only: o.only, Skip: o.skip,
		SideEffects: conformance.SideEffects(o.sideEffects), AllowTools: o.allowTools, StartTimeout: defaultConformStart,
		Requirements: mcp.Version(o.requirements), Repeat: o.repeat, Seed: o.seed, Strict: o.strict,
	}
	spec := cmp.Or(o.spec, a.pinned())
	switch {
	case spec != "" && o.requirements != "":
		return opts, usage("--requirements %s says which revision to test against, and so does %s", o.requirements, spec)
	case spec != "":
		opts.Revisions = []mcp.Version{mcp.Version(spec)}
	}
	if cmd.Flags().Changed("start-timeout") {
		opts.StartTimeout = a.flags.startTimeout
	}
	if cmd.Flags().Changed("timeout") {
		opts.Answer = a.flags.idle
	}
	for _, name := range o.suites {
		opts.Suites = append(opts.Suites, conformance.Suite(name))
	}
	var err error
	opts.Expected, err = o.expected()
	return opts, err
}

// expectations reads files of known outcomes.
func expectations(names []string) ([]conformance.Expectation, error) {
	var out []conformance.Expectation
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, usage("%v", err)
		}
		list, err := conformance.ReadExpectations(name, f)
		_ = f.Close() // it was only read
		if err != nil {
			return nil, usage("%v", err)
		}
		out = append(out, list...)
	}
	return out, nil
}

// live is the status line of a run, on a terminal: what it waits for, how far it
// is, and how much failed.
type live struct {
	*status
	doing        string
	done, failed int
}

func (a *app) newLive(doing string) *live {
	s := a.newStatus()
	s.atOnce, s.last = true, doing
	s.begin("conform")
	return &live{status: s}
}

func (l *live) progress(p conformance.Progress) {
	l.doing = p.Doing
	if p.Total > 0 {
		l.doing += fmt.Sprintf(" · %d of %d checks", p.Done, p.Total)
	}
	l.tell()
}

func (l *live) result(res conformance.Result) {
	l.done++
	if res.Status == conformance.Fail {
		l.failed++
	}
	l.tell()
}

func (l *live) tell() {
	text := l.doing
	if text == "" { // the suite for clients tells results alone
		text = fmt.Sprintf("%d checks", l.done)
	}
	if l.failed > 0 {
		text += fmt.Sprintf(" · %d failed", l.failed)
	}
	l.say(text)
}

// subject is the server as the suite reaches it: with a wire of its own, not
// with the client. kind is the transport of a URL, or auto.
func (a *app) subject(t target, kind wire.TransportKind) (conformance.Subject, func(), error) {
	stderr, done, err := a.serverStderr()
	if err != nil {
		return nil, nil, err
	}
	if t.argv == nil {
		header, err := a.header()
		s := conformance.URL(t.url, header)
		s.RoundTripper = a.roundTripper()
		if kind != "auto" {
			s.Transport = kind
		}
		return s, done, err
	}
	if kind != "auto" {
		return nil, nil, usage("--transport %s is for a URL: a program is reached over stdio", kind)
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
			return fail(kindIncomplete, mcperrors.Unknown, "the run was not finished: %s", a.safe(err.Error()))
		}
		return usage("%v", err)
	}
	f := fail(kindUnreachable, mcperrors.Unknown, "%s", a.safe(unreachable.Error()))
	if unreachable.Status == http.StatusUnauthorized || unreachable.Status == http.StatusForbidden {
		f.kind = kindAuth
		f.try = append(f.try, "-H 'Authorization: Bearer ${TOKEN}'")
	}
	if a.explainCommon(f, t, err) {
		return f
	}
	if t.argv != nil {
		f.add("program", "%s", short(strings.Join(mcperrors.RedactCommand(t.argv, a.secrets...), " "), 100))
	} else {
		f.add("url", "%s", withoutSecrets(t.url))
	}
	a.unmetEvidence(f, unreachable)
	return f
}

// unmetEvidence tells what a server did in place of answering initialize.
func (a *app) unmetEvidence(f *failure, e *conformance.UnreachableError) {
	if len(e.Received) > 0 {
		if e.Exit < 0 {
			f.kind = kindProtocol // it answered, and not with MCP
		}
		f.add("received", "%s", short(a.safe(string(e.Received)), 200))
	}
	if e.Exit >= 0 {
		f.add("exited", "status %d", e.Exit)
	}
	lines := strings.Split(strings.TrimSpace(e.Stderr), "\n")
	for _, line := range lines[max(0, len(lines)-shownStderr):] {
		if line != "" && a.flags.serverStderr != "hide" {
			f.add("stderr", "%s", short(a.safe(line), 200))
		}
	}
	if e.Rule.Spec.Quote != "" {
		f.add("rule", "%s: %q", e.Rule.ID, e.Rule.Spec.Quote)
		f.try = append(f.try, "mcpctl conform explain "+e.Rule.ID)
	}
}
