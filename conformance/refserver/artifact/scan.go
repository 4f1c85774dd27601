package artifact

import (
	"iter"
	"regexp"
	"regexp/syntax"
	"strings"
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

// references returns what begins like an id. "US-based" and "EPIC-level" do not:
// the part after the hyphen must start with a digit or be three capitals.
func references(text string) []string {
	var out []string
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
		case capitals(text[end:]) && (len(text) == end+3 || !inWord(text[end+3])):
			end += 3
		default:
			continue
		}
		out = append(out, text[start:end])
		at = end
	}
	return out
}

// isPlaceholder tells placeholders from the other references, which have digits.
func isPlaceholder(reference string) bool {
	_, rest, _ := strings.Cut(reference, "-")
	return capitals(rest)
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
}

func compilePattern(expr string) (*pattern, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	return &pattern{re, requiredText(re)}, nil
}

// in reports whether text has a match.
func (p *pattern) in(text string) bool {
	return strings.Contains(text, p.required) && p.MatchString(text)
}

// all returns the matches in text.
func (p *pattern) all(text string) []string {
	if !strings.Contains(text, p.required) {
		return nil
	}
	return p.FindAllString(text, -1)
}

// requiredText returns the longest text that is certain to be in each match.
func requiredText(re *regexp.Regexp) string {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return "" // it was compiled, so there is none
	}
	return requiredOf(tree)
}

func requiredOf(tree *syntax.Regexp) (longest string) {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase == 0 {
			return string(tree.Rune)
		}
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return requiredOf(tree.Sub[0])
		}
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range tree.Sub {
			if s := requiredOf(sub); len(s) > len(longest) {
				longest = s
			}
		}
	default: // what may be empty, or one thing or another
	}
	return longest
}
