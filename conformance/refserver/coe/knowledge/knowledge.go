// Package knowledge is what the answer team knows: the decisions of the plan,
// searched by words. Equal questions always get equal answers.
package knowledge

import (
	_ "embed"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sure is the confidence from which on an answer counts as one (tools.md §3.2).
const Sure = 0.7

// best is the confidence in an answer to a question all of whose words the plan
// knows; unsure is the most for a question the plan leaves open.
const (
	best   = 0.98
	unsure = 0.35
)

//go:embed knowledge.json
var shipped []byte

// A Base is the plan's decisions.
type Base struct {
	Source  string  `json:"source"`
	Version string  `json:"version"`
	Entries []Entry `json:"entries"`
}

// An Entry is one decision, or one that the plan leaves open.
type Entry struct {
	Section     string     `json:"section"`
	Keywords    []string   `json:"keywords"`
	Answer      string     `json:"answer"`
	Quote       string     `json:"quote"`
	Lines       []int      `json:"lines"`
	Open        bool       `json:"open"`
	Uncertainty string     `json:"uncertainty"`
	Guidance    *Guidance  `json:"guidance"`
	Related     []string   `json:"related"`
	Decisions   []Decision `json:"decisions"`
}

// Guidance is advice on how to follow a decision.
type Guidance struct {
	Implementation string            `json:"implementation,omitempty"`
	Animation      string            `json:"animation,omitempty"`
	Accessibility  string            `json:"accessibility,omitempty"`
	Examples       map[string]string `json:"examples,omitempty"`
}

// A Decision is a record of what was decided.
type Decision struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Decision string `json:"decision"`
	Date     string `json:"date"`
}

// Shipped returns the knowledge built in, about the sample plan.
func Shipped() *Base {
	var b Base
	if err := json.Unmarshal(shipped, &b); err != nil { // the file is part of the program
		panic(err)
	}
	return &b
}

// An Answer is what the plan says to a question.
type Answer struct {
	// Entry is the decision the question comes nearest to; nil when none of its
	// words occurs in the plan.
	Entry *Entry
	// Confidence is from 0 to 1, with two decimals.
	Confidence float64
}

// Sure says whether the answer may be relied on.
func (a Answer) Sure() bool { return a.Confidence >= Sure }

// Search finds the decision that knows most words of a question. A hint of
// terms with "|" between them narrows the search, if a decision knows any.
func (b *Base) Search(question, hint string) Answer {
	asked := words(question)
	if len(asked) == 0 {
		return Answer{}
	}
	terms := strings.FieldsFunc(strings.ToLower(hint), func(r rune) bool { return r == '|' })
	narrow := slices.ContainsFunc(b.Entries, func(e Entry) bool { return e.matches(terms) })
	var found Answer
	for i := range b.Entries {
		e := &b.Entries[i]
		if narrow && !e.matches(terms) {
			continue
		}
		// Of two that know as much, the one left open wins: a question about an
		// open decision must not be answered with its neighbour.
		c := e.confidence(asked)
		if c > found.Confidence || c == found.Confidence && c > 0 && e.Open {
			found = Answer{Entry: e, Confidence: c}
		}
	}
	if found.Entry != nil && found.Entry.Open {
		found.Confidence = min(found.Confidence, unsure)
	}
	return found
}

func (e *Entry) confidence(asked []string) float64 {
	known := 0
	for _, w := range asked {
		if slices.ContainsFunc(e.Keywords, func(k string) bool { return akin(w, k) }) {
			known++
		}
	}
	// Faster than linear: half of the words is far less than half an answer.
	share := float64(known) / float64(len(asked))
	return math.Round(100*best*math.Pow(share, 1.5)) / 100
}

func (e *Entry) matches(terms []string) bool {
	for _, t := range terms {
		t = strings.TrimSpace(t)
		if t == "" {
			continue
		}
		if strings.Contains(strings.ToLower(e.Section), t) || slices.ContainsFunc(e.Keywords, func(k string) bool { return akin(t, k) }) {
			return true
		}
	}
	return false
}

// akin says whether two words have the same stem: collapse and collapses.
func akin(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || utf8.RuneCountInString(a) >= 4 && len(b)-len(a) <= 3 && strings.HasPrefix(b, a)
}

// maxWords bounds the work for one question.
const maxWords = 200

// words returns the words of a question that carry a meaning, each once.
func words(question string) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(strings.ToLower(question), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if !slices.Contains(stopWords, w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
		if len(out) == maxWords {
			break
		}
	}
	return out
}

var stopWords = strings.Fields(`a an and any are as at be by can could do does for from has have how i if in into is it its may me
	must my need of on or our please shall should so that the their there these this to use used using was we what when where
	which who why will with would you your`)
