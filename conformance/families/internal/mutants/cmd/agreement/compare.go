package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/mutants"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// comparison is both suites on one server in one revision.
type comparison struct {
	server   string
	revision mcp.Version
	rows     []row
}

// row is what both say of one check of the official suite.
type row struct {
	// name is scenario:check.
	name     string
	official mutants.OfficialVerdict
	// held and broken are the checks of ours beside it that did and did not
	// hold; skipped are the reasons of those that did not apply.
	held, broken []string
	skipped      []string
	// alone: no check of ours stands beside it, for a reason that official.txt
	// gives.
	alone string
}

// outcome is how both verdicts stand to each other.
type outcome string

const (
	same      outcome = "same"
	differs   outcome = "differs"
	unjudged  outcome = "not judged here"
	theirs    outcome = "theirs alone"
	undecided outcome = "undecided there"
)

func (r row) outcome() outcome {
	switch {
	case !r.says():
		return undecided
	case r.alone != "":
		return theirs
	case len(r.held)+len(r.broken) == 0:
		return unjudged
	case (r.official.Status == mutants.OfficialPass) == (len(r.broken) == 0):
		return same
	}
	return differs
}

// says reports whether the official suite decided.
func (r row) says() bool {
	switch r.official.Status {
	case mutants.OfficialPass, mutants.OfficialWarning, mutants.OfficialFailure:
		return true
	}
	return false
}

// wire is what the official suite checks of every scenario. One row holds it.
const wire = "wire-schema-valid"

// compare puts the outcomes of our checks beside those of the official suite.
func compare(results []conformance.Result, official map[string]mutants.OfficialVerdict) []row {
	byID := map[string]conformance.Result{}
	for _, res := range results {
		byID[res.ID] = res
	}
	known := map[string]engine.OfficialCheck{}
	for _, s := range engine.OfficialScenarios() {
		for _, c := range s.Checks {
			known[s.Name+":"+c.ID] = c
		}
	}
	rows := map[string]row{}
	for name, v := range official {
		if _, check, _ := strings.Cut(name, ":"); check == wire {
			name = "*:" + wire
		}
		if r, there := rows[name]; there && (!r.says() || v.Status == mutants.OfficialPass) {
			continue
		}
		c := known[name]
		r := row{name: name, official: v, alone: c.Why}
		for _, id := range c.Ours {
			res := byID[id]
			switch res.Status {
			case conformance.Pass:
				r.held = append(r.held, id)
			case conformance.Fail, conformance.Warn:
				r.broken = append(r.broken, id)
			case conformance.Skip, conformance.Inconclusive, conformance.Error:
				r.skipped = append(r.skipped, cmp.Or(string(res.Reason), string(res.Status)))
			}
		}
		rows[name] = r
	}
	return slices.SortedFunc(maps.Values(rows), func(a, b row) int { return cmp.Compare(a.name, b.name) })
}
