package engine

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
)

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

// Join returns the scenarios of all lists. It is not inlined, because every list copies its
// scenarios again there.
func Join(lists ...[]Scenario) []Scenario { return slices.Concat(lists...) }

// InOrder sorts scenarios as reports list them: by area, then by id. Areas come in
// the order in which the scenarios name them first; those in first come before the rest.
func InOrder(scenarios []Scenario, first ...string) []Scenario {
	var named []Scenario
	for _, area := range first {
		named = append(named, Scenario{Area: area})
	}
	ranks := areaRanks(append(named, scenarios...))
	sorted := slices.Clone(scenarios)
	sort.SliceStable(sorted, func(i, j int) bool {
		a, b := &sorted[i], &sorted[j]
		return cmp.Or(cmp.Compare(ranks[a.Area], ranks[b.Area]), Compare(a.ID, b.ID)) < 0
	})
	return sorted
}

// Shuffle returns the scenarios in a random order, to find servers whose answers depend on
// earlier requests, but none before the one that it learns from. Seed 0 keeps the order.
func Shuffle(scenarios []Scenario, seed uint64) []Scenario {
	if seed == 0 {
		return scenarios
	}
	out := slices.Clone(scenarios)
	rand.New(rand.NewPCG(seed, seed)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return afterOthers(out)
}

// afterOthers moves each scenario behind the one that it runs after.
func afterOthers(scenarios []Scenario) []Scenario {
	waiting := map[string][]Scenario{}
	for _, sc := range scenarios {
		if sc.After != "" {
			waiting[sc.After] = append(waiting[sc.After], sc)
		}
	}
	seen := map[string]bool{}
	out := make([]Scenario, 0, len(scenarios))
	for _, sc := range scenarios {
		seen[sc.ID] = true
		if there := slices.ContainsFunc(scenarios, func(other Scenario) bool { return other.ID == sc.After }); there && !seen[sc.After] {
			continue // it follows that one
		}
		out = append(out, sc)
		out = append(out, slices.DeleteFunc(waiting[sc.ID], func(w Scenario) bool { return !seen[w.ID] })...)
	}
	return out
}
