package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// FlakyProof is how many attempts must pass before the entry of a flaky check is stale.
const FlakyProof = 10

// AnyScenario means every scenario of the official suite.
const AnyScenario = "*"

// covers reports whether an expectation is about a result.
func covers(e *conformance.Expectation, res *conformance.Result) bool {
	if e.Revision != "" && e.Revision != res.Revision {
		return false
	}
	if e.Official != "" {
		return sameRule(res.Official, e.Official)
	}
	return conformance.Match(e.Pattern, res.ID, res.Scenario, res.Area)
}

// sameRule reports whether one of the names of [conformance.Check].Official is the
// scenario or the check of the official suite that name asks for. If one of both is a
// whole scenario, it includes every check of the other.
func sameRule(official []string, name string) bool {
	scenario, check, narrow := strings.Cut(name, ":")
	return slices.ContainsFunc(official, func(o string) bool {
		ours, id, part := strings.Cut(o, ":")
		switch {
		case ours == AnyScenario:
			return narrow && id == check
		case ours != scenario:
			return false
		}
		return !part || !narrow || id == check
	})
}

// Expect marks the results of r that x lists as known, flaky or stale. known reports
// whether a pattern matches a check of the suite; nil knows none. A renamed or misspelled
// entry is an error, so that entries cannot go stale silently. Scenarios of the official
// suite that this one does not have are ignored.
func Expect(r *conformance.Report, x conformance.Expectations, known func(pattern string) bool) error {
	for i := range x.Failing {
		if err := expect(r, &x.Failing[i], known, markFailing); err != nil {
			return err
		}
	}
	for i := range x.Flaky {
		if err := expect(r, &x.Flaky[i], known, markFlaky); err != nil {
			return err
		}
	}
	markBlocked(r)
	return nil
}

// markBlocked marks checks whose prerequisite failed as known, in each revision in which
// every failure is known: only a known failure can have blocked them.
func markBlocked(r *conformance.Report) {
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
		if res.Reason == conformance.SkipPrerequisite && res.Baseline == conformance.BaselineNone && known[res.Revision] && !broken[res.Revision] {
			res.Baseline, res.BaselineReason = conformance.BaselineKnown, "a known failure blocks it"
		}
	}
}

// expect calls mark with the results that e covers.
func expect(r *conformance.Report, e *conformance.Expectation, known func(pattern string) bool, mark func(*conformance.Expectation, []*conformance.Result)) error {
	if e.Role != "" && r.Target.Role != "" && e.Role != r.Target.Role {
		return nil
	}
	var covered []*conformance.Result
	for i := range r.Results {
		if covers(e, &r.Results[i]) {
			covered = append(covered, &r.Results[i])
		}
	}
	covered = exact(e, covered)
	if len(covered) == 0 && e.Official == "" && !isElsewhere(e, r, known) {
		return unmatched(e)
	}
	mark(e, covered)
	return nil
}

// exact returns the results of the check that e names, if there is one: some scenarios have the id
// of one of their checks, and a file that the suite writes names checks.
func exact(e *conformance.Expectation, covered []*conformance.Result) []*conformance.Result {
	var named []*conformance.Result
	for _, res := range covered {
		if res.ID == e.Pattern {
			named = append(named, res)
		}
	}
	if len(named) > 0 {
		return named
	}
	return covered
}

// isElsewhere reports whether e is about a revision or a suite that this run did not
// judge: one file may serve several runs.
func isElsewhere(e *conformance.Expectation, r *conformance.Report, known func(pattern string) bool) bool {
	if known != nil && known(e.Pattern) {
		return true
	}
	return e.Revision != "" && !slices.ContainsFunc(r.Revisions, func(v conformance.RevisionReport) bool { return v.Revision == e.Revision })
}

func unmatched(e *conformance.Expectation) error {
	return fmt.Errorf("%s: no check matches %q: remove the entry or correct it", e.Place, e.Pattern)
}

// markFailing marks the results that do not hold as known. A check that holds in every
// revision is stale; a scenario of the official suite is stale only as a whole.
func markFailing(e *conformance.Expectation, covered []*conformance.Result) {
	broken := map[string]bool{}
	for _, res := range covered {
		if notHeld(res.Status) || res.Reason == conformance.SkipPrerequisite {
			res.Baseline, res.BaselineReason = conformance.BaselineKnown, e.Reason
			broken[res.ID], broken[""] = true, true
		}
	}
	for _, res := range covered {
		key := res.ID
		if e.Official != "" {
			key = ""
		}
		if res.Status == conformance.Pass && !broken[key] {
			res.Baseline, res.BaselineReason = conformance.BaselineStale, "remove the entry: "+e.Place
		}
	}
}

func markFlaky(e *conformance.Expectation, covered []*conformance.Result) {
	for _, res := range covered {
		switch {
		case res.Status == conformance.Pass && res.Attempts >= FlakyProof:
			res.Baseline, res.BaselineReason = conformance.BaselineStale, fmt.Sprintf("held in %d attempts, remove the entry: %s", res.Attempts, e.Place)
		case res.Status == conformance.Pass, notHeld(res.Status), res.Reason == conformance.SkipPrerequisite:
			res.Baseline, res.BaselineReason = conformance.BaselineFlaky, e.Reason
		}
	}
}

// notHeld reports whether a baseline file can expect an outcome: not a failure of the
// suite itself.
func notHeld(s conformance.Status) bool {
	return s == conformance.Fail || s == conformance.Warn || s == conformance.Inconclusive
}

// Unmatched returns an error for the first pattern of x that matches no check of the suite
// for role. known reports whether a pattern matches one.
func Unmatched(x conformance.Expectations, role conformance.Role, known func(pattern string) bool) error {
	for _, e := range slices.Concat(x.Failing, x.Flaky) {
		if e.Official == "" && (e.Role == "" || e.Role == role) && !known(e.Pattern) {
			return unmatched(&e)
		}
	}
	return nil
}

// BaselineFiles returns the names of the files that x was read from.
func BaselineFiles(x conformance.Expectations) []string {
	var out []string
	for _, e := range slices.Concat(x.Failing, x.Flaky) {
		if name := e.Place[:max(0, strings.LastIndexByte(e.Place, ':'))]; name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
