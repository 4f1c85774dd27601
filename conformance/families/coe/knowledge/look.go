package knowledge

import "strings"

// A Trace is where a text speaks of a statement.
type Trace struct {
	// Share is how many of the statement's words that carry a meaning the text has,
	// from 0 to 1.
	Share float64
	// Line is the line of the text, from 1, that has most of them, and Text what it says.
	Line int
	Text string
	// Missing are the words that the text lacks.
	Missing []string
}

// Look looks for the words of a statement in a text, by their stems and also within
// names: "color" is in setColors.
func Look(statement, text string) Trace {
	asked := words(statement, false)
	l := languageOf(asked)
	if l == nil {
		l = languages[0]
	}
	stems := map[string]string{} // by stem, the word
	var order []string
	for _, w := range asked {
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
		here := map[string]bool{}
		for _, w := range words(line, true) {
			written := l.stemmed(w)
			for _, s := range order {
				if s == written || isPart(s, written) { // withdraw and withdrawn
					all[s], here[s] = true, true
				}
			}
		}
		if len(here) > most {
			most, t.Line, t.Text = len(here), n, strings.TrimRight(line, "\r\n")
		}
	}
	for _, s := range order {
		if !all[s] {
			t.Missing = append(t.Missing, stems[s])
		}
	}
	t.Share = float64(len(all)) / float64(len(order))
	return t
}
