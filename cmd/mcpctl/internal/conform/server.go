package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/conformance"
	familychecks "github.com/mainstay-mcp/mainstay/conformance/families/checks"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// defaultStart is how long a program may take to its first answer: its first start
// may compile it.
const defaultStart = 5 * time.Minute

// defaultAnswer is how long the suite waits for one answer.
const defaultAnswer = 10 * time.Second

type conformOptions struct {
	outcomeOptions
	spec, requirements string
	transport          string
	sideEffects        string
	allowTools, suites []string
	calls              string
	seed               uint64
	parallel           int
	dryRun, gentle     bool

	wrongAudience, weak string
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
	flags.Texts(f, &o.only, "only", "run only checks whose id, scenario or area matches this `pattern`")
	flags.Texts(f, &o.skip, "skip", "skip checks that match this `pattern`")
	flags.Texts(f, &o.failing, "known-failing", "`file` of checks that are expected to fail; one that passes fails the run")
	flags.Texts(f, &o.flaky, "known-flaky", "`file` of checks that may pass or fail")
	f.BoolVar(&o.strict, "strict", false, "fail the run for broken recommendations (SHOULD) too")
	f.IntVar(&o.repeat, "repeat", 1, "number of runs; the worst outcome of each check counts")
	flags.Texts(f, &o.reports, "report", reportUsage)
	f.String(sarifFile, "", "`file` of the repository where sarif shows the findings; by default that of --known-failing, else the workflow")
}

// expected checks the count of runs and reads the files of known outcomes.
func (o *outcomeOptions) expected() (conformance.Expectations, error) {
	var x conformance.Expectations
	if o.repeat < 1 {
		return x, failure.Usage("--repeat must be at least 1, not %d", o.repeat)
	}
	var err error
	if x.Failing, err = expectations(o.failing); err != nil {
		return x, err
	}
	x.Flaky, err = expectations(o.flaky)
	return x, err
}

// conformLimits names the global flags that have other defaults here.
func conformLimits() string {
	return fmt.Sprintf("Defaults differ from the other commands: --start-timeout %s, --timeout %s, and\nno --max-time.",
		console.Typed(defaultStart), defaultAnswer)
}

