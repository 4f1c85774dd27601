package knowledge

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTerms bounds the work for one question.
const maxTerms = 64

// A term is a word of a question, in the forms in which entries may have it.
type term struct {
	// word is the one that was asked.
	word  string
	forms []form
	// weight is how much the word says: rare words say more.
	weight float64
	// strange is set for a word that no entry has in any form, plain for a general or
	// everyday one, dense for a pair of characters.
	strange, plain, dense bool
}

// A form is a word of the index, and how much of the asked one it is worth.
type form struct {
	word  string
	worth float64
}

// What other words than the asked one are worth.
const (
	synonymWorth = 0.85
	nearWorth    = 0.8
)

// The weights of words that say little, and of pairs of characters that occur
// nowhere: most of those are the end of one word and the begin of another.
const (
	generalWeight = 0.3
	commonWeight  = 0.6
	verbWeight    = 0.6
	strangeWeight = 0.25
)

// terms returns the words of a question that carry a meaning, each once.
func (x *Index) terms(question string) []term {
	question = phrases.Replace(question)
	asked := words(question, false)
	l := languageOf(asked)
	if l == nil {
		l = languages[0]
	}
	nouns := l.nouns(question)
	var out []term
	seen := map[string]bool{}
	for _, w := range asked {
		if seen[w] || l.stop[w] {
			continue
		}
		seen[w] = true
		t := x.term(w)
		if nouns != nil && !nouns[w] {
			t.weight *= verbWeight
		}
		if t.weight > 0 {
			out = append(out, t)
		}
		if len(out) == maxTerms {
			break
		}
	}
	return out
}

// nouns returns the words of a German question with a capital. It is nil where
// capitals say nothing.
func (l *language) nouns(question string) map[string]bool {
	if l.stem == nil || l.name != "de" {
		return nil
	}
	fields := strings.Fields(question)
	var capital []string
	for i, f := range fields {
		if r, _ := utf8.DecodeRuneInString(f); unicode.IsUpper(r) && i > 0 {
			capital = append(capital, words(f, false)...)
		}
	}
	if capital == nil {
		return nil
	}
	return set(strings.Join(capital, " "))
}

func (x *Index) term(w string) term {
	t := term{word: w}
	add := func(word string, worth float64) {
		if x.known[word] > 0 && !slices.ContainsFunc(t.forms, func(f form) bool { return f.word == word }) {
			t.forms = append(t.forms, form{word, worth})
		}
	}
	stems := x.stems(w)
	for _, stem := range stems {
		add(stem, 1)
	}
	if len(t.forms) == 0 {
		for _, stem := range x.stems(umlauts.Replace(w)) {
			add(stem, 1)
		}
	}
	own := len(t.forms)
	for _, stem := range stems {
		for _, s := range synonyms[stem] {
			for _, other := range x.stems(s) {
				add(other, synonymWorth)
			}
		}
	}
	if len(t.forms) == 0 {
		for _, near := range x.near(stems) {
			add(near, nearWorth)
		}
	}
	if own == 0 {
		own = len(t.forms)
	}
	most := 0
	for _, f := range t.forms[:own] {
		most = max(most, x.known[f.word])
	}
	t.weight = x.rarity(max(most, 1)) // a strange word says as much as the rarest that is known
	t.strange = most == 0
	r, _ := utf8.DecodeRuneInString(w)
	t.plain, t.dense = general[w] || common[w], unicode.IsOneOf(dense, r)
	switch {
	case general[w] && most == 0:
		t.weight = 0
	case general[w]:
		t.weight *= generalWeight
	case common[w]:
		t.weight *= commonWeight
	case most == 0 && t.dense:
		t.weight *= strangeWeight
	}
	return t
}

// otherWords is what a strange word weighs if it is taken for another word of what the
// entry says, such as "screeching" for "squealing".
const otherWords = 0.7

// softened returns the terms with strange words worth less.
func softened(terms []term) []term {
	out := slices.Clone(terms)
	for i := range out {
		if out[i].strange {
			out[i].weight *= otherWords
		}
	}
	return out
}

// stems returns a word as each language of the texts would have it.
func (x *Index) stems(w string) []string {
	var out []string
	for _, l := range x.languages {
		if s := l.stemmed(w); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// The least lengths, in bytes, for words to be compared by their letters, and
// how many words of the index may stand for one.
const (
	minTypo   = 5
	minLong   = 8
	minShared = 5
	minFirst  = 4 // the first part of a compound
	maxNear   = 8
)

// umlauts are vowels as they are written without umlauts.
var umlauts = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u")

// near returns words of the index that are nearly one of the stems: with a typo,
// or with the stem as their begin or end, as in compounds.
func (x *Index) near(stems []string) []string {
	var typos, shared []string
	for known := range x.known {
		for _, s := range stems {
			if isTypo(s, known) {
				typos = append(typos, known)
				break
			}
			if isPart(s, known) {
				shared = append(shared, known)
				break
			}
		}
	}
	found := typos
	if len(found) == 0 {
		found = shared
	}
	slices.SortFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(x.known[b], x.known[a]), strings.Compare(a, b))
	})
	return found[:min(len(found), maxNear)]
}

// isTypo reports whether one word may be the other with a typo. In a short word
// another letter makes another word: light and night.
func isTypo(a, b string) bool {
	if len(a) < minTypo || len(b) < minTypo || a[0] != b[0] {
		return false
	}
	most := 1
	if len(a) >= minLong {
		most = 2
	}
	if d := distance(a, b, most); d > most {
		return false
	}
	return len(a) >= minLong || len(a) != len(b) || sameLetters(a, b)
}

// sameLetters reports whether two words have the same letters in some order.
func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return string(x) == string(y)
}

// isPart reports whether one word is a part of the other, and at least two fifths
// of it: its begin, or its end as in compounds.
func isPart(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) < minShared || 5*len(a) < 2*len(b) {
		return false
	}
	return strings.HasPrefix(b, a) || len(b)-len(a) >= minFirst && strings.HasSuffix(b, a)
}

// distance is how many letters must be added, removed, replaced or swapped with
// a neighbour to make a of b. It is only right up to most.
func distance(a, b string, most int) int {
	if d := len(a) - len(b); d > most || -d > most {
		return most + 1
	}
	two, one, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(one[j]+1, now[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], two[j-2]+1)
			}
			least = min(least, now[j])
		}
		if least > most {
			return most + 1
		}
		two, one, now = one, now, two
	}
	return one[len(b)]
}
