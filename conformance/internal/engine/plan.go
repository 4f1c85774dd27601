package engine

import (
	"cmp"
	"context"
	"sort"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// Plan connects to the subject as [Run] does, and returns what a run would do, in the order
// of a report. It runs no scenario. Errors are those of Run.
func Plan(ctx context.Context, subject conformance.Subject, suite Suite, opts conformance.Options) ([]conformance.Listed, error) {
	r, err := newRunner(subject, suite, opts)
	if err != nil {
		return nil, err
	}
	defer r.gentle.close()
	defer r.closeFirst()
	revisions, err := r.revisions(ctx)
	if err != nil {
		return nil, err
	}
	var plan []conformance.Listed
	for _, revision := range revisions {
		part, err := r.revisionRun(revision).plan(ctx, suite.Scenarios)
		if err != nil {
			return nil, err
		}
		plan = append(plan, part...)
	}
	return plan, nil
}

// plan is run without the scenarios.
func (l *RevisionRun) plan(ctx context.Context, scenarios []Scenario) ([]conformance.Listed, error) {
	defer func() { l.Environment.Close() }()
	defer l.CloseShared()
	if err := l.introduce(ctx); err != nil {
		return nil, err
	}
	if err := l.prepareEnvironment(); err != nil {
		return nil, err
	}
	var out []conformance.Listed
	for i := range scenarios {
		sc := &scenarios[i]
		if !l.includes(sc) {
			continue
		}
		gate := l.gate(sc)
		t := Trial{Rev: l}
		for j := range sc.Checks {
			c := &sc.Checks[j]
			p := sc.listed(c)
			p.Revision, p.Level = l.Revision, t.Level(c)
			switch detail := l.outside(c.Since, c.Until); {
			case !selects(&l.Opts, sc, c.ID):
				p.Reason = conformance.SkipExcluded
			case detail != "":
				p.Reason, p.Detail = conformance.SkipNotInRevision, detail
			case gate != nil && !gate.broken:
				p.Reason, p.Detail = gate.reason, gate.detail
			default:
				p.Runs = true
			}
			out = append(out, p)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := &out[i], &out[j]
		return cmp.Or(cmp.Compare(l.ranks[a.Area], l.ranks[b.Area]), Compare(a.ID, b.ID)) < 0
	})
	return out, nil
}

// List returns the checks of scenarios of a role.
func List(role conformance.Role, scenarios []Scenario) []conformance.Listed {
	var out []conformance.Listed
	for i := range scenarios {
		sc := &scenarios[i]
		for j := range sc.Checks {
			c := sc.listed(&sc.Checks[j])
			c.Role = role
			out = append(out, c)
		}
	}
	return out
}

// listed is a check with what its scenario says.
func (sc *Scenario) listed(c *Check) conformance.Listed {
	l := conformance.Listed{
		Check: c.Check, Role: conformance.RoleServer, Scenario: sc.ID, Area: sc.Area, Suite: sc.suite(),
		ProfileLevel: c.ProfileLevel, Since: c.Since, Until: c.Until, Transport: sc.Needs.Transport,
		Capability: sc.Needs.Capability, Tools: sc.Needs.Tools, SideEffects: sc.Needs.SideEffects, Control: sc.Needs.Control,
	}
	if c.Since == "" || sc.Since != "" && sc.Since.AtLeast(c.Since) {
		l.Since = sc.Since
	}
	if c.Until == "" || sc.Until != "" && c.Until.AtLeast(sc.Until) {
		l.Until = sc.Until
	}
	return l
}
