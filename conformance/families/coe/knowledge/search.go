package knowledge

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
)

// Sure is the confidence from which on an answer counts as one (tools.md §3.2).
const Sure = 0.7

// best is the confidence in an answer to a question all of whose words the
// entry has; near is the least with which an entry is shown; hopeful is the most
// for an entry that is near only if strange words of the question mean what it
// says; unsure is the most for a question that is left open.
const (
	best    = 0.98
	near    = 0.3
	hopeful = 0.55
	unsure  = 0.35
)

// candidates is how many entries of the index are compared with a question,
// finalists how many of those paragraph by paragraph.
const (
	candidates = 80
	finalists  = 12
)

// An Answer is what is known about a question.
type Answer struct {
	// Entry is what the question comes nearest to; nil when none of its words
	// is known.
	Entry *Entry
	// Confidence is from 0 to 1, with two decimals.
	Confidence float64
	// Quote is the part of the entry that the question is about, and Lines are
	// its first and last line.
	Quote string
	Lines []int
	// Doubt is why the entry may not be the answer although it has words of the
	// question; empty when nothing speaks against it.
	Doubt string
}

// Near says whether the entry is worth showing although it is no sure answer.
func (a Answer) Near() bool {
	return a.Entry != nil && !a.Entry.Open && a.Confidence >= near && !a.Sure()
}

// Sure says whether the answer may be relied on.
func (a Answer) Sure() bool { return a.Confidence >= Sure }

// Search finds the entry that says most about a question.
func (x *Index) Search(ctx context.Context, q Question) (Answer, error) {
	a := x.understand(q)
	rows, err := x.rows(ctx, a, q.Hint)
	if err != nil || len(rows) == 0 {
		return Answer{}, err
	}
	around := known(append(x.terms(q.Context), x.terms(q.Subject)...))
	var fits []judged
	for i := range rows {
		j := x.judge(&rows[i], a.terms, rows[0].score)
		j.score += subjectWeight*covered(a.subject, j.words) + contextWeight*covered(around, j.heads)
		if j.entry.Task != "" && j.entry.Task == q.Task {
			j.score += taskBonus
		}
		fits = append(fits, j)
	}
	slices.SortStableFunc(fits, byScore)
	fits = fits[:min(len(fits), finalists)]
	for i := range fits {
		x.pinpoint(&fits[i], a.terms)
		if a.amount != nil && !x.tells(&fits[i], &a) {
			fits[i].score -= amountPenalty
		}
	}
	slices.SortStableFunc(fits, byScore)
	return x.answer(&fits[0], &a, rows[0].score), nil
}

// rows returns the entries that have words of a question or of its subject.
func (x *Index) rows(ctx context.Context, a asked, hint string) ([]row, error) {
	expression := match(a.terms)
	if expression == "" {
		return nil, nil
	}
	if more := match(a.subject); more != "" {
		expression += " OR " + more
	}
	if narrow := x.hinted(hint); narrow != "" {
		if rows, err := x.find(ctx, "("+expression+") AND ("+narrow+")", candidates); err != nil || len(rows) > 0 {
			return rows, err
		}
	}
	return x.find(ctx, expression, candidates)
}

// answer is what an entry is worth as an answer.
func (x *Index) answer(found *judged, asked *asked, top float64) Answer {
	soft := x.judge(found.row, softened(asked.terms), top)
	x.pinpoint(&soft, softened(asked.terms))
	sureness := max(confidence(found.coverage), min(confidence(soft.coverage), hopeful))
	a := Answer{Entry: found.entry, Confidence: math.Round(100*sureness) / 100, Quote: found.quote.text}
	if found.quote.first > 0 {
		a.Lines = []int{found.quote.first, found.quote.last}
	}
	if a.Confidence == 0 {
		return Answer{}
	}
	if a.Entry.Open {
		a.Confidence = min(a.Confidence, unsure)
	} else {
		var most float64
		most, a.Doubt = x.doubt(found, asked)
		a.Confidence = min(a.Confidence, most)
	}
	if len(a.Entry.blocks) == 0 {
		a.Quote, a.Lines = a.Entry.Quote, a.Entry.Lines
	}
	return a
}

// match is an expression of FTS5 for entries with any of the terms.
func match(terms []term) string {
	var all []string
	for _, t := range terms {
		for _, f := range t.forms {
			all = append(all, `"`+f.word+`"`)
		}
	}
	return strings.Join(all, " OR ")
}

