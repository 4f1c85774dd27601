package trial

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Trial is a scenario while it runs. It belongs to one goroutine.
type Trial struct {
	*Run
	Scenario *Scenario
	Results  []conformance.Result
	// View is what a passive scenario of the same area looks at.
	View any

	last time.Time
	// because says why the checks that are left could not be decided.
	because string
}

// New returns the trial of a scenario before its client is started.
func New(s *Setting, sc *Scenario) *Trial {
	return &Trial{Run: &Run{Setting: s, Name: sc.ID, Tape: peer.NewTape()}, Scenario: sc, last: time.Now()}
}

// Play runs the client and decides all checks.
func (t *Trial) Play(ctx context.Context) {
	t.Run = NewRun(ctx, t.Setting, t.Scenario.ID)
	t.last = time.Now()
	if ctx.Err() == nil {
		t.Scenario.Play(t)
	}
	t.finish(ctx)
}

// Judge decides all checks of a passive scenario.
func (t *Trial) Judge(ctx context.Context, all []*Trial) {
	t.Scenario.Judge(t, all)
	t.finish(ctx)
}

// Gate skips the checks that do not apply, and reports whether any are left. selected
// reports whether the options select a check.
func (t *Trial) Gate(selected func(id string) bool) bool {
	sc := t.Scenario
	open := false
	for _, c := range sc.Checks {
		switch {
		case !selected(c.ID):
			t.skip(c.ID, conformance.SkipExcluded, "")
		case sc.Transport != "" && sc.Transport != t.Transport:
			t.skip(c.ID, conformance.SkipTransport, "about "+string(sc.Transport))
		case t.outside(sc.Since, sc.Until) || t.outside(c.Since, c.Until):
			t.skip(c.ID, conformance.SkipNotInRevision, "not a rule of "+string(t.Revision))
		default:
			open = true
		}
	}
	return open
}

func (t *Trial) outside(since, until mcp.Version) bool {
	return since != "" && !t.Revision.AtLeast(since) || until != "" && !until.AtLeast(t.Revision)
}

// Check decides a check: it passes if ok, else it fails or warns by its level. actual is a
// format if there are args.
func (t *Trial) Check(id string, ok bool, expected, actual string, args ...any) {
	if ok {
		t.decide(id, conformance.Result{Status: conformance.Pass})
		return
	}
	if len(args) > 0 {
		actual = fmt.Sprintf(actual, args...)
	}
	t.decide(id, conformance.Result{Status: t.broken(id), Expected: expected, Actual: actual, Evidence: t.Tape.Evidence()})
}

// broken is the status of a check whose rule is broken.
func (t *Trial) broken(id string) conformance.Status {
	if level, _ := t.rule(t.find(id)); level == conformance.Must {
		return conformance.Fail
	}
	return conformance.Warn
}

// Skip skips a check about something optional.
func (t *Trial) Skip(id, why string) { t.skip(id, conformance.SkipNotDeclared, why) }

// SkipAll skips every check that is not decided yet.
func (t *Trial) SkipAll(why string) {
	for _, c := range t.Scenario.Checks {
		t.Skip(c.ID, why)
	}
}

// Block skips every check that is not decided yet, because the run lacks what it needs.
func (t *Trial) Block(why string) {
	for _, c := range t.Scenario.Checks {
		t.skip(c.ID, conformance.SkipPrerequisite, why)
	}
}

func (t *Trial) skip(id string, reason conformance.SkipReason, detail string) {
	t.decide(id, conformance.Result{Status: conformance.Skip, Reason: reason, Detail: detail})
}

// Needs returns ok. If it is false, the checks that are left are inconclusive because of
// detail.
func (t *Trial) Needs(ok bool, detail string) bool {
	if !ok && t.because == "" {
		t.because = detail
	}
	return ok
}

// Called returns the calls of a tool. If there are none, the checks that are left are
// inconclusive.
func (t *Trial) Called(tool string) []*peer.Message {
	calls := t.Calls(tool)
	t.Needs(len(calls) > 0, tool+" was not called")
	return calls
}

