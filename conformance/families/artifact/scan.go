package artifact

import (
	"iter"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// A caller may send documents of many megabytes, and a regular expression reads
// some megabytes a second. So what is looked for in every document is found by
// scanning, and the expressions of a checklist read only texts that they can
// match at all.

// prefixed yields where the prefix of a type with its hyphen begins and ends, if
// something follows. No prefix ends with another, so a hyphen ends one at most.
func prefixed(text string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for at := 0; ; {
			i := strings.IndexByte(text[at:], '-')
			if i < 0 {
				return
			}
			hyphen := at + i
			at = hyphen + 1
			if at == len(text) || !inWord(text[at]) {
				continue
			}
			for _, t := range types {
				if strings.HasSuffix(text[:hyphen], t.Prefix) && !yield(hyphen-len(t.Prefix), at) {
					return
				}
			}
		}
	}
}

// references yields what begins like an id, with its offset. "US-based" and "EPIC-level" do not:
// the part after the hyphen must start with a digit or be that of a placeholder.
func references(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) { eachReference(text, yield) }
}

func eachReference(text string, yield func(int, string) bool) {
	at := 0
	for start, rest := range prefixed(text) {
		end := rest
		switch {
		case start < at || start > 0 && inWord(text[start-1]):
			continue
		case end < len(text) && isDigit(text[end]):
			for end < len(text) && inWord(text[end]) && text[end] != '_' {
				end++
			}
		case capitals(text[end:]) && (len(text) == end+3 || !inWord(text[end+3])) && isPlaceholder(text[start:end+3]):
			end += 3
		default:
			continue
		}
		if !yield(start, text[start:end]) {
			return
		}
		at = end
	}
}

// brackets yields where the innermost pairs of square brackets begin and end.
func brackets(text string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		open := -1
		for i := range len(text) {
			switch text[i] {
			case '[':
				open = i
			case ']':
				if open >= 0 && !yield(open, i+1) {
					return
				}
				open = -1
			}
		}
	}
}

// capitals reports whether text begins with three capital letters.
func capitals(text string) bool {
	if len(text) < 3 {
		return false
	}
	for i := range 3 {
		if text[i] < 'A' || text[i] > 'Z' {
			return false
		}
	}
	return true
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// inWord is what regular expressions take for a part of a word.
func inWord(b byte) bool {
	return isDigit(b) || b == '_' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}

// A pattern is a regular expression of a checklist, with a text no match is
// without.
type pattern struct {
	*regexp.Regexp
	required string
	// folded is in each match in one case or another; it is in lower case.
	folded string
	// oneOf are texts of which each match has one.
	oneOf []string
	// ofLines says that a match is within a line, and that the line is all it
	// depends on.
	ofLines bool
}

func compilePattern(expr string) (*pattern, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	p := &pattern{Regexp: re}
	if tree, err := syntax.Parse(expr, syntax.Perl); err == nil {
		p.oneOf = oneOf(tree)
		p.required, p.folded, p.ofLines = requiredOf(tree, false), requiredOf(tree, true), ofLines(tree)
	}
	return p, nil
}

// in reports whether a document has a match that, if then is not nil, a match of
// that one follows on the same line.
func (p *pattern) in(d *document, then *pattern) bool {
	if !p.mayBeIn(d) || then != nil && !then.mayBeIn(d) {
		return false
	}
	if then == nil && (!p.ofLines || p.required == "" && p.folded == "") {
		d.work += len(d.body)
		return p.MatchString(d.body)
	}
	for l := range p.lines(d) {
		d.work += len(l)
		at := p.FindStringIndex(l)
		if at != nil && (then == nil || then.hasOneOf(l[at[1]:]) && then.MatchString(l[at[1]:])) {
			return true
		}
	}
	return false
}

// lines yields the lines of a document that the pattern can match at all.
func (p *pattern) lines(d *document) iter.Seq[string] {
	text, hay, needle := d.body, d.body, p.required
	if needle == "" && len(d.lower) == len(text) && isASCII(text) {
		hay, needle = d.lower, p.folded // with the same offsets
	}
	return func(yield func(string) bool) {
		for at := 0; at < len(text); {
			i := strings.Index(hay[at:], needle)
			if i < 0 {
				return
			}
			begin := strings.LastIndexByte(text[at:at+i], '\n') + 1 + at
			end := len(text)
			if n := strings.IndexByte(text[at+i:], '\n'); n >= 0 {
				end = at + i + n
			}
			if l := text[begin:end]; p.hasOneOf(l) && !yield(l) {
				return
			}
			at = end + 1
		}
	}
}

// hasOneOf reports whether a line has one of the texts that a match needs one of.
func (p *pattern) hasOneOf(l string) bool {
	return len(p.oneOf) == 0 || slices.ContainsFunc(p.oneOf, func(s string) bool { return strings.Contains(l, s) })
}

// mayBeIn reports whether a document has what no match is without.
func (p *pattern) mayBeIn(d *document) bool {
	return strings.Contains(d.body, p.required) && strings.Contains(d.lower, p.folded)
}

// all returns the matches in a line of a document.
func (p *pattern) all(d *document, text string) []string {
	if !strings.Contains(text, p.required) {
		return nil
	}
	d.work += len(text)
	return p.FindAllString(text, maxFindings)
}

// oneOf returns the texts that an expression has a choice of, where each match
// has to choose one.
func oneOf(tree *syntax.Regexp) (texts []string) {
	switch tree.Op {
	case syntax.OpAlternate:
		for _, sub := range tree.Sub {
			s := requiredOf(sub, false)
			if len(s) < 2 { // there is one in any line
				return nil
			}
			texts = append(texts, s)
		}
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range tree.Sub {
			if texts = oneOf(sub); texts != nil {
				return texts
			}
		}
	default:
	}
	return texts
}

// ofLines reports whether nothing in an expression matches the end of a line, or
// asks for the ends of the text.
func ofLines(tree *syntax.Regexp) bool {
	switch tree.Op {
	case syntax.OpAnyChar, syntax.OpBeginText, syntax.OpEndText:
		return false
	case syntax.OpLiteral:
		return !slices.Contains(tree.Rune, '\n')
	case syntax.OpCharClass:
		for i := 0; i < len(tree.Rune); i += 2 {
			if tree.Rune[i] <= '\n' && '\n' <= tree.Rune[i+1] {
				return false
			}
		}
	default:
	}
	return !slices.ContainsFunc(tree.Sub, func(sub *syntax.Regexp) bool { return !ofLines(sub) })
}

// requiredOf returns the longest text that is certain to be in each match.
// With fold it is the longest of those in any case, in lower case.
func requiredOf(tree *syntax.Regexp, fold bool) (longest string) {
	switch tree.Op {
	case syntax.OpLiteral:
		switch folds := tree.Flags&syntax.FoldCase != 0; {
		case !fold && !folds:
			return string(tree.Rune)
		case fold && folds && isASCII(string(tree.Rune)):
			return strings.ToLower(string(tree.Rune))
		}
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return requiredOf(tree.Sub[0], fold)
		}
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range tree.Sub {
			if s := requiredOf(sub, fold); len(s) > len(longest) {
				longest = s
			}
		}
	default: // what may be empty, or one thing or another
	}
	return longest
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] > unicode.MaxASCII {
			return false
		}
	}
	return true
}
