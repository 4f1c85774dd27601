package knowledge

import (
	"fmt"
	"maps"
	"strings"
)

// The most confidence in an answer that there is a doubt about.
const (
	// lacking is for a passage that lacks what the question asks of it.
	lacking = 0.65
	// unknownSubject is for a question that does not name its subject.
	unknownSubject = 0.5
	// oneWord is for a passage that is headed by the one word of a question, or has the
	// number that was asked for of it.
	oneWord = 0.8
)

// doubt returns the most confidence that an entry deserves as the answer, and why it
// is not more. What a question asks need not be its rarest word: "encrypted" in "Are
// the dumps in the bucket encrypted?" is what counts.
func (x *Index) doubt(j *judged, a *asked) (most float64, why string) {
	has := maps.Clone(j.quoted)
	maps.Copy(has, j.heads)
	if a.needed {
		switch {
		case j.entry.Task != "" && j.entry.Task == a.task:
		case a.subject == nil:
			return unknownSubject, "the question does not name its subject"
		case covered(a.subject, j.words) < subjectShare:
			return unsure, "it is not about " + quotedWords(a.subject)
		}
	}
	missing := absent(a.terms, has, func(t *term) bool { return t.strange && !t.plain && !t.dense })
	if a.yesNo || j.entry.code { // code has many words, and says little by them
		missing = absent(a.terms, has, telling)
	}
	if len(missing) > 0 {
		return lacking, "it does not say " + quotedWords(missing)
	}
	if j.quote.text != "" && !j.entry.code {
		if !x.numbered(j, a) {
			return lacking, "its number is of something else"
		}
		if a.yesNo && !x.together(j, a) {
			return lacking, "no sentence has all of it"
		}
	}
	if a.amount != nil && !x.tells(j, a) {
		return lacking, "it gives no such number"
	}
	shared := len(a.terms) - len(absent(a.terms, has, nil))
	if shared > 1 || a.needed || j.entry.Task != "" && j.entry.Task == a.task {
		return best, ""
	}
	if len(a.terms) > 1 || a.amount == nil && covered(a.terms, j.heads) == 0 {
		return lacking, "only one word of the question is in it"
	}
	return oneWord, ""
}

// telling reports whether a word may be what a question for a yes or a no is about.
func telling(t *term) bool { return (!t.plain || common[t.word] || acts[t.word]) && !t.dense }

// subjectShare is how much of the subject an entry must have to be about it.
const subjectShare = 1. / 3

// absent returns the terms that a set of words lacks, of those that count.
func absent(terms []term, has map[string]bool, counts func(*term) bool) []term {
	var out []term
	for i := range terms {
		t := &terms[i]
		if (counts == nil || counts(t)) && covered([]term{*t}, has) == 0 {
			out = append(out, *t)
		}
	}
	return out
}

func quotedWords(terms []term) string {
	var all []string
	for _, t := range terms[:min(len(terms), 3)] {
		all = append(all, fmt.Sprintf("%q", t.word))
	}
	return strings.Join(all, ", ")
}

// acts are general words that may be what a question is about: "Can it be changed?"
var acts = set(`add allow change check find fix keep pass save support take tell try want help move`)
