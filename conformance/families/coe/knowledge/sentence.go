package knowledge

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// together reports whether a statement of a quote has all words that count for a question
// for a yes or a no: "Diesel is sold. The pump was replaced." says nothing about replaced
// diesel.
func (x *Index) together(j *judged, a *asked) bool {
	return slices.ContainsFunc(statements(j.quote.text), func(s string) bool {
		has := x.stemsOf(s)
		maps.Copy(has, j.heads)
		return len(absent(a.terms, has, telling)) == 0
	})
}

// numbered reports whether a quote has each number of a question with the word that comes
// after it there: 40 tons, not 20.
func (x *Index) numbered(j *judged, a *asked) bool {
	all := words(j.quote.text, false)
	for i := range len(a.terms) - 1 {
		number, thing := a.terms[i].word, a.terms[i+1:i+2]
		if digits(number) == "" || !strings.Contains(a.words, " "+number+" "+thing[0].word+" ") {
			continue
		}
		found := false
		for at, w := range all {
			found = found || w == number && covered(thing, x.stemsOf(strings.Join(all[at+1:min(len(all), at+1+between)], " "))) > 0
		}
		if !found {
			return false
		}
	}
	return true
}

// statements are sentences. One that refers to the one before belongs to it, and so do
// items of a list.
func statements(text string) []string {
	var out []string
	add := func(s string) {
		if n := len(out); n > 0 && back.MatchString(s) {
			out[n-1] += s
		} else {
			out = append(out, s)
		}
	}
	from := 0
	for _, at := range fullStop.FindAllStringIndex(text, -1) {
		if r, _ := utf8.DecodeRuneInString(text[at[1]:]); !unicode.IsLower(r) { // but e.g. this
			add(text[from:at[1]])
			from = at[1]
		}
	}
	add(text[from:])
	return out
}

var (
	fullStop = regexp.MustCompile(`[.!?][*_)"”»]*\s+`)
	// back matches sentences that speak of what the one before names.
	back = regexp.MustCompile(`\b(?i:it|its|they|their|them)\b` +
		`|^(?:This|That|These|Those|Er|Sie|Es|Ihre?|Dies|Diese[rs]?|Il|Elle|Ils|Elles|Cela|Ce|Esto|Est[ea])\b`)
)
