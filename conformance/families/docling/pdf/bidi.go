package pdf

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// firstFromRight is the first sign of a script that runs from the right.
const firstFromRight = 0x590

// reorder puts pieces of text that stand from left to right on a line into the
// order they are read in. It undoes the Unicode bidirectional algorithm, as far
// as what it did can be seen. Where most text of the page runs from the right, so does a
// line of both directions.
func reorder(pieces []string, pageFromRight bool) string {
	if plain := strings.Join(pieces, ""); !pageFromRight && !strings.ContainsFunc(plain, func(r rune) bool { return r >= firstFromRight }) {
		return plain
	}
	classes := make([]bidi.Class, len(pieces))
	left, right := 0, 0
	first, last := bidi.ON, bidi.ON // of letters
	for i, p := range pieces {
		classes[i] = classOf(p)
		switch {
		case classes[i] == bidi.L:
			left++
		case fromRight(classes[i]):
			right++
		default:
			continue
		}
		if last = classes[i]; first == bidi.ON {
			first = last
		}
	}
	if right == 0 && (left > 0 || !pageFromRight) { // the number of a list item runs from the right, too
		return strings.Join(pieces, "")
	}
	// A line with a long Latin name in it has both its ends from the right.
	ends := fromRight(first) && fromRight(last) && right*fewLetters >= left
	foreign := first == bidi.L && last == bidi.L && right*fewLetters < left
	return visual{pieces, classes, islands(classes)}.logical(ends || right > left || pageFromRight && !foreign)
}

// fewLetters is how many times as many Latin letters a line that runs from the
// right may have.
const fewLetters = 4

// runsFromRight says that most letters of texts are of a script that runs from
// the right.
func runsFromRight(texts ...string) bool {
	var n directions
	for _, text := range texts {
		n.add(text)
	}
	return n.right > n.left
}

// directions counts letters by the direction of their script.
type directions struct{ left, right int }

func (n *directions) add(text string) {
	for _, r := range text {
		if r < 0x80 { // most are
			if r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
				n.left++
			}
			continue
		}
		p, _ := bidi.LookupRune(r)
		switch {
		case p.Class() == bidi.L:
			n.left++
		case fromRight(p.Class()):
			n.right++
		}
	}
}

// markDirection tells glyphs of a page on which most letters run from the right so.
func markDirection(glyphs []glyph) {
	var n directions
	for i := range glyphs {
		n.add(glyphs[i].text)
	}
	if n.right <= n.left {
		return
	}
	for i := range glyphs {
		glyphs[i].fromRight = true
	}
}

// classOf is the class of the first sign of a text that is no mark.
func classOf(text string) bidi.Class {
	for _, r := range text {
		p, _ := bidi.LookupRune(r)
		if c := p.Class(); c != bidi.NSM {
			return c
		}
	}
	return bidi.ON
}

func fromRight(c bidi.Class) bool { return c == bidi.R || c == bidi.AL }

func isDigit(c bidi.Class) bool { return c == bidi.EN || c == bidi.AN }

// A visual is pieces of text from left to right, and their classes.
type visual struct {
	pieces  []string
	classes []bidi.Class
	islands []int // where the island of Latin words begins that a piece is in, or -1
}

// islands finds the Latin words between letters that run from the right: all
// from the first letter or digit on, where there is a Latin letter at all.
func islands(classes []bidi.Class) []int {
	out := make([]int, len(classes))
	for from := 0; from < len(classes); {
		first, words, to := -1, false, from
		for ; to < len(classes) && !fromRight(classes[to]); to++ {
			words = words || classes[to] == bidi.L
			if first < 0 && (classes[to] == bidi.L || isDigit(classes[to])) {
				first = to
			}
		}
		if !words {
			first = -1
		}
		for i := from; i < to; i++ {
			out[i] = first
		}
		from = to + 1
	}
	return out
}

