package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// starts is twice the time of the first start of a program. The first answer of each
	// later start may take that much longer.
	starts time.Duration
	// ranks order the areas of a report.
	ranks map[string]int
	// cut is closed when the run is canceled.
	cut <-chan struct{}
	// listed: some revision run has listed the tools.
	listed bool
	// stretch multiplies the waits for answers, unless it is 0, while a scenario runs once more
	// on a busy machine.
	stretch int
	// spare is the next program, started while a scenario runs, as long as more are due than were
	// opened.
	spare       *spare
	due, opened int
	// first has the conversation in which the server told its newest session revision, for
	// the first run of that revision.
	first *RevisionRun
	// slowEnds counts the sessions that had to be killed.
	slowEnds int
	// gentle is set in a gentle run.
	gentle *gentle
}

// Run judges subject. The error is a [*conformance.UnreachableError] if initialize has no
// answer within the start timeout, the subject refuses all requests, or it refuses the
// credentials of a gentle run, or it describes wrong options. A server that answers wrongly gets a report, not an error. If ctx ends
// before the run does, Run returns its error and the report so far; the rest is
// inconclusive.
func Run(ctx context.Context, subject conformance.Subject, suite Suite, opts conformance.Options) (*conformance.Report, error) {
	r, err := newRunner(subject, suite, opts)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r.cut = ctx.Done()
	defer r.gentle.close()
	defer r.closeSpare()
	defer r.closeFirst()
	revisions, err := r.revisions(ctx)
	if err != nil {
		return nil, err
	}
	r.keepFirst(revisions)
	r.gentle.endWith(stop)
	for attempt := range r.Opts.Repeat {
		order := suite.Scenarios
		if opts.Seed != 0 {
			order = Shuffle(order, opts.Seed+uint64(attempt))
		}
		for _, revision := range revisions {
			if err := cmp.Or(r.revisionRun(revision).run(ctx, order), r.gentle.denial(r.Report.Target)); err != nil {
				return nil, err
			}
		}
	}
	r.Report.Duration = time.Since(r.Report.StartedAt)
	return r.Report, cmp.Or(r.conclude(), ctx.Err())
}

// revisionRun returns a run of a revision: the first one if that has begun already.
func (r *runner) revisionRun(revision mcp.Version) *RevisionRun {
	if l := r.first; l != nil && l.Asked == revision {
		r.first = nil
		return l
	}
	return newRevisionRun(r, revision)
}

// keepFirst closes the first conversation unless one of the revisions begins with it.
func (r *runner) keepFirst(revisions []mcp.Version) {
	if r.first != nil && !slices.Contains(revisions, r.first.Asked) {
		r.closeFirst()
	}
}

// closeFirst closes the first conversation if no revision run has taken it over.
func (r *runner) closeFirst() {
	if r.first != nil {
		r.first.CloseShared()
		r.first = nil
	}
}

// doing reports the next step of the run, before the checks of a revision.
func (r *runner) doing(step string) { r.progress(step, 0, 0) }

// progress reports the next step of the run: done of total checks are decided.
func (r *runner) progress(step string, done, total int) {
	if r.Opts.OnProgress != nil {
		r.Opts.OnProgress(step, done, total)
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
		Report: &conformance.Report{StartedAt: time.Now(), Target: targetOf(subject), Policy: conformance.Policy{
			Revisions: opts.Revisions, SideEffects: string(opts.SideEffects), Set: string(opts.Requirements),
			Repeat: opts.Repeat, Seed: opts.Seed, Strict: opts.Strict, Baselines: BaselineFiles(opts.Expected),
			Suites: opts.Suites, AllowTools: opts.AllowTools, Only: opts.Only, Skip: opts.Skip, Gentle: opts.Gentle,
		}},
	}
	if opts.Gentle {
		r.gentle = newGentle()
	}
	r.ranks = areaRanks(suite.Scenarios)
	return r, nil
}

// conclude combines the attempts and compares the results with the baseline.
func (r *runner) conclude() error {
	FoldAttempts(r.Report)
	if r.Opts.Requirements != "" {
		set, err := Requirements(r.Opts.Requirements)
		if err != nil {
			return err
		}
		MarkUnscored(r.Report, set, r.Opts.Requirements)
	}
	return Expect(r.Report, r.Opts.Expected, knownPatterns(r.Suite.Scenarios))
}

// prepare checks the options and fills in the defaults.
func prepare(o *conformance.Options, scenarios []Scenario) error {
	if len(scenarios) == 0 {
		return errors.New("the suite has no scenarios")
	}
	for _, v := range o.Revisions {
		if !v.Known() {
			return fmt.Errorf("revision %q: the suite covers revisions %s to %s", v, mcp.Versions()[0], mcp.Latest)
		}
	}
	known := []string{SuiteProtocol}
	for i := range scenarios {
		if name := scenarios[i].suite(); !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	for _, name := range o.Suites {
		if !slices.Contains(known, name) {
			return fmt.Errorf("suite %q: %s", name, strings.Join(known, " or "))
		}
	}
	switch o.SideEffects {
	case "", conformance.SideEffectsNone, conformance.SideEffectsReadOnly, conformance.SideEffectsAll:
	default:
		return fmt.Errorf("side effects %q: none, read-only or all", o.SideEffects)
	}
	if err := checkGentle(o); err != nil {
		return err
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
	o.StartTimeout = cmp.Or(o.StartTimeout, DefaultStartTimeout)
	if err := Unmatched(o.Expected, conformance.RoleServer, knownPatterns(scenarios)); err != nil {
		return err
	}
	for _, pattern := range slices.Concat(o.Only, o.Skip) {
		if !matchesAny(pattern, scenarios) {
			return fmt.Errorf("no check matches %q", pattern)
		}
	}
	return nil
}

// Defaults of [conformance.Options] and [Suite].
const (
	DefaultTimeout      = 60 * time.Second
	DefaultAnswer       = 10 * time.Second
	DefaultStartTimeout = 5 * time.Minute
	DefaultMaxRequest   = 8 << 20
)
