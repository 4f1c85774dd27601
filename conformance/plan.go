package conformance

import (
	"cmp"
	"context"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/idorder"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Planned is a check as a run would meet it.
type Planned struct {
	Check
	Scenario, Area string
	Revision       mcp.Version
	// Level is the level that would apply to this subject.
	Level Level
	// Runs is false for a check that would not run; Reason and Detail say why.
	Runs   bool
	Reason SkipReason
	Detail string
}

// Plan introduces itself to the subject as [Run] does, runs no scenario, and
// returns what a run would do, in the order of a report. Errors are those of Run.
func Plan(ctx context.Context, subject Subject, opts Options) ([]Planned, error) {
	scenarios := opts.Scenarios
	r, err := newRunner(subject, opts)
	if err != nil {
		return nil, err
	}
	revisions, err := r.meet(ctx)
	if err != nil {
		return nil, err
	}
	var plan []Planned
	for _, revision := range revisions {
		part, err := newRevisionRun(r, revision).plan(ctx, scenarios)
		if err != nil {
			return nil, err
		}
		plan = append(plan, part...)
	}
	return plan, nil
}

// plan is run without the scenarios.
func (l *RevisionRun) plan(ctx context.Context, scenarios []Scenario) ([]Planned, error) {
	defer func() { l.remove() }()
	defer l.CloseShared()
	if err := l.introduce(ctx); err != nil {
		return nil, err
	}
	if err := l.prepareFixtures(); err != nil {
		return nil, err
	}
	var out []Planned
	for i := range scenarios {
		sc := &scenarios[i]
		if !l.includes(sc) {
			continue
		}
		gate := l.gate(sc)
		t := Trial{Rev: l}
		for j := range sc.Checks {
			c := &sc.Checks[j]
			p := Planned{Check: *c, Scenario: sc.ID, Area: sc.Area, Revision: l.Revision, Level: t.Level(c)}
			switch detail := l.outside(c.Since, c.Until); {
			case !l.Opts.selects(sc, c.ID):
				p.Reason = SkipExcluded
			case detail != "":
				p.Reason, p.Detail = SkipNotInRevision, detail
			case gate != nil && !gate.broken:
				p.Reason, p.Detail = gate.reason, gate.detail
			default:
				p.Runs = true
			}
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b Planned) int {
		return cmp.Or(cmp.Compare(l.ranks[a.Area], l.ranks[b.Area]), idorder.Compare(a.ID, b.ID))
	})
	return out, nil
}
