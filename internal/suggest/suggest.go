// Package suggest finds the name that a person probably meant.
package suggest

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Nearest returns up to three of names that are similar to got, nearest first: those with at most
// a third of its length in edits (at least two), and those that start with it, or contain it if
// it has four letters or more. Case is ignored.
func Nearest(got string, names []string) []string {
	type candidate struct {
		name string
		away int
	}
	want := strings.ToLower(got)
	limit := max(2, utf8.RuneCountInString(got)/3)
	var found []candidate
	for _, name := range names {
		lower := strings.ToLower(name)
		away := distance(want, lower)
		switch {
		case away <= limit && away < utf8.RuneCountInString(got):
		case len(want) >= 2 && strings.HasPrefix(lower, want), len(want) >= 4 && strings.Contains(lower, want):
			away = limit + 1
		default:
			continue
		}
		found = append(found, candidate{name, away})
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].away < found[j].away })
	var out []string
	for _, c := range found[:min(3, len(found))] {
		out = append(out, c.name)
	}
	return out
}

// longest limits the work for names of a server.
const longest = 256

// distance returns the number of edits (insert, delete, replace, swap of neighbors) from a to b.
func distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return len(a) + len(b)
	}
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
