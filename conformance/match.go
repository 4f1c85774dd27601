package conformance

import (
	"slices"
	"strings"
)

// Match reports whether a pattern, as in [Options].Only, selects one of the names of a
// check: its id, its scenario, its area.
//
// # Experimental
func Match(pattern string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return glob(pattern, name) })
}

// glob matches text against a pattern in which "*" matches any characters.
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
