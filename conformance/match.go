package conformance

import (
	"slices"
	"strings"
)

// Match reports whether a pattern, as in [Options].Only, selects one of the names
// of a check: its id, its scenario, its area.
func Match(pattern string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return glob(pattern, name) })
}

// glob matches text against a pattern in which "*" stands for any characters.
func glob(pattern, text string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, head)
	if !ok {
		return false
	}
	for i := range len(text) + 1 {
		if glob(rest, text[i:]) {
			return true
		}
	}
	return false
}

// AnyScenario stands for every scenario of the official suite.
const AnyScenario = "*"

// standsBeside reports whether one of the names of [Check].Official is the scenario
// or the check of the official suite that is asked for. Where one of both is a
// scenario as a whole, so is what they have in common.
func standsBeside(official []string, name string) bool {
	scenario, check, narrow := strings.Cut(name, ":")
	return slices.ContainsFunc(official, func(o string) bool {
		ours, id, whole := strings.Cut(o, ":")
		whole = !whole
		switch {
		case ours == AnyScenario:
			return narrow && id == check
		case ours != scenario:
			return false
		}
		return whole || !narrow || id == check
	})
}

// SeenPrefix begins the ids of the scenarios that send nothing of their own and
// judge what was seen in all others: they say nothing when they run alone.
const SeenPrefix = "SEEN-"
