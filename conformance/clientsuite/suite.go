package clientsuite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// ErrNothingSent says that the client sent nothing to any server: there is
// nothing to judge.
var ErrNothingSent = errors.New("the client sent nothing to the server it was given")

// suite is one run.
type suite struct {
	program Program
	opts    Options
	report  *conformance.Report
	results sync.Mutex // for OnResult
}

// Run judges the client. The error is a [*conformance.UnreachableError] when it
// could not be started or sent nothing at all (then around [ErrNothingSent]), or
// says what is wrong with the options; a client that does wrong is no error but a
// report. When ctx ends before the run
// does, Run returns its error and the report of what was found until then.
func Run(ctx context.Context, program Program, opts Options) (*conformance.Report, error) {
	if err := opts.prepare(); err != nil {
		return nil, err
	}
	s := &suite{program: program, opts: opts, report: &conformance.Report{
		StartedAt: time.Now(),
		Target:    conformance.Target{Role: conformance.RoleClient, Transport: opts.Transport, Argv: program.argv(), Tools: -1},
		Policy: conformance.Policy{
			Revisions: opts.Revisions, Repeat: opts.Repeat, Strict: opts.Strict, Baselines: opts.Expected.Files(),
			SideEffects: "none", Only: opts.Only, Skip: opts.Skip,
		},
	}}
	revisions, asked := opts.Revisions, true
	if len(revisions) == 0 {
		revisions, asked = []mcp.Version{mcp.Latest, mcp.LatestSession}, false
	}
	revisionRuns, err := s.meet(ctx, revisions, asked)
	if err != nil {
		return nil, err
	}
	for range opts.Repeat {
		for _, l := range revisionRuns {
			l.play(ctx)
			s.report.Revisions = append(s.report.Revisions, l.said)
		}
	}
	s.report.Duration = time.Since(s.report.StartedAt)
	s.report.FoldAttempts()
	return s.report, cmp.Or(s.report.Expect(opts.Expected, nil), ctx.Err())
}

