package decide

import (
	"regexp"
	"slices"
	"strings"
)

// The concepts of the vocabulary. A file has a section for each.
const (
	// ask is a request for a record itself.
	ask concept = "ask"
	// mention is a word as architecture or strategy.
	mention concept = "mention"
	// migration is a move of data or code, or a change of everything.
	migration concept = "migration"
	// dependency is something new that others make.
	dependency concept = "dependency"
	// concern is a part of an architecture that one decides on: logins, data,
	// queues, how the system is cut, what others may see of it.
	concern concept = "concern"
	// technology is the name of a product or protocol.
	technology concept = "technology"
	// quality is a promise about the whole: it survives, scales, works offline.
	quality concept = "quality"
	// shift puts something else in place of what is there, or takes it apart.
	shift concept = "shift"
	// part is a thing that a decision may be about, and often is not.
	part concept = "part"
	// build is a verb for something new. Touch is one that says little.
	build concept = "make"
	touch concept = "touch"
	// repair is a bug, trivial a change that shapes nothing: a text, a test, a
	// color. Minor is what is mostly found in small changes.
	repair  concept = "repair"
	trivial concept = "trivial"
	minor   concept = "minor"
	// neutral says nothing, and hides a shorter word that would.
	neutral concept = "neutral"
)

// weights are what a concept says for a decision record, or against one. The
// words of a concept count once in a clause, those of twice up to two times.
var weights = map[concept]int{
	mention: 5, migration: 4, dependency: 3, concern: 3, quality: 3, technology: 2, shift: 2, part: 1, build: 2,
	minor: -2, trivial: -6, repair: -6,
}

var twice = []concept{concern, quality, technology, minor}

// verbs are the concepts of what is to be done.
var verbs = []concept{shift, build, touch, repair, migration}

// knownWeight is the weight of what has a decision already.
const knownWeight = 5

// enough is the weight from which a clause needs a record.
const enough = 3

// reasons are the concepts that a verdict may name, the most telling first.
var reasons = []struct {
	concept
	why string
}{
	{migration, "a migration or cross-cutting change"},
	{dependency, "a new dependency"},
	{mention, "architecture, strategy or approach"},
	{concern, "a category of architecture"},
	{quality, "a quality of the whole system"},
	{technology, "a technology that comes or goes"},
	{shift, "a part that is replaced or separated"},
}

// weigh returns why a clause needs a record, or nothing. Known finds what has a
// decision already; nil is nothing.
func weigh(clause string, known *regexp.Regexp) string {
	for _, piece := range pieces(clause) {
		found := words().read(piece)
		if named.MatchString(piece) {
			found = append(found, technology)
		}
		touchesKnown := known != nil && known.MatchString(piece)
		if sum(found, touchesKnown) < enough {
			continue
		}
		if touchesKnown {
			return "a category that has a decision already"
		}
		for _, r := range reasons {
			if slices.Contains(found, r.concept) {
				return r.why
			}
		}
		return "several parts of the system"
	}
	return ""
}

func sum(found []concept, touchesKnown bool) int {
	total := 0
	if touchesKnown {
		total = knownWeight
	}
	seen := map[concept]int{}
	for _, c := range found {
		if seen[c]++; seen[c] == 1 || seen[c] == 2 && slices.Contains(twice, c) {
			total += weights[c]
		}
	}
	return total
}

// named finds the name of a technology that the vocabulary does not know: a word
// with a capital after a verb that brings something in, or Latin letters after
// such a verb of Chinese or Japanese. German writes all nouns like that.
var named = regexp.MustCompile(`\bREST\b|\b(?:[Uu]se|[Uu]sing|[Aa]dopt|[Ii]ntroduce|[Ii]ntegrate|via|through|[Uu]tiliser|[Aa]dopter|[Ii]ntégrer)\s+[A-Z][a-z]\w+\b|[用入接]\s*[A-Z][a-z]\w+\b`)

// conjunction joins two things to do, or two objects of one.
var conjunction = regexp.MustCompile(`(?i)\s+(?:und|sowie|et|puis|y)\s+|[,;]\s+|[，；。、！？]`)

// pieces returns the clause and, if it says several things to do, each of them:
// "Stripe einführen und die Doku anpassen". A piece without a verb belongs to
// the one before it.
func pieces(clause string) []string {
	var all []string
	var open strings.Builder
	acts := false
	for _, piece := range conjunction.Split(clause, -1) {
		verb := slices.ContainsFunc(words().read(piece), func(c concept) bool { return slices.Contains(verbs, c) })
		if acts && verb {
			all = append(all, open.String())
			open.Reset()
		}
		acts = acts || verb
		open.WriteString(piece + " ")
	}
	if len(all) == 0 {
		return []string{clause}
	}
	return append([]string{clause}, append(all, open.String())...)
}

// says reports whether text has a word of a concept.
func says(text string, c concept) bool { return slices.Contains(words().read(text), c) }
