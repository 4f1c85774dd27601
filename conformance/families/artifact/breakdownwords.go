package artifact

import (
	"slices"
	"strings"
	"unicode"
)

// breakdownNames are headings of sections that break a document down, for people.
const breakdownNames = "Decomposition, Breakdown, User Stories, Tasks, Specifications, Zerlegung, Décomposition or 分解"

// breakdownWords are the words of such headings, in lower case. Chinese has no
// blanks, so breakdownParts are looked for anywhere.
var (
	breakdownWords = []string{
		"decomposition", "breakdown", "subartifact", "subartifacts", "stories", "tasks", "specs", "specifications", "prds",
		"zerlegung", "aufteilung", "aufgaben", "décomposition", "découpage", "tâches",
	}
	breakdownParts = []string{"分解", "拆分", "任务"}
)

// asideWords are the words of headings below a breakdown that do not group its
// items, in lower case: an id below them need not be one of the items.
var (
	asideWords = []string{
		"abbreviations", "acronyms", "assumption", "assumptions", "background", "compliance", "constraint", "constraints", "context",
		"criteria", "definitions", "dependencies", "dependency", "estimates", "glossary", "legend", "notes", "order", "principles",
		"questions", "rationale", "references", "regulations", "requirements", "risks", "rules", "scope", "sequence", "sources",
		"standards", "strategy", "terms",
		"abhängigkeiten", "annahmen", "begriffe", "glossar", "hinweise", "quellen", "regeln", "risiken", "vorgaben",
		"contraintes", "dépendances", "glossaire", "hypothèses", "remarques", "règles", "risques",
	}
	asideParts = []string{"约束", "依赖", "术语", "风险", "说明", "参考"}
)

// isBreakdown reports whether a heading begins a breakdown.
func isBreakdown(name string) bool {
	return hasWord(strings.ReplaceAll(strings.ToLower(name), "sub-artifact", "subartifact"), breakdownWords, breakdownParts)
}

// isAside reports whether ids below a heading need not be items.
func isAside(name string) bool { return hasWord(strings.ToLower(name), asideWords, asideParts) }

// hasWord reports whether a heading has one of the words, or one of the parts.
func hasWord(name string, words, parts []string) bool {
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if slices.Contains(words, word) {
			return true
		}
	}
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}