func newConformServerCmd(s *suite) *cobra.Command {
	var o conformOptions
	cmd := &cobra.Command{
		Use:   "server [SERVER]",
		Short: "Run the conformance suite against a server",
		Long: `Run the conformance suite against a server. The capabilities that the server
declares decide which checks apply. Tools are called only with permission: from
--side-effects, --allow-tool, --calls, or the server itself. The report fits on
one screen; -v lists every check and shows the messages of each failure.

` + conformLimits() + `

A server that wants a login gets the token of mcpctl auth login, or what --auth
says.

Exit code: 0 passed, 1 failed, 10 a requirement is inconclusive, 3 the server
does not answer, 4 it wants a login, 5 it does not answer with MCP.`,
		Example: `  mcpctl conform server -- ./my-server
  mcpctl conform server :3000/mcp --only lifecycle -v
  mcpctl conform server :3000/mcp --report junit=conform.xml --report html=conform.html
  mcpctl conform server --known-failing known.txt -- ./my-server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := s.Server(target.NewLine(cmd, args))
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return failure.Usage("conform server takes only a server: unexpected operand %s", rest[0])
			}
			return s.conform(cmd, t, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.spec, "spec", "", "`revision` to test; default: the newest of each era that the server supports")
	f.StringVar(&o.requirements, "requirements", "", "test this `revision`, and score only its frozen set of checks")
	o.outcomeOptions.add(f)
	f.Var(flags.Choice(&o.sideEffects, "", "none", "read-only", "all"), "side-effects", "tools that may be called: none, read-only or all")
	flags.Texts(f, &o.allowTools, "allow-tool", "allow calls of this `tool` regardless of --side-effects")
	f.StringVar(&o.calls, "calls", "", "`file` with the tools that may be called and arguments for them; conform init writes one")
	flags.Texts(f, &o.suites, "suite", "run only this `suite`: protocol, or seeds (the 29 tools of the reference server; on by default for servers that declare them)")
	f.Var(flags.Choice(&o.transport, "auto", "auto", "http", "sse"), "transport", "transport of a URL: http (streamable HTTP), sse (the old HTTP+SSE), or auto: http, else sse")
	f.IntVar(&o.parallel, "parallel", 1, "number of scenarios to run at once, each with its own processes of a program")
	f.Uint64Var(&o.seed, "seed", 0, "shuffle the scenarios with this seed, and choose other arguments")
	f.StringVar(&o.wrongAudience, "wrong-audience-token", "", "`@FILE` with a token for another server, which this one must refuse")
	f.StringVar(&o.weak, "weak-token", "", "`@FILE` with a token without some scope, which this server must refuse where it needs the scope")
	f.BoolVar(&o.gentle, "gentle", false, "for a server in production: 2 requests a second and 200 KB at most, only tools with readOnlyHint, and no check that sends what a careful client would not")
	f.BoolVar(&o.dryRun, "dry-run", false, "show which checks would run, and why the others would not")
	return cmd
}

// checkGentle refuses options that a gentle run cannot have.
func (o *conformOptions) checkGentle() error {
	for _, f := range []struct {
		flag  string
		given bool
	}{
		{"--side-effects all", o.sideEffects == string(conformance.SideEffectsAll)}, {"--allow-tool", len(o.allowTools) > 0}, {"--calls", o.calls != ""},
	} {
		if o.gentle && f.given {
			return failure.Usage("%s and --gentle exclude each other: a gentle run calls only tools with readOnlyHint", f.flag)
		}
	}
	if o.gentle && o.parallel > 1 {
		return failure.Usage("--parallel and --gentle exclude each other: a gentle run does one thing at a time")
	}
	return nil
}

func (s *suite) conform(cmd *cobra.Command, t target.Target, o conformOptions) error {
	if err := o.checkGentle(); err != nil {
		return err
	}
	files, err := s.reportFiles(o.reports)
	if err != nil {
		return err
	}
	opts, err := s.conformOptions(cmd, o)
	if err != nil {
		return err
	}
	subject, done, err := s.subject(cmd.Context(), t, conformance.TransportKind(o.transport), o.gentle)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := cmd.Context(), func() {}
	if cmd.Flags().Changed("max-time") {
		ctx, cancel = context.WithTimeout(ctx, s.Flags.MaxTime)
	}
	defer cancel()
	if o.dryRun {
		live := s.newLive("starting")
		opts.OnProgress = live.progress
		plan, err := familychecks.Plan(ctx, subject, opts)
		live.End()
		if err != nil {
			return s.conformFailure(ctx, t, err)
		}
		return s.showPlan(plan)
	}
	live := s.newLive("starting")
	opts.OnResult, opts.OnProgress = live.result, live.progress
	report, err := familychecks.Run(ctx, subject, opts)
	live.End()
	s.Sent.Delivery = mcperrors.Answered // whatever is lost from here on is output
	return s.conformed(ctx, cmd, t, report, files, err)
}

// conformed ends the command after a run: with its verdict, or with what kept it
// from one. A run that was cut short has a report, too.
func (s *suite) conformed(ctx context.Context, cmd *cobra.Command, t target.Target, report *conformance.Report, files []reportFile, err error) error {
	if report == nil {
		return s.conformFailure(ctx, t, err)
	}
	for _, name := range report.Policy.NoTools {
		s.Console.Warn("--allow-tool %s: the server has no such tool", name)
	}
	verdict := s.conclude(cmd, t, report, files)
	var f *failure.Failure
	if err != nil && (!errors.As(verdict, &f) || f.Silent) {
		return s.conformFailure(ctx, t, err)
	}
	return verdict
}

// conformOptions are the options of a run as the suite has them.
func (s *suite) conformOptions(cmd *cobra.Command, o conformOptions) (conformance.Options, error) {
	opts := conformance.Options{
		Suites: o.suites, Only: o.only, Skip: o.skip,
		SideEffects: conformance.SideEffects(o.sideEffects), AllowTools: o.allowTools, StartTimeout: defaultStart, Answer: defaultAnswer,
		Requirements: mcp.Version(o.requirements), Repeat: o.repeat, Seed: o.seed, Strict: o.strict, Parallel: o.parallel, Gentle: o.gentle,
	}
	spec := cmp.Or(o.spec, s.Flags.Pinned())
	switch {
	case spec != "" && o.requirements != "":
		return opts, failure.Usage("--requirements %s and revision %s exclude each other: give one", o.requirements, spec)
	case spec != "":
		opts.Revisions = []mcp.Version{mcp.Version(spec)}
	}
	if cmd.Flags().Changed("start-timeout") {
		opts.StartTimeout = s.Flags.StartTimeout
	}
	if cmd.Flags().Changed("timeout") {
		opts.Answer = s.Flags.Idle
	}
	opts.Fixtures = map[string]any{}
	for _, given := range [][2]string{{conformance.WrongAudienceToken, o.wrongAudience}, {conformance.WeakToken, o.weak}} {
		token, err := s.token(given[0], given[1])
		if err != nil {
			return opts, err
		}
		opts.Fixtures[given[0]] = token
	}
	var err error
	if opts.Calls, err = readCalls(o.calls); err != nil {
		return opts, err
	}
	opts.Expected, err = o.expected()
	return opts, err
}

// maxToken bounds a token that is read.
const maxToken = 64 << 10

// token reads a token from a file. A command line is no place for one.
func (s *suite) token(flag, value string) (string, error) {
	if value == "" {
		return "", nil
	}
	name, ok := strings.CutPrefix(value, "@")
	if !ok {
		return "", failure.Usage("--%s takes a file, because a command line is no place for a token: --%s @FILE", flag, flag)
	}
	data, err := operand.ReadText(name)
	if err != nil {
		return "", failure.Usage("--%s: %v", flag, err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", failure.Usage("--%s %s: there is no token", flag, value)
	}
	s.Secrets.Keep("token", token)
	return token, nil
}

// expectations reads files of known outcomes.
func expectations(names []string) ([]conformance.Expectation, error) {
	var out []conformance.Expectation
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, failure.Usage("%v", err)
		}
		list, err := conformance.ReadExpectations(name, f)
		_ = f.Close() // it was only read
		if err != nil {
			return nil, failure.Usage("%v", err)
		}
		out = append(out, list...)
	}
	return out, nil
}

// live is the status line of a run, on a terminal: what it waits for, how far it
// is, and how much failed.
type live struct {
	*console.Status
	doing        string
	done, failed int
}

func (s *suite) newLive(doing string) *live {
	status := s.Console.NewStatusAtOnce(doing)
	status.Begin("conform")
	return &live{Status: status}
}

func (l *live) progress(doing string, done, total int) {
	l.doing = doing
	if total > 0 {
		l.doing += fmt.Sprintf(" · %d of %d checks", done, total)
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
	l.Set(text)
}

// subject is the server as the suite reaches it: with a wire of its own, not
// with the client. kind is the transport of a URL, or auto. A gentle run sends a request again
// only with renewed credentials, and later.
func (s *suite) subject(ctx context.Context, t target.Target, kind conformance.TransportKind, gentle bool) (conformance.Subject, func(), error) {
	if err := s.Trusted(ctx, t); err != nil {
		return nil, nil, err
	}
	stderr, done, err := s.ServerStderr()
	if err != nil {
		return nil, nil, err
	}
	if t.Argv == nil {
		header, err := s.Header(t)
		if err != nil {
			return nil, done, err
		}
		at := conformance.URL(t.URL, header)
		at.RoundTripper = s.RoundTripper()
		by, err := s.Credentials(ctx, t)
		if by != nil {
			signer := connect.NewSigner(by, t.URL, at.RoundTripper, s.Secrets)
			at.Credentials, at.RoundTripper = signer.Credentials, signer
			if gentle {
				signer.Pause = time.Second // with the next message that is two in a second
			}
		}
		if kind == "auto" && t.Entry != nil && t.Entry.SSE {
			kind = conformance.TransportSSE
		}
		if kind != "auto" {
			at.Transport = kind
		}
		return at, done, err
	}
	if kind != "auto" {
		return nil, nil, failure.Usage("--transport %s needs a URL: a program always uses stdio", kind)
	}
	command, err := s.Command(t)
	if err != nil {
		return nil, nil, err
	}
	env := command.Env
	switch command.Inherit {
	case transport.EnvAll:
		env = append(os.Environ(), env...)
	case transport.EnvSafe:
		return nil, nil, failure.Usage("conform supports only --inherit-env all or none")
	case transport.EnvNone:
		env = append([]string{}, env...) // not nil, which would mean everything
	}
	program := conformance.Command(t.Argv, env)
	program.Dir, program.Stderr = command.Dir, stderr
	return program, done, nil
}

func (s *suite) conformFailure(ctx context.Context, t target.Target, err error) error {
	var unreachable *conformance.UnreachableError
	var login *auth.Error
	if errors.As(err, &login) {
		f := failure.New(failure.KindAuth, mcperrors.NotSent, "%s", s.Secrets.Safe(err.Error()))
		s.Login(ctx, f, err, t)
		return f
	}
	if !errors.As(err, &unreachable) {
		if ctx.Err() != nil {
			return failure.New(failure.KindIncomplete, mcperrors.Unknown, "the run did not finish: %s", s.Secrets.Safe(err.Error()))
		}
		return failure.Usage("%v", err)
	}
	f := failure.New(failure.KindUnreachable, mcperrors.Unknown, "%s", s.Secrets.Safe(unreachable.Error()))
	s.neverSent(f, unreachable)
	if unreachable.Status == http.StatusUnauthorized || unreachable.Status == http.StatusForbidden {
		f.Kind = failure.KindAuth
		s.Login(ctx, f, err, t)
		switch {
		case len(f.Try) > 0 && s.Flags.Auth == "auto":
			f.Try = append(f.Try, explain.OrHeader)
		case unreachable.Status == http.StatusUnauthorized && s.Flags.Auth == "none":
			f.AddNote("log in, and leave out --auth none")
			f.Try = append(f.Try, s.AuthCommand(t, "login"))
		}
	}
	if s.Common(f, t, err) {
		return f
	}
	if t.Argv != nil {
		f.Add("program", "%s", visible.Cut(strings.Join(s.Secrets.Command(t.Argv), " "), 100))
	} else {
		f.Add("url", "%s", target.Shown(t.URL))
	}
	s.unmetEvidence(f, unreachable)
	return f
}

// neverSent notes that nothing was sent: the program could not be started, or nothing
// listens.
func (s *suite) neverSent(f *failure.Failure, err *conformance.UnreachableError) {
	var path *os.PathError
	var program *exec.Error
	switch {
	case errors.As(err, &path) && (path.Op == "fork/exec" || path.Op == "chdir"), errors.As(err, &program):
		if err.Target.Role != conformance.RoleClient { // whose message has it
			f.Message = "the program cannot be started: " + s.Secrets.Safe(failure.RootCause(err))
		}
	case !errors.Is(err, syscall.ECONNREFUSED):
		return
	}
	f.Delivery = mcperrors.NotSent
}

// unmetEvidence tells what a server did in place of answering initialize.
func (s *suite) unmetEvidence(f *failure.Failure, e *conformance.UnreachableError) {
	if len(e.Received) > 0 {
		if e.Exit < 0 {
			f.Kind = failure.KindProtocol // it answered, and not with MCP
		}
		f.Add("received", "%s", visible.Cut(s.Secrets.Safe(string(e.Received)), 200))
	}
	if e.Exit >= 0 {
		f.Add("exited", "status %d", e.Exit)
	}
	lines := strings.Split(strings.TrimSpace(e.Stderr), "\n")
	for _, line := range lines[max(0, len(lines)-explain.ShownStderr):] {
		if line != "" && s.Flags.ServerStderr != "hide" {
			f.Add("stderr", "%s", visible.Cut(s.Secrets.Safe(line), 200))
		}
	}
	if e.Rule.Spec.Quote != "" {
		f.Add("rule", "%s: %q", e.Rule.ID, e.Rule.Spec.Quote)
		f.Try = append(f.Try, "mcpctl conform explain "+e.Rule.ID)
	}
}
