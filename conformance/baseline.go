package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Expectation is one line of a file of known outcomes: checks that are expected
// not to hold, and why.
type Expectation struct {
	// Pattern selects checks by id, scenario or area; "*" stands for any
	// characters.
	Pattern string
	// Revision, when set, narrows the expectation to the revision run of a revision.
	Revision mcp.Version
	// Reason says why, for the reports.
	Reason string
	// Official names a scenario of the official suite, or one of its checks as
	// scenario:check, in place of Pattern. It stands for every check that judges
	// the same rules, as a whole.
	Official string
	// Role is the side the expectation is about; empty for both.
	Role Role
	// Place is the file and line, for messages.
	Place string
}

// Expectations are what a run is expected not to pass.
type Expectations struct {
	// Failing do not hold. A check that does is stale and fails the run.
	Failing []Expectation
	// Flaky come and go. Their failures do not fail the run; one that held in
	// each of [FlakyProof] attempts or more is stale.
	Flaky []Expectation
}

// FlakyProof is how many attempts must pass before a check that is known to be
// flaky counts as mended.
const FlakyProof = 10

// covers reports whether e speaks of a check.
func (e *Expectation) covers(res *Result) bool {
	if e.Revision != "" && e.Revision != res.Revision {
		return false
	}
	if e.Official != "" {
		return standsBeside(res.Official, e.Official)
	}
	return Match(e.Pattern, res.ID, res.Scenario, res.Area)
}

// Expect marks the results that x lists as known, flaky or stale. known reports whether
// a pattern matches a check of the suite; nil knows none. An entry that matches no
// result and no such check is an error, so that entries cannot go stale silently.
// Scenarios of the official suite that this one does not have are ignored.
func (r *Report) Expect(x Expectations, known func(pattern string) bool) error {
	for i := range x.Failing {
		if err := r.expect(&x.Failing[i], known, (*Report).markFailing); err != nil {
			return err
		}
	}
	for i := range x.Flaky {
		if err := r.expect(&x.Flaky[i], known, (*Report).markFlaky); err != nil {
			return err
		}
	}
	r.markBlocked()
	return nil
}

// markBlocked makes known what could not be looked at because what it builds on does
// not work, in each revision in which something that fails is known and nothing else
// fails: there is nothing left that could block it.
func (r *Report) markBlocked() {
	known, broken := map[mcp.Version]bool{}, map[mcp.Version]bool{}
	for i := range r.Results {
		res := &r.Results[i]
		if notHeld(res.Status) {
			known[res.Revision] = known[res.Revision] || res.Excused()
			broken[res.Revision] = broken[res.Revision] || r.Fails(res)
		}
	}
	for i := range r.Results {
		res := &r.Results[i]
		if res.Reason == SkipPrerequisite && res.Baseline == BaselineNone && known[res.Revision] && !broken[res.Revision] {
			res.Baseline, res.BaselineReason = BaselineKnown, "a known failure blocks it"
		}
	}
}

// expect hands the results that e covers to mark.
func (r *Report) expect(e *Expectation, known func(pattern string) bool, mark func(*Report, *Expectation, []*Result)) error {
	if e.Role != "" && r.Target.Role != "" && e.Role != r.Target.Role {
		return nil
	}
	var covered []*Result
	for i := range r.Results {
		if e.covers(&r.Results[i]) {
			covered = append(covered, &r.Results[i])
		}
	}
	if len(covered) == 0 && e.Official == "" && !e.elsewhere(r, known) {
		return e.unmatched()
	}
	mark(r, e, covered)
	return nil
}

// elsewhere reports whether e speaks of a revision or a suite that was not
// judged: one file may serve several runs.
func (e *Expectation) elsewhere(r *Report, known func(pattern string) bool) bool {
	if known != nil && known(e.Pattern) {
		return true
	}
	return e.Revision != "" && !slices.ContainsFunc(r.Revisions, func(l RevisionReport) bool { return l.Revision == e.Revision })
}

func (e *Expectation) unmatched() error {
	return fmt.Errorf("%s: no check matches %q: remove the entry or correct it", e.Place, e.Pattern)
}

// markFailing makes what does not hold known. What holds is stale: each check
// by itself when no revision run breaks it, an official scenario only as a whole.
func (r *Report) markFailing(e *Expectation, covered []*Result) {
	broken := map[string]bool{}
	for _, res := range covered {
		if notHeld(res.Status) || res.Reason == SkipPrerequisite {
			res.Baseline, res.BaselineReason = BaselineKnown, e.Reason
			broken[res.ID], broken[""] = true, true
		}
	}
	for _, res := range covered {
		key := res.ID
		if e.Official != "" {
			key = ""
		}
		if res.Status == Pass && !broken[key] {
			res.Baseline, res.BaselineReason = BaselineStale, "remove the entry: "+e.Place
		}
	}
}

func (r *Report) markFlaky(e *Expectation, covered []*Result) {
	for _, res := range covered {
		switch {
		case res.Status == Pass && res.Attempts >= FlakyProof:
			res.Baseline, res.BaselineReason = BaselineStale, fmt.Sprintf("held in %d attempts, remove the entry: %s", res.Attempts, e.Place)
		case res.Status == Pass, notHeld(res.Status), res.Reason == SkipPrerequisite:
			res.Baseline, res.BaselineReason = BaselineFlaky, e.Reason
		}
	}
}

// notHeld reports an outcome that a file of known outcomes can expect: not the
// faults of the suite itself.
func notHeld(s Status) bool { return s == Fail || s == Warn || s == Inconclusive }

// Unmatched returns an error for the first pattern that matches no check of the suite
// for role. known reports whether a pattern matches one.
func (x *Expectations) Unmatched(role Role, known func(pattern string) bool) error {
	for _, list := range [][]Expectation{x.Failing, x.Flaky} {
		for i := range list {
			e := &list[i]
			if e.Official == "" && (e.Role == "" || e.Role == role) && !known(e.Pattern) {
				return e.unmatched()
			}
		}
	}
	return nil
}

// Files are the names of the files that x was read from.
func (x *Expectations) Files() []string {
	var out []string
	for _, e := range slices.Concat(x.Failing, x.Flaky) {
		if name := e.Place[:max(0, strings.LastIndexByte(e.Place, ':'))]; name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
