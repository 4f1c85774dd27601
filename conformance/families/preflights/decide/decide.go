// Package decide says whether a request needs an architecture decision record
// (tools.md §5.2, S3-ADR-01 to -05). It knows words, not meaning: what is to be
// done (add, replace, split, fix), and to what (a login, a database, a button),
// in six languages. The words are in the folder vocabulary, and weigh.go says
// what they count. A caller who knows better sets force_adr.
package decide

import (
	"regexp"
	"slices"
	"strings"
)

// A Request is what the decision is made from.
type Request struct {
	Intention string
	Context   string
	ForceADR  bool
	// Judged is the judgement of a language model; nil is none.
	Judged *bool
	// Known are the categories that the architecture has already, each with
	// the words by which it is meant.
	Known map[string][]string
}

// A Verdict is the decision and why it was made.
type Verdict struct {
	ADR    bool
	Reason string
}

// Decide returns the verdict. force_adr and an explicit request win, then the
// judgement of a language model. Without one the rule decides: what never needs
// an ADR is taken away, and what is left is weighed. The exemptions are for
// requests that ask for nothing else (S3-ADR-04). A word such as "strategy" is
// weaker than a bug fix: "fix the retry strategy's typo" asks for no decision.
// The decision_hint of a language model never decides (S3-ADR-05).
func Decide(r Request) Verdict {
	context := words().read(r.Context)
	switch {
	case r.ForceADR:
		return Verdict{true, "force_adr"}
	case slices.Contains(context, ask) || slices.Contains(words().read(r.Intention), ask):
		return Verdict{true, "an ADR is asked for"}
	case r.Judged != nil:
		return Verdict{*r.Judged, "the judgement of the language model"}
	}
	left, why := rest(r.Intention)
	if len(left) == 0 && why != "" {
		return Verdict{false, why}
	}
	if manyFiles(strings.Join(left, "\n")) || manyFiles(r.Context) {
		return Verdict{true, "ten files or more"}
	}
	known := r.known()
	for _, clause := range append([]string{strings.Join(left, "\n")}, left...) { // two halves may make one whole
		if why := weigh(clause, known); why != "" {
			return Verdict{true, why}
		}
	}
	for _, reason := range reasons[:2] { // a context describes much, and asks for little of it
		if slices.Contains(context, reason.concept) {
			return Verdict{true, reason.why}
		}
	}
	return Verdict{false, "nothing that shapes the architecture"}
}

// known returns what finds the categories that have a decision, nil for none. The
// words are those of a file that anybody may have written: bytes that are no UTF-8
// are no part of them.
func (r Request) known() *regexp.Regexp {
	var names []string
	for _, words := range r.Known {
		for _, name := range words {
			if name = strings.ToValidUTF8(name, ""); name != "" {
				names = append(names, regexp.QuoteMeta(name))
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return anyOf(strings.Join(names, "|"))
}

func anyOf(alternatives string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + alternatives + `)\b`)
}
