package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Defaults of [Options].
const (
	DefaultTimeout      = 60 * time.Second
	DefaultAnswer       = 10 * time.Second
	DefaultStartTimeout = 5 * time.Minute
)

// Options are the choices of a run. The zero value judges everything the
// server permits.
type Options struct {
	// Suites are the parts of the checks that run. Empty means [SuiteProtocol]
	// and, of [SuiteSeeds], the families that the server declares and the checks
	// that Only names.
	Suites []Suite
	// Only and Skip select checks by id, scenario or area; "*" stands for any
	// characters. An empty Only selects all. A pattern that matches nothing is
	// an error.
	Only, Skip []string
	// Revisions are judged one after another; empty means the newest of each era
	// that the server speaks.
	Revisions []mcp.Version
	// SideEffects is the permission to call tools. Empty means what the server
	// grants in capabilities.experimental.conformance.sideEffects, else none.
	SideEffects SideEffects
	// AllowTools may be called whatever SideEffects says.
	AllowTools []string
	// Timeout bounds one scenario, Answer the wait for one answer,
	// StartTimeout the first start of the subject, which may have to compile.
	// Zero means the defaults: 60 s, 10 s, 5 min.
	Timeout, Answer, StartTimeout time.Duration
	// Fixtures names folders shared with a subject that is not a program.
	Fixtures Fixtures
	// Requirements, when set, judges this revision, and only the frozen set of
	// checks it has scores.
	Requirements mcp.Version
	// Expected are the outcomes that are known before the run.
	Expected Expectations
	// Repeat is how often everything runs; the worst outcome of a check counts.
	// Zero means once.
	Repeat int
	// Seed decides the order of the scenarios, which is else that of the report.
	Seed uint64
	// Strict makes a broken recommendation of the specification fail the run.
	Strict bool
	// OnResult, when set, is called in the run's goroutine as each check ends.
	OnResult func(Result)
	// OnProgress, when set, is called in the run's goroutine before each thing
	// that may take long.
	OnProgress func(Progress)

	// Scenarios are the conversations to have: those of package checks, and any others.
	Scenarios []Scenario
	// Surroundings is what some of them need around the program they judge.
	Surroundings Surroundings
	// ConcurrentWrites is how often a document is written while others read it; 0 means 200.
	ConcurrentWrites int
	// MaxRequest is the size of the largest request in bytes; 0 means 8 MiB.
	MaxRequest int
	// ReadStored reads a file that the server stored; nil means os.ReadFile.
	ReadStored func(name string) ([]byte, error)
	// PermissionsEnforced reports whether file permissions stop this process and the
	// programs that it starts; root ignores them. Nil means that the run finds out.
	PermissionsEnforced *bool
}

// Progress says how far a run is.
type Progress struct {
	// Doing is what the run does, in words.
	Doing string
	// Done of Total checks of the revision under way are decided. Total is 0
	// until the server has introduced itself.
	Done, Total int
}

