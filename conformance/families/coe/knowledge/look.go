package knowledge

import (
	"regexp"
	"strings"
	"unicode"
)

// A Trace is where a text speaks of a statement.
type Trace struct {
	// Share is how many of the statement's words that carry a meaning the text has,
	// from 0 to 1.
	Share float64
	// Line is the line of the text, from 1, that has most of them, and Text what it says.
	Line int
	Text string
	// Missing are the words that the text lacks. A number is also missing where no line has
	// it with another word of the statement.
	Missing []string
	// Numberless is set when a number is missing.
	Numberless bool
	// Denied is set when the statement denies something and Text does not, or Text does and
	// the statement does not.
	Denied bool
}

// denials are the words that turn a statement round, by language.
var denials = map[string]map[string]bool{
	"en": set(`not no never none without cannot can't don't doesn't isn't aren't won't mustn't shouldn't nothing nobody neither`),
	"de": set(`nicht kein keine keinem keinen keiner keines nie niemals ohne nichts niemand`),
	"fr": set(`ne pas jamais sans aucun aucune rien`),
	"es": set(`no nunca jamás sin ningún ninguna nada`),
}

// thousands are the marks between the digits of a number: 10,000 and 10_000.
var thousands = regexp.MustCompile(`(\d)[,_](\d{3})\b`)

// measures are what may follow a number without a blank.
var measures = set(times + " " + lengths + " " + sizes)

// digits returns the number of a word that is one, with or without its unit: 200 of
// 200ms. It is empty for other words.
func digits(word string) string {
	unit := strings.TrimLeftFunc(word, unicode.IsDigit)
	if unit != "" && !measures[unit] {
		return ""
	}
	return strings.TrimSuffix(word, unit)
}

// Look looks for the words of a statement in a text, by their stems and also within
// names: "color" is in setColors.
func Look(statement, text string) Trace {
	asked := words(thousands.ReplaceAllString(statement, "$1$2"), false)
	l := languageOf(asked)
	if l == nil {
		l = languages[0]
	}
	stems := map[string]string{} // by stem, the word
	var order []string
	denied := false
	for _, w := range asked {
		denied = denied || denials[l.name][w]
		if n := digits(w); n != "" {
			w = n
		}
		if s := l.stemmed(w); !l.stop[w] && !general[w] && stems[s] == "" {
			stems[s] = w
			order = append(order, s)
		}
	}
	if len(order) == 0 {
		return Trace{}
	}
	var t Trace
	all, most, n := map[string]bool{}, 0, 0
	for line := range strings.Lines(text) {
		n++
		here, denies := map[string]bool{}, false
		for _, w := range words(thousands.ReplaceAllString(line, "$1$2"), true) {
			written := l.stemmed(w)
			denies = denies || denials[l.name][w]
			for _, s := range order {
				if s == written || s == digits(w) || digits(s) == "" && isPart(s, written) { // withdraw and withdrawn
					here[s] = true
				}
			}
		}
		for s := range here {
			all[s] = all[s] || digits(s) == "" || len(here) > 1 || len(order) == 1
		}
		if len(here) > most || len(here) == most && most > 0 && t.Denied && denies == denied {
			most, t.Line, t.Text, t.Denied = len(here), n, strings.TrimRight(line, "\r\n"), denies != denied
		}
	}
	for _, s := range order {
		if !all[s] {
			t.Missing = append(t.Missing, stems[s])
			t.Numberless = t.Numberless || digits(s) != ""
		}
	}
	t.Share = 1 - float64(len(t.Missing))/float64(len(order))
	return t
}
