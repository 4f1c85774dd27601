package decide

import (
	"regexp"
	"strings"
)

// A request is judged clause by clause: "Migrate to Redis and adjust config"
// asks for two things, and that one of them needs no ADR says nothing about
// the other.

var (
	// separator is where a clause may end; whether it does, its continuation
	// says.
	separator = regexp.MustCompile(`(?i)(?:,?\s+(?:(?:and|then|but|plus)\s+)+|[.!?;:,]\s+|\n|\s+[-–—]\s+)`)
	// preface is a circumstance that is said first: "in the cache, fix x".
	preface = regexp.MustCompile(`(?i)^(?:in|for|on|at|within|inside|when|if|as|from|after|before|since)\b[^,]*,?\s*`)
	// preamble is what people put before the verb.
	preamble = regexp.MustCompile(`(?i)^(?:(?:please|kindly|also|then|now|let['’]?s|we|i|you|should|must|can|could|` +
		`(?:need|needs|want|wants|have|has|would like) to)\s+)+`)
	// action begins a clause: it says what is to be done.
	action = regexp.MustCompile(`(?i)^(?:` + building + `|` + fixing + `|` + refactoring + `|` + changing + `|` +
		`move|touch|use|make|write|remove|delete|drop|rework|need|want|require)\b`)
)

// clauses splits text into what is to be done. A piece that begins with no
// action goes on with the one before it: "fix the login, the cache".
func clauses(text string) []string {
	var found []string
	begin := 0
	add := func(end int) {
		if s := strings.Trim(text[begin:end], " \t\r\n.,;:!?"); s != "" {
			found = append(found, s)
		}
	}
	for _, at := range separator.FindAllStringIndex(text, -1) {
		open := preface.FindString(text[begin:]) // with its comma, if it has one
		if at[0] <= begin || begin+len(open) >= at[1] || !action.MatchString(withoutPreamble(text[at[1]:])) {
			continue
		}
		add(at[0])
		begin = at[1]
	}
	add(len(text))
	return found
}

func withoutPreamble(text string) string {
	return strings.TrimSpace(preamble.ReplaceAllString(strings.TrimSpace(text), ""))
}
