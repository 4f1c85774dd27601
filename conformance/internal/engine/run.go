package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// runner is what the revision runs of one run share.
type runner struct {
	Subject conformance.Subject
	Opts    conformance.Options
	Suite   Suite
	Report  *conformance.Report
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
func Run(ctx context.Context, subject conformance.Subject, suite Suite, opts conformance.Options) (*conformance.Report, error) {
	r, err := newRunner(subject, suite, opts)
	if err != nil {
		return nil, err
	}
	r.cut = ctx.Done()
	revisions, err := r.meet(ctx)
	if err != nil {
		return nil, err
	}
	for attempt := range r.Opts.Repeat {
		order := suite.Scenarios
		if opts.Seed != 0 {
			order = Shuffle(order, opts.Seed+uint64(attempt))
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
func (r *runner) doing(p conformance.Progress) {
	if r.Opts.OnProgress != nil {
		r.Opts.OnProgress(p)
	}
}

// newRunner checks the options and begins the report.
func newRunner(subject conformance.Subject, suite Suite, opts conformance.Options) (*runner, error) {
	suite.MaxRequest = cmp.Or(suite.MaxRequest, DefaultMaxRequest)
	if err := prepare(&opts, suite.Scenarios); err != nil {
		return nil, err
	}
	r := &runner{
		Subject: subject, Suite: suite, Opts: opts, Numbers: newNumbers(time.Now()),
		Report: &conformance.Report{StartedAt: time.Now(), Target: subject.Target(), Policy: conformance.Policy{
			Revisions: opts.Revisions, SideEffects: string(opts.SideEffects), Set: string(opts.Requirements),
			Repeat: opts.Repeat, Seed: opts.Seed, Strict: opts.Strict, Baselines: opts.Expected.Files(),
			AllowTools: opts.AllowTools, Only: opts.Only, Skip: opts.Skip,
		}},
	}
	r.Report.Target.Role = conformance.RoleServer
	for _, part := range opts.Suites {
		r.Report.Policy.Suites = append(r.Report.Policy.Suites, string(part))
	}
	r.ranks = areaRanks(suite.Scenarios)
	return r, nil
}

// conclude brings the attempts together and holds the outcomes against what was
// known before.
func (r *runner) conclude() error {
	r.Report.FoldAttempts()
	if r.Opts.Requirements != "" {
		set, err := conformance.Requirements(r.Opts.Requirements)
		if err != nil {
			return err
		}
		r.Report.MarkUnscored(set, r.Opts.Requirements)
	}
	return r.Report.Expect(r.Opts.Expected, knownPatterns(r.Suite.Scenarios))
}

// prepare checks the options and fills in the defaults.
func prepare(o *conformance.Options, scenarios []Scenario) error {
	if len(scenarios) == 0 {
		return errors.New("nothing to check: the suite has no scenarios")
	}
	for _, v := range o.Revisions {
		if !v.Known() {
			return fmt.Errorf("revision %q: the suite covers revisions %s to %s", v, mcp.Versions()[0], mcp.Latest)
		}
	}
	for _, suite := range o.Suites {
		if suite != conformance.SuiteProtocol && suite != conformance.SuiteSeeds {
			return fmt.Errorf("suite %q: %s or %s", suite, conformance.SuiteProtocol, conformance.SuiteSeeds)
		}
	}
	switch o.SideEffects {
	case "", conformance.SideEffectsNone, conformance.SideEffectsReadOnly, conformance.SideEffectsAll:
	default:
		return fmt.Errorf("side effects %q: none, read-only or all", o.SideEffects)
	}
	if o.Requirements != "" {
		if _, err := conformance.Requirements(o.Requirements); err != nil {
			return err
		}
		o.Revisions = []mcp.Version{o.Requirements}
	}
	o.Repeat = max(o.Repeat, 1)
	o.Timeout = cmp.Or(o.Timeout, conformance.DefaultTimeout)
	o.Answer = cmp.Or(o.Answer, conformance.DefaultAnswer)
	o.StartTimeout = cmp.Or(o.StartTimeout, conformance.DefaultStartTimeout)
	if err := o.Expected.Unmatched(conformance.RoleServer, knownPatterns(scenarios)); err != nil {
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