// logical is the text in reading order, of a line that runs from the right or
// from the left.
func (l visual) logical(fromTheRight bool) string {
	var out strings.Builder
	if fromTheRight {
		l.backwards(&out, 0, len(l.pieces))
		return out.String()
	}
	for i := 0; i < len(l.pieces); {
		if !fromRight(l.classes[i]) {
			out.WriteString(l.pieces[i])
			i++
			continue
		}
		end := i + 1
		for j := end; j < len(l.pieces) && l.classes[j] != bidi.L; j++ {
			if fromRight(l.classes[j]) {
				end = j + 1
			}
		}
		l.backwards(&out, i, end)
		i = end
	}
	return out.String()
}

// backwards writes the pieces from the right to the left, but for islands of
// Latin words and of numbers, which run from the left.
func (l visual) backwards(out *strings.Builder, from, to int) {
	arabic := slices.Contains(l.classes[from:to], bidi.AL)
	for at := to; at > from; {
		start := l.island(from, at, arabic)
		if start == at {
			at--
			out.WriteString(l.mirrored(at))
			continue
		}
		for _, p := range l.pieces[start:at] {
			out.WriteString(p)
		}
		at = start
	}
}

// island is where the island begins that ends before piece to, which is to where
// none does.
func (l visual) island(from, to int, arabic bool) int {
	last := l.classes[to-1]
	if last != bidi.L && !isDigit(last) && (arabic || last != bidi.ET) {
		return to
	}
	if first := l.islands[to-1]; first >= from && last != bidi.ET {
		return first
	}
	return l.number(from, to, arabic)
}

// mostSigns is how many signs, such as that of a currency, a number has at an end.
const mostSigns = 4

// number is where the number begins that ends before piece to. Among Hebrew
// letters, but not among Arabic ones, signs and percent signs belong to it.
func (l visual) number(from, to int, arabic bool) int {
	at := to
	signs := func() {
		for n := 0; n < mostSigns && !arabic && at > from && l.classes[at-1] == bidi.ET; n++ {
			at--
		}
	}
	signs()
	if at == from || !isDigit(l.classes[at-1]) {
		return to
	}
	for at > from {
		switch c := l.classes[at-1]; {
		case isDigit(c):
			at--
		case (c == bidi.CS || c == bidi.ES && !arabic) && at-2 >= from && isDigit(l.classes[at-2]):
			at -= 2
		default:
			signs()
			return at
		}
	}
	return at
}

// brackets are pairs of signs that are drawn the other way round among letters
// that run from the right.
const brackets = "()[]{}<>«»‹›≤≥"

// mirrored is piece i, of those that run from the right, as it is meant. Of a
// bracket some programs write down the one that is drawn, others the one that is
// meant: the space beside it tells which that is.
func (l visual) mirrored(i int) string {
	text := l.pieces[i]
	r, size := utf8.DecodeRuneInString(text)
	at := strings.IndexRune(brackets, r)
	if at < 0 || size != len(text) {
		return text
	}
	pair := utf8.RuneCountInString(brackets[:at]) &^ 1
	open, closed := string([]rune(brackets)[pair]), string([]rune(brackets)[pair+1])
	before, after := l.edge(i+1), l.edge(i-1)
	switch {
	case before && !after:
		return open
	case after && !before:
		return closed
	case text == open:
		return closed
	}
	return open
}

// edge says that the line ends before piece i, or that it is a space or a sign
// that ends a part of a sentence.
func (l visual) edge(i int) bool {
	return i < 0 || i >= len(l.pieces) || strings.Contains(" .,;:!?،؛؟", l.pieces[i])
}

// letters is text with the letters that are meant in place of the forms that
// they have at the beginning, within and at the end of a word.
func letters(text string) string {
	if !strings.ContainsFunc(text, presentation) {
		return text
	}
	return strings.TrimSpace(norm.NFKC.String(text))
}

func presentation(r rune) bool { return r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc }
