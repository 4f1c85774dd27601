package decide

import (
	"bufio"
	"bytes"
	"embed"
	"io/fs"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A concept is what a word or a phrase says about a request. The vocabulary
// lists the words of each concept, in a file for every language.
type concept string

//go:embed vocabulary/*.txt
var files embed.FS

// A term is a word or a phrase of the vocabulary. A token of it may begin or
// end with * for any letters: German writes compounds, and verbs have forms.
// The tokens after a gap may follow up to maxGap tokens later.
type term struct {
	concept concept
	topic   string // what a decision about it is about, see [Topics]; may be empty
	tokens  []string
	gap     int // the tokens before the gap; all of them when there is none
	letters int
}

const (
	gapSign = ".."
	maxGap  = 6
)

// A vocabulary is its terms by their first token. If that has a *, the key is
// its first letter and a *, or nothing if it begins with the *.
type vocabulary map[string][]term

var words = sync.OnceValue(func() vocabulary { return load(files) })

// load reads the files of a vocabulary: "[concept]" or "[concept topic]", then
// its terms, separated by commas.
func load(from fs.FS) vocabulary {
	v := vocabulary{}
	names, err := fs.Glob(from, "vocabulary/*.txt")
	if err != nil {
		panic(err) // the pattern is constant
	}
	for _, name := range names {
		data, err := fs.ReadFile(from, name)
		if err != nil {
			panic(err) // it is part of the program
		}
		var current term
		for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
			line := strings.TrimSpace(lines.Text())
			switch {
			case strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "["):
				of, topic, _ := strings.Cut(strings.Trim(line, "[]"), " ")
				current = term{concept: concept(of), topic: topic}
			default:
				for text := range strings.SplitSeq(line, ",") {
					v.add(current, text)
				}
			}
		}
	}
	return v
}

// add adds a term with the concept and the topic of t.
func (v vocabulary) add(t term, text string) {
	for part := range strings.SplitSeq(text, gapSign) {
		t.gap = len(t.tokens)
		t.tokens = append(t.tokens, tokens(part)...)
	}
	if len(t.tokens) == 0 {
		return
	}
	if t.gap == 0 {
		t.gap = len(t.tokens)
	}
	for _, token := range t.tokens {
		t.letters += len([]rune(strings.Trim(token, "*")))
	}
	first := t.tokens[0]
	if strings.Contains(first, "*") {
		first = firstLetter(first)
	}
	v[first] = append(v[first], t)
}

// firstLetter returns the key of the terms that may fit a token by a *.
func firstLetter(token string) string {
	r, _ := utf8.DecodeRuneInString(token)
	if r == '*' {
		return ""
	}
	return string(r) + "*"
}

// A hit is a term that a text has, and the tokens of the text that it fits.
type hit struct {
	*term

	said []string
}

// read returns the concepts of a text in their order.
func (v vocabulary) read(text string) []concept {
	var found []concept
	for _, h := range v.hits(text) {
		found = append(found, h.concept)
	}
	return found
}

// hits returns the terms of a text in their order. Where several fit, the longest
// one counts: "crash reporting" is no crash.
func (v vocabulary) hits(text string) []hit {
	var found []hit
	left := tokens(text)
	for len(left) > 0 {
		var best *term
		for _, terms := range [][]term{v[left[0]], v[firstLetter(left[0])], v[""]} {
			for i := range terms {
				if t := &terms[i]; (best == nil || t.letters > best.letters) && t.begins(left) {
					best = t
				}
			}
		}
		if best == nil {
			left = left[1:]
			continue
		}
		found = append(found, hit{best, left[:best.gap]})
		left = left[best.gap:]
	}
	return found
}

// begins reports whether text begins with the term.
func (t *term) begins(text []string) bool {
	before, after := t.tokens[:t.gap], t.tokens[t.gap:]
	if !match(before, text) {
		return false
	}
	if len(after) == 0 {
		return true
	}
	text = text[len(before):]
	for skip := 0; skip <= min(maxGap, len(text)); skip++ {
		if match(after, text[skip:]) {
			return true
		}
	}
	return false
}

func match(pattern, text []string) bool {
	if len(pattern) > len(text) {
		return false
	}
	for i, p := range pattern {
		if !fits(p, text[i]) {
			return false
		}
	}
	return true
}

func fits(pattern, token string) bool {
	core, anyEnd := strings.CutSuffix(pattern, "*")
	core, anyBegin := strings.CutPrefix(core, "*")
	switch {
	case anyBegin && anyEnd:
		return strings.Contains(token, core)
	case anyBegin:
		return strings.HasSuffix(token, core)
	case anyEnd:
		return strings.HasPrefix(token, core)
	}
	return token == core
}

// tokens splits text into words in lower case without accents. What is written
// without blanks between words is split into its characters.
func tokens(text string) []string {
	var all []string
	begin := -1
	plain := []rune(fold(text))
	end := func(i int) {
		if begin >= 0 {
			all = append(all, string(plain[begin:i]))
		}
		begin = -1
	}
	for i, r := range plain {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー':
			end(i)
			all = append(all, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '*' || r == '+':
			if begin < 0 {
				begin = i
			}
		default:
			end(i)
		}
	}
	end(len(plain))
	return all
}

// fold returns text in lower case, without accents, and with full-width letters
// as plain ones.
func fold(text string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(text)) {
		switch {
		case r == 'ß':
			b.WriteString("ss")
		case !unicode.Is(unicode.Mn, r):
			b.WriteRune(r)
		}
	}
	return b.String()
}