// meet has the client make a first call in each revision, and returns the revision runs
// of those it speaks, or of all that were asked for.
func (s *suite) meet(ctx context.Context, revisions []mcp.Version, asked bool) ([]*revisionRun, error) {
	var runs []*revisionRun
	sent := false
	var last *run
	for _, v := range revisions {
		l := &revisionRun{suite: s, revision: v, said: conformance.RevisionReport{Revision: v, Tools: -1}}
		r := newRun(ctx, l)
		r.do(listTools(), call("echo", `{"text":"hello"}`))
		if r.err != nil {
			return nil, s.unreachable(r, fmt.Errorf("the client could not be started: %w", r.err))
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		last = r
		sent = sent || len(r.tape.all()) > 0
		l.met = &trial{run: r, scenario: &scenario{id: meeting}}
		l.introduced(r)
		if l.speaks || asked {
			runs = append(runs, l)
		}
	}
	if !sent {
		return nil, s.unreachable(last, fmt.Errorf("%w%s", ErrNothingSent, last.fate()))
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("the client speaks none of %v; name the revision to judge it in", revisions)
	}
	return runs, nil
}

// unreachable is the error of a client that there is nothing to judge of.
func (s *suite) unreachable(r *run, err error) error {
	return &conformance.UnreachableError{Target: s.report.Target, Stderr: r.stderr[max(0, len(r.stderr)-keptSaid):], Exit: -1, Err: err}
}

// keptSaid is how much of the standard error is shown.
const keptSaid = 4 << 10

// meeting names the first run, in its task and in what is found in it.
const meeting = "meet"

// revisionRun is the part of a run that judges one revision.
type revisionRun struct {
	*suite
	revision mcp.Version
	said     conformance.RevisionReport
	// met is the first run: what was sent in it counts as what is sent in a scenario.
	met *trial
	// speaks: the client sent something of this revision. tells: it reports.
	speaks, tells bool
	// noLogin says why the area auth is left out: empty if the client logs in.
	noLogin string
}

// stateless reports whether the revision run speaks a revision without sessions.
func (l *revisionRun) stateless() bool { return l.revision.Era() == mcp.EraStateless }

// playing names what a run is for, in its task.
func (l *revisionRun) playing(r *run) string {
	if r.name == "" {
		return meeting
	}
	return r.name
}

// introduced takes from a first run what the client says of itself.
func (l *revisionRun) introduced(r *run) {
	l.tells = len(r.lines) > 0
	for _, m := range r.tape.all() {
		info, caps := m.param("clientInfo"), m.param("capabilities")
		if l.stateless() {
			info, caps = m.param("_meta", mcp.MetaClientInfo), m.param("_meta", mcp.MetaClientCapabilities)
			l.speaks = l.speaks || m.isRequest() && text(m.param("_meta", mcp.MetaProtocolVersion)) == string(l.revision)
		} else {
			l.speaks = l.speaks || m.method() == mcp.MethodInitialized
		}
		if info == nil || l.said.Name != "" {
			continue
		}
		l.said.Name, l.said.Version, l.said.Capabilities = text(at(info, "name")), text(at(info, "version")), caps
	}
	if t := &l.report.Target; t.Name == "" {
		t.Name, t.Version, t.Revision, t.Capabilities = l.said.Name, l.said.Version, string(l.revision), l.said.Capabilities
	}
}

// play runs every scenario of the revision run.
func (l *revisionRun) play(ctx context.Context) {
	all := registry()
	trials := make([]*trial, len(all))
	var jobs sync.WaitGroup
	places := make(chan struct{}, l.opts.Parallel)
	asked := false // whether it logs in
	for i := range all {
		t := &trial{run: &run{rev: l, tape: newTape()}, scenario: &all[i], last: time.Now()}
		trials[i] = t
		if !t.gate() || all[i].play == nil {
			continue
		}
		if all[i].area == authArea && !asked {
			asked = true
			l.noLogin = l.triesLogin(ctx)
		}
		places <- struct{}{}
		jobs.Go(func() {
			defer func() { <-places }()
			t.run = newRun(ctx, l)
			t.name = t.scenario.id
			t.last = time.Now()
			if ctx.Err() == nil {
				t.scenario.play(t)
			}
			if ctx.Err() != nil {
				t.cut()
			}
			t.finish()
			l.emit(t)
		})
	}
	jobs.Wait()
	for _, t := range trials {
		if t.scenario.seen != nil && len(t.results) < len(t.scenario.checks) {
			if t.scenario.seen(t, l.seenBy(t, trials)); ctx.Err() != nil {
				t.cut()
			}
			t.finish()
			l.emit(t)
		}
	}
	for _, t := range trials {
		slices.SortStableFunc(t.results, func(a, b conformance.Result) int {
			place := func(id string) int {
				return slices.IndexFunc(t.scenario.checks, func(c check) bool { return c.ID == id })
			}
			return place(a.ID) - place(b.ID)
		})
		l.report.Results = append(l.report.Results, t.results...)
	}
}

// seenBy are the trials that a scenario judges. Those of the area auth are apart: requests
// that are refused there are sent again as they are.
func (l *revisionRun) seenBy(t *trial, trials []*trial) []*trial {
	auth := t.scenario.area == authArea
	out := slices.DeleteFunc(slices.Clone(trials), func(other *trial) bool { return (other.scenario.area == authArea) != auth })
	if !auth {
		out = append([]*trial{l.met}, out...)
	}
	return out
}

func (l *revisionRun) emit(t *trial) {
	if l.opts.OnResult == nil {
		return
	}
	l.results.Lock()
	defer l.results.Unlock()
	for _, r := range t.results {
		if r.Reason != conformance.SkipExcluded {
			l.opts.OnResult(r)
		}
	}
}

// gate skips the checks that do not apply and reports whether any are left.
func (t *trial) gate() bool {
	sc, l := t.scenario, t.rev
	open := false
	for _, c := range sc.checks {
		switch {
		case !l.opts.selects(sc, c.ID):
			t.skip(c.ID, conformance.SkipExcluded, "")
		case sc.transport != "" && sc.transport != l.opts.Transport:
			t.skip(c.ID, conformance.SkipTransport, "about "+string(sc.transport))
		case l.outside(sc.since, sc.until) || l.outside(c.Since, c.Until):
			t.skip(c.ID, conformance.SkipNotInRevision, "not a rule of "+string(l.revision))
		default:
			open = true
		}
	}
	return open
}

func (l *revisionRun) outside(since, until mcp.Version) bool {
	return since != "" && !l.revision.AtLeast(since) || until != "" && !until.AtLeast(l.revision)
}
