// Package trial plays scenarios for clients: a scenario starts the client, with a task,
// against a scripted server, and judges what the client sent and reported.
package trial

import (
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Scenario is one start of the client and the checks that it decides. Either Play or Judge
// is set.
type Scenario struct {
	ID string
	// Play prepares the server, runs the client and decides the checks.
	Play func(t *Trial)
	// Judge decides the checks of a passive scenario: by the traffic of all others, after
	// they ended.
	Judge func(t *Trial, all []*Trial)

	// Area and the rest come from checks.txt.
	Area, Title string
	// Since and Until bound the revisions, both included; empty means no bound.
	Since, Until mcp.Version
	// Transport is the only one the scenario is about; empty for all.
	Transport conformance.TransportKind
	Checks    []Check
}

// Check is a check with the other sources of its rule.
type Check struct {
	engine.Check
	Others []engine.Source
}

// Complete gives each scenario without checks its texts from a file, and returns all in
// the order of the file; those with checks come last. It fails for a scenario without an
// entry, and for an entry without a scenario.
func Complete(scenarios []Scenario, file string) ([]Scenario, error) {
	entries, others, err := engine.ReadTexts(file)
	if err != nil {
		return nil, err
	}
	var out []Scenario
	for _, e := range entries {
		i := slices.IndexFunc(scenarios, func(sc Scenario) bool { return sc.ID == e.ID })
		if i < 0 {
			return nil, fmt.Errorf("the entry %s has no scenario", e.ID)
		}
		sc := scenarios[i]
		sc.Area, sc.Title, sc.Since, sc.Until, sc.Transport = e.Area, e.Title, e.Since, e.Until, e.Needs.Transport
		for _, c := range e.Checks {
			sc.Checks = append(sc.Checks, Check{c, others[c.ID]})
		}
		out = append(out, sc)
	}
	for _, sc := range scenarios {
		switch found := slices.ContainsFunc(out, func(o Scenario) bool { return o.ID == sc.ID }); {
		case sc.Checks != nil:
			out = append(out, sc)
		case !found:
			return nil, fmt.Errorf("scenario %s has no entry", sc.ID)
		}
	}
	return out, nil
}

// Join returns the scenarios of all lists, as [engine.Join] does.
func Join(lists ...[]Scenario) []Scenario { return slices.Concat(lists...) }

// Conformance returns the scenario as lists show it.
func (sc *Scenario) Conformance() engine.Scenario {
	out := engine.Scenario{
		ID: sc.ID, Area: sc.Area, Title: sc.Title, Since: sc.Since, Until: sc.Until, Needs: engine.Needs{Transport: sc.Transport},
	}
	for _, c := range sc.Checks {
		out.Checks = append(out.Checks, c.Check)
	}
	return out
}