// UnreachableError says that there is nothing to judge: the subject did not answer,
// or nothing that it sent is the answer to initialize. A client sent nothing.
type UnreachableError struct {
	Target Target
	// Stderr is the end of what a program wrote to its standard error.
	Stderr string
	// Exit is the exit status of a program that ended, else -1.
	Exit int
	// Status is the HTTP status of a server that keeps everybody out, else 0: 401
	// and 403 want credentials, 404, 405 and those from 500 on are no MCP server's.
	Status int
	// Received is the start of what the server sent in place of an answer: the
	// lines of a program's standard output, or the body of an HTTP answer. At most 4 KiB.
	Received []byte
	// Rule is the check whose rule that breaks; the zero value for a server that
	// could not be asked.
	Rule Check
	Err  error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	var wrong *misread
	switch {
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return fmt.Sprintf("the server wants credentials (HTTP %d)", e.Status)
	case e.Status != 0:
		return fmt.Sprintf("there is no MCP server at this address (HTTP %d)", e.Status)
	case e.Target.Role == RoleClient, errors.As(e.Err, &wrong):
		return e.Err.Error()
	case e.Exit >= 0:
		return fmt.Sprintf("the server ended with status %d before it answered", e.Exit)
	}
	return fmt.Sprintf("the server does not answer: %v", e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// runner is what the revision runs of one run share.
type runner struct {
	Subject Subject
	Opts    Options
	Binds   bool
	Report  *Report
	Numbers *numbers
	// starts is twice what the first start of a program took: as much longer may the
	// first answer of each later one take, under whatever load.
	starts time.Duration
	// ranks order the areas of a report.
	ranks map[string]int
	// cut is closed when the run is ended from outside: nobody waits then.
	cut <-chan struct{}
	// listed: the tools were learned in some revision run.
	listed bool
	// slowEnds counts the sessions that had to be killed.
	slowEnds int
}

// Run judges subject and returns what was found. The error is an
// [*UnreachableError] when initialize has no answer within the start timeout or the
// subject lets nobody in, or says what is wrong with the options; a server that answers
// wrongly is no error but a report. When ctx ends before the run does, Run returns its error and the report
// of what was found until then; the rest is inconclusive.
func Run(ctx context.Context, subject Subject, opts Options) (*Report, error) {
	scenarios := opts.Scenarios
	r, err := newRunner(subject, opts)
	if err != nil {
		return nil, err
	}
	r.cut = ctx.Done()
	revisions, err := r.meet(ctx)
	if err != nil {
		return nil, err
	}
	for attempt := range r.Opts.Repeat {
		order := scenarios
		if opts.Seed != 0 {
			order = Shuffle(scenarios, opts.Seed+uint64(attempt))
		}
		for _, revision := range revisions {
			if err := newRevisionRun(r, revision).run(ctx, order); err != nil {
				return nil, err
			}
		}
	}
	r.Report.Duration = time.Since(r.Report.StartedAt)
	return r.Report, cmp.Or(r.conclude(), ctx.Err())
}

// doing reports what the run turns to.
func (r *runner) doing(p Progress) {
	if r.Opts.OnProgress != nil {
		r.Opts.OnProgress(p)
	}
}

// newRunner checks the options and begins the report.
func newRunner(subject Subject, opts Options) (*runner, error) {
	if err := opts.prepare(); err != nil {
		return nil, err
	}
	r := &runner{
		Subject: subject, Opts: opts, Numbers: newNumbers(time.Now()),
		Report: &Report{StartedAt: time.Now(), Target: subject.Target(), Policy: Policy{
			Revisions: opts.Revisions, SideEffects: opts.SideEffects, Set: string(opts.Requirements),
			Repeat: opts.Repeat, Seed: opts.Seed, Strict: opts.Strict, Baselines: opts.Expected.Files(),
			Suites: opts.Suites, AllowTools: opts.AllowTools, Only: opts.Only, Skip: opts.Skip,
		}},
	}
	r.Report.Target.Role = RoleServer
	r.Report.known = opts.Scenarios
	r.ranks = areaRanks(opts.Scenarios)
	if opts.PermissionsEnforced != nil {
		r.Binds = *opts.PermissionsEnforced
	} else {
		r.Binds = permissionsBind()
	}
	return r, nil
}

// conclude brings the attempts together and holds the outcomes against what was
// known before.
func (r *runner) conclude() error {
	r.Report.FoldAttempts()
	if r.Opts.Requirements != "" {
		set, err := Requirements(r.Opts.Requirements)
		if err != nil {
			return err
		}
		r.Report.MarkUnscored(set, r.Opts.Requirements)
	}
	return r.Report.Expect(r.Opts.Expected)
}

func (o *Options) prepare() error {
	scenarios := o.Scenarios
	if len(scenarios) == 0 {
		return errors.New("nothing to check: Options.Scenarios is empty")
	}
	for _, v := range o.Revisions {
		if !v.Known() {
			return fmt.Errorf("revision %q: the suite covers revisions %s to %s", v, mcp.Versions()[0], mcp.Latest)
		}
	}
	for _, suite := range o.Suites {
		if suite != SuiteProtocol && suite != SuiteSeeds {
			return fmt.Errorf("suite %q: %s or %s", suite, SuiteProtocol, SuiteSeeds)
		}
	}
	switch o.SideEffects {
	case "", SideEffectsNone, SideEffectsReadOnly, SideEffectsAll:
	default:
		return fmt.Errorf("side effects %q: none, read-only or all", o.SideEffects)
	}
	if o.Requirements != "" {
		if _, err := Requirements(o.Requirements); err != nil {
			return err
		}
		o.Revisions = []mcp.Version{o.Requirements}
	}
	o.Repeat = max(o.Repeat, 1)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Answer = cmp.Or(o.Answer, DefaultAnswer)
	o.ConcurrentWrites, o.MaxRequest = cmp.Or(o.ConcurrentWrites, DefaultConcurrentWrites), cmp.Or(o.MaxRequest, DefaultMaxRequest)
	if o.ReadStored == nil {
		o.ReadStored = os.ReadFile
	}
	o.StartTimeout = cmp.Or(o.StartTimeout, DefaultStartTimeout)
	if err := o.Expected.Unmatched(RoleServer, scenarios); err != nil {
		return err
	}
	for _, pattern := range slices.Concat(o.Only, o.Skip) {
		if !matchesAny(pattern, scenarios) {
			return fmt.Errorf("no check matches %q", pattern)
		}
	}
	return nil
}

// DefaultMaxRequest is the size of the largest request, in bytes.
const DefaultMaxRequest = 8 << 20

// DefaultConcurrentWrites is how often a document is written while others read it.
const DefaultConcurrentWrites = 200