// hinted is an expression for entries whose headings have a term of a hint.
func (x *Index) hinted(hint string) string {
	var parts []string
	for part := range strings.SplitSeq(hint, "|") {
		var all []string
		for _, t := range x.terms(part) {
			if one := match([]term{t}); one != "" {
				all = append(all, "{title heading} : ("+one+")")
			} else {
				all = nil
				break
			}
		}
		if len(all) > 0 {
			parts = append(parts, "("+strings.Join(all, " AND ")+")")
		}
	}
	return strings.Join(parts, " OR ")
}

// judged is how well an entry fits a question.
type judged struct {
	row   *row
	entry *Entry
	// has is how much of the question the entry has, coverage the same with what
	// its heading adds, and score what it is ranked by.
	has, coverage, score float64
	// heads are the words of the headings, words those of the whole entry, and quoted
	// those of the quote.
	heads, words, quoted map[string]bool
	// quote is the paragraph that has most of the question.
	quote span
}

// byScore sorts the best first. Of two that say as much, the one left open wins:
// a question about an open decision must not be answered with its neighbour.
func byScore(a, b judged) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	switch {
	case a.entry.Open == b.entry.Open:
		return 0
	case a.entry.Open:
		return -1
	}
	return 1
}

// What fits a question besides the words of the entry: how much of its rank the
// index decides, what headings add, and what a list of links is worth less.
const (
	rankWeight    = 0.30
	headingsBonus = 0.20
	subjectBonus  = 0.35
	firstBonus    = 0.04
	linksPenalty  = 0.25
	// What the question is about, what the asker is working on, and the task at hand.
	subjectWeight = 0.50
	contextWeight = 0.10
	taskBonus     = 0.15
	// amountPenalty is for an entry without the number that was asked for.
	amountPenalty = 0.30
)

// judge compares an entry with a question. top is the best score of the index.
func (x *Index) judge(r *row, terms []term, top float64) judged {
	e := &x.Base.Entries[r.id]
	all, heads := map[string]bool{}, map[string]bool{}
	for _, field := range []string{r.title, r.heading} {
		for w := range strings.FieldsSeq(field) {
			all[w], heads[w] = true, true
		}
	}
	for w := range strings.FieldsSeq(r.body) {
		all[w] = true
	}
	j := judged{row: r, entry: e, has: covered(terms, all), heads: heads, words: all, quoted: all}
	j.coverage = j.has + (1-j.has)*j.has*subjectBonus*x.subject(e, terms)
	j.score = j.coverage + rankWeight*r.score/top + headingsBonus*covered(terms, heads)
	if r.id == 0 || x.Base.Entries[r.id-1].File != e.File {
		j.score += firstBonus
	}
	if e.links {
		j.score -= linksPenalty
	}
	return j
}

// subject is how much of the entry's own heading the question names: a question
// that names all of it is about it.
func (x *Index) subject(e *Entry, terms []term) float64 {
	own := e.Section[strings.LastIndex(e.Section, " > ")+1:]
	asked := map[string]bool{}
	for _, t := range terms {
		for _, f := range t.forms {
			asked[f.word] = true
		}
	}
	var all, hit float64
	for _, t := range x.terms(own) {
		all += t.weight
		for _, f := range t.forms {
			if asked[f.word] {
				hit += t.weight
				break
			}
		}
	}
	if all == 0 {
		return 0
	}
	return hit / all
}

// covered is the share of a question, by the weight of its words, that a set of
// words has.
func covered(terms []term, has map[string]bool) float64 {
	var all, hit float64
	for _, t := range terms {
		all += t.weight
		for _, f := range t.forms {
			if has[f.word] {
				hit += t.weight * f.worth
				break
			}
		}
	}
	if all == 0 {
		return 0
	}
	return hit / all
}

// doubts are the odds against an answer that has half of the question.
const doubts = 4.4

// confidence is a number for how much of a question an entry covers. Its odds
// grow with the cube of those of the coverage: half of a question is far less
// than half an answer, and nine tenths are nearly all of one.
func confidence(coverage float64) float64 {
	has, lacks := math.Pow(coverage, 3), math.Pow(1-coverage, 3)
	return best * has / (has + doubts*lacks)
}

// scatterWeight is how much it matters whether one paragraph has the words of
// the question, together with the headings above it.
const scatterWeight = 0.3

// pinpoint finds the paragraph of an entry that the question is about. Words
// that are scattered over the entry count for less.
func (x *Index) pinpoint(j *judged, terms []term) {
	var most float64
	for i, b := range j.entry.blocks {
		has := x.stemsOf(b.text)
		own := maps.Clone(has)
		maps.Copy(has, j.heads)
		if c := covered(terms, has); i == 0 || c > most {
			most, j.quote, j.quoted = c, b, own
		}
	}
	if len(j.entry.blocks) > 0 {
		lost := scatterWeight * max(0, j.has-most)
		j.coverage, j.score = j.coverage-lost, j.score-lost
	}
}
