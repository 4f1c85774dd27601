package conformance

import "slices"

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
