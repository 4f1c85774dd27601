package conformance

import (
	"cmp"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/idorder"
)

// Match reports whether a pattern, as in [Options].Only, selects one of the names
// of a check: its id, its scenario, its area.
func Match(pattern string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return glob(pattern, name) })
}

// areaRanks numbers the areas in the order in which scenarios name them first.
func areaRanks(scenarios []Scenario) map[string]int {
	ranks := map[string]int{}
	for i := range scenarios {
		if _, there := ranks[scenarios[i].Area]; !there {
			ranks[scenarios[i].Area] = len(ranks)
		}
	}
	return ranks
}

// InOrder sorts scenarios as reports list them: by area, then by id. Areas come in
// the order in which the scenarios name them first; those in first come before the rest.
func InOrder(scenarios []Scenario, first ...string) []Scenario {
	var named []Scenario
	for _, area := range first {
		named = append(named, Scenario{Area: area})
	}
	ranks := areaRanks(append(named, scenarios...))
	sorted := slices.Clone(scenarios)
	slices.SortStableFunc(sorted, func(a, b Scenario) int {
		return cmp.Or(cmp.Compare(ranks[a.Area], ranks[b.Area]), idorder.Compare(a.ID, b.ID))
	})
	return sorted
}
