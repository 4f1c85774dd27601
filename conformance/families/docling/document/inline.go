package document

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The texts of an inline group are stored without the white space around them,
// as other writers do it, and readers guess by SpaceBetween where spaces were.
// The Builder keeps a space where readers would leave it out, and moves the part
// of a word to its other part where they would put one in.

// SpaceBetween reports whether a space separates two texts of an inline group:
// where one is stored, and else where punctuation and scripts, as in H₂O, do not
// speak against it.
func SpaceBetween(left, right string, l, r *Formatting) bool {
	if left == "" || right == "" {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(left)
	first, _ := utf8.DecodeRuneInString(right)
	switch {
	case unicode.IsSpace(last), unicode.IsSpace(first):
		return true
	case scripted(l), scripted(r), unspaced(last), unspaced(first):
		return false
	}
	return !strings.ContainsRune(".,;:!?)]}", first) && !strings.ContainsRune("([{", last)
}

func scripted(f *Formatting) bool {
	return f != nil && f.Script != "" && f.Script != Baseline
}

// unspaced reports whether a character is of a writing without spaces.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// maxFragment bounds the part of a word that moves, in bytes.
const maxFragment = 64

// spaced trims runs so that readers find the spaces that were between them.
func spaced(runs []Run) []Run {
	var out []Run
	for _, next := range runs {
		out = append(out, next)
		for n := len(out); n > 1 && whole(&out[n-2], &out[n-1]); n = len(out) {
			if out[n-2].Text == "" {
				out[n-2] = out[n-1]
			}
			out = out[:n-1]
		}
	}
	for i := range out {
		trimmed := strings.TrimSpace(out[i].Text)
		if i > 0 {
			before := &out[i-1]
			stored := strings.TrimRightFunc(before.Text, unicode.IsSpace)
			space := len(stored) < len(before.Text) || !strings.HasPrefix(out[i].Text, trimmed)
			switch {
			case !space || SpaceBetween(stored, trimmed, before.Formatting, out[i].Formatting):
			case before.Formatting == nil:
				stored += " "
			default:
				trimmed = " " + trimmed
			}
			before.Text = stored
		}
		out[i].Text = trimmed + out[i].Text[len(strings.TrimRightFunc(out[i].Text, unicode.IsSpace)):]
	}
	if n := len(out); n > 0 {
		out[n-1].Text = strings.TrimRightFunc(out[n-1].Text, unicode.IsSpace)
	}
	return out
}

// whole moves the part of a word to its other part, if readers would take them
// for two words. It reports whether one of the runs is empty after that. A link
// takes what it touches, and two links stay what they are.
func whole(left, right *Run) bool {
	if !SpaceBetween(left.Text, right.Text, left.Formatting, right.Formatting) || left.Label != right.Label || left.Label != "" ||
		left.Hyperlink != "" && right.Hyperlink != "" && left.Hyperlink != right.Hyperlink {
		return false
	}
	tail := left.Text[len(strings.TrimRightFunc(left.Text, notSpace)):]
	head := right.Text[:len(right.Text)-len(strings.TrimLeftFunc(right.Text, notSpace))]
	forward := letters(tail) < letters(head)
	if left.Hyperlink != right.Hyperlink {
		forward = right.Hyperlink != ""
	}
	switch {
	case tail == "" || head == "": // there is a space
	case forward && len(tail) <= maxFragment:
		left.Text, right.Text = strings.TrimSuffix(left.Text, tail), tail+right.Text
	case !forward && len(head) <= maxFragment:
		left.Text, right.Text = left.Text+head, strings.TrimPrefix(right.Text, head)
	}
	return left.Text == "" || right.Text == ""
}

func letters(text string) int {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

func notSpace(r rune) bool { return !unicode.IsSpace(r) }