// HasSent returns the messages of a method. If there are none, the checks that are left
// are inconclusive.
func (t *Trial) HasSent(method string) []*peer.Message {
	sent := t.Sent(method)
	t.Needs(len(sent) > 0, method+" was not sent")
	return sent
}

// Reported decides a check by the lines of the ith step of the scenario, from 0. Connect
// is step -1.
func (t *Trial) Reported(id string, i int, want Want) {
	lines := t.Step(i)
	if len(lines) == 0 {
		t.Unreported(id)
		return
	}
	for _, l := range lines {
		if l.Outcome == OutcomeUnsupported {
			t.Skip(id, unsupported)
			return
		}
		if !want.Ok(l) {
			t.Check(id, false, want.Text, "%s", l.String())
			return
		}
	}
	t.Check(id, true, "", "")
}

const unsupported = "the client reports that it does not have this feature"

// Unreported decides a check without a line to judge.
func (t *Trial) Unreported(id string) {
	switch {
	case t.Reports && t.Ended == 0 && t.Err == nil:
		t.Check(id, false, "a report of this step", "none until the client was killed, after %s", t.Timeout)
	case t.Reports:
		t.decide(id, conformance.Result{Status: conformance.Inconclusive, Detail: "the client did not report this step" + t.fateAndWords()})
	default:
		t.Skip(id, "the client reports no outcomes")
	}
}

func (t *Trial) find(id string) *Check {
	for i := range t.Scenario.Checks {
		if t.Scenario.Checks[i].ID == id {
			return &t.Scenario.Checks[i]
		}
	}
	panic("conformance: scenario " + t.Scenario.ID + " has no check " + id) //nolint:forbidigo // a bug in a scenario, which its own test meets
}

// rule is the level of a check and its source, for this transport and revision.
func (t *Trial) rule(c *Check) (conformance.Level, conformance.Spec) {
	level, spec := c.Level, c.Spec
	for _, other := range c.Others {
		switch {
		case other.Transport == t.Transport && other.Transport != "":
			level, spec = other.Level, other.Spec
		case other.Since != "" && t.Revision.AtLeast(other.Since):
			spec = other.Spec
		}
	}
	return level, spec
}

// decide records an outcome. The first one of a check counts.
func (t *Trial) decide(id string, r conformance.Result) {
	c := t.find(id)
	if slices.ContainsFunc(t.Results, func(r conformance.Result) bool { return r.ID == id }) {
		return
	}
	r.Check = c.Check.Check
	r.Level, r.Spec = t.rule(c)
	r.Scenario, r.Area, r.Revision = t.Scenario.ID, t.Scenario.Area, t.Revision
	if r.Status != conformance.Skip {
		r.Attempts = 1
		if r.Status != conformance.Pass {
			r.Bad = 1
		}
	}
	now := time.Now()
	r.Duration, t.last = now.Sub(t.last), now
	t.Results = append(t.Results, r)
}

// finish decides the checks that the scenario left open. When the run was canceled, only
// skips are kept: a failure may come from the end of the run, not from the client.
func (t *Trial) finish(ctx context.Context) {
	if ctx.Err() != nil {
		t.Results = slices.DeleteFunc(t.Results, func(r conformance.Result) bool { return r.Status != conformance.Skip })
		t.because = "the run ended before this was judged"
	}
	if slices.ContainsFunc(t.Lines, func(l Line) bool { return l.Outcome == OutcomeUnsupported }) {
		t.SkipAll(unsupported)
	}
	if t.because == "" {
		t.because = "not reached"
	}
	for _, c := range t.Scenario.Checks {
		t.decide(c.ID, conformance.Result{Status: conformance.Inconclusive, Detail: t.because + t.fateAndWords(), Evidence: t.Tape.Evidence()})
	}
	order := func(id string) int {
		return slices.IndexFunc(t.Scenario.Checks, func(c Check) bool { return c.ID == id })
	}
	sort.SliceStable(t.Results, func(i, j int) bool { return order(t.Results[i].ID) < order(t.Results[j].ID) })
}
