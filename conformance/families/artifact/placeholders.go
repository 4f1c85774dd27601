package artifact

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A placeholder id stands for an id that approval hands out. Two kinds of words
// are placeholders:
//
//   - the shape the workflow documents, one capital three times: HLS-AAA, US-BBB;
//   - any three capitals, as HLS-AAB, that an item of the breakdown begins with
//     (see [breakdown]).
//
// XXX is how people write "any number": TASK-XXX is an id only where one item
// begins with it. A word of the documented shape is none if the breakdown has ids of
// its type, and this one is only in prose outside: "ids such as US-AAA".
//
// Any other word of that form is only like one: US-EPA, HLS-TBD. Nobody can tell
// whether its author means an id, so it is neither replaced nor made a task, and
// an approval is refused until it is defined, written differently or put in code.
// It is refused too where two items that say different things begin with one id:
// one of them would be lost. Words of another length (US-EAST, TASK-FORCE) and
// parts of longer words (US-EPA-approved) are prose.
//
// Code defines nothing but where an item begins with it, and addresses and the
// attributes of HTML define nothing at all. An id that is defined is replaced
// wherever it stands. Links follow it (see [relinked]); addresses of others do not.

// maxUndefined bounds how many look-alikes are found.
const maxUndefined = 100

// A lookAlike is a word that has the form of a placeholder and is none, or one
// that several items begin with.
type lookAlike struct {
	ID      string `json:"id"`
	Line    int    `json:"line"` // from 1
	several bool
}

func (l lookAlike) String() string { return fmt.Sprintf("%s (line %d)", l.ID, l.Line) }

// placeholders returns the distinct placeholder ids of a type in the order in
// which they first appear, and the words that only look like one. What stands
// in blocks of code and in comments is neither.
func placeholders(text, prefix string) (ids []string, alike []lookAlike) {
	var items *breakdown // read when it is first needed
	seen := make(map[string]bool)
	numbers := counter{text: text}
	for at, l := range withoutBlocks(text) {
		if !strings.Contains(l, prefix+"-") {
			continue
		}
		spans, targets := codeSpans{line: l}, addresses{text: l}
		eachPlaceholder(l, func(start, end int) {
			id := l[start:end]
			if p, _, _ := strings.Cut(id, "-"); p != prefix || seen[id] || targets.have(start) {
				return
			}
			if items == nil {
				items = readBreakdown(text)
			}
			switch d := items.defined[id]; {
			case d != nil && d.several():
				seen[id] = true
				if len(alike) < maxUndefined {
					alike = append(alike, lookAlike{id, d.clash[0], true}, lookAlike{id, d.clash[1], true})
				}
			case d != nil, isPlaceholder(id) && !spans.have(start) && !items.remains(id):
				seen[id] = true
				ids = append(ids, id)
			case isPlaceholder(id), strings.HasSuffix(id, anyNumber):
			case len(alike) < maxUndefined && isProse(l, start, end) && !spans.have(start):
				alike = append(alike, lookAlike{id, numbers.line(at), false})
			}
		})
	}
	return ids, alike
}

// anyNumber is how ids end that stand for any of their type.
const anyNumber = "-XXX"

// isPlaceholder reports whether an id has the documented shape.
func isPlaceholder(id string) bool {
	_, rest, _ := strings.Cut(id, "-")
	return capitals(rest) && len(rest) == 3 && rest[0] == rest[1] && rest[1] == rest[2] && rest[0] != 'X'
}

// isProse reports whether the word at l[start:end] is one that a reader would
// take for an id: not a part of a longer word, nor of the name of a host or file.
func isProse(l string, start, end int) bool {
	if start > 0 && l[start-1] == '-' || end < len(l) && l[end] == '-' {
		return false
	}
	rest, dot := strings.CutPrefix(l[end:], ".")
	return !dot || rest == "" || !isDigit(rest[0]) && (rest[0] < 'a' || rest[0] > 'z')
}

// codeSpans are the parts of a line in code. It is asked in the order of the
// line.
type codeSpans struct {
	line  string
	found bool
	spans [][]int
}

// have reports whether the byte at an offset is in code.
func (c *codeSpans) have(at int) bool {
	if !c.found {
		c.spans, c.found = code.FindAllStringIndex(c.line, -1), true
	}
	for len(c.spans) > 0 && c.spans[0][1] <= at {
		c.spans = c.spans[1:]
	}
	return len(c.spans) > 0 && c.spans[0][0] < at
}

// A counter finds the numbers of lines, each after the one before.
type counter struct {
	text   string
	at, no int
}

// line returns the number of the line that holds the byte at an offset.
func (c *counter) line(at int) int {
	c.no += strings.Count(c.text[c.at:at], "\n")
	c.at = at
	return c.no + 1
}

// notDefined says of look-alikes what is wrong with them, and what to do.
func notDefined(alike []lookAlike) string {
	var names, says []string
	clashes := make(map[string][]string) // lines by id
	first := ""
	for _, l := range alike {
		switch s := l.String(); {
		case l.several:
			clashes[l.ID] = append(clashes[l.ID], strconv.Itoa(l.Line))
		case !slices.Contains(names, s):
			names = append(names, s)
			first = cmp.Or(first, l.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(clashes)) {
		if prefix, _, _ := strings.Cut(id, "-"); len(says) < maxNamed {
			says = append(says, fmt.Sprintf("several items begin with %s (lines %s): give each an id of its own, such as %s-AAA and %s-BBB, "+
				"and begin one item only with each", id, strings.Join(clashes[id], " and "), prefix, prefix))
		}
	}
	if len(names) > 0 {
		verb := "looks like a placeholder id but is"
		if len(names) > 1 {
			verb = "look like placeholder ids but are"
		}
		prefix, rest, _ := strings.Cut(first, "-")
		says = append(says, fmt.Sprintf("%s %s not defined: begin a list item, a heading or the id cell of a table with %q, directly below a heading such as %s, "+
			"or write %s-AAA. If no id is meant, write \"%s %s\" or, but for the title, put it in code (`%s`)",
			fewOf(names), verb, first+":", breakdownNames, prefix, prefix, rest, first))
	}
	return strings.Join(says, ". ")
}

// replacePlaceholders replaces every whole-token occurrence of a placeholder in
// mapping, wherever in the text it stands, and lets the document's own links
// follow. Addresses of others stay.
func replacePlaceholders(text string, mapping map[string]string) string {
	var out strings.Builder
	last := 0
	targets := addresses{text: text}
	eachPlaceholder(text, func(start, end int) {
		if id, ok := mapping[text[start:end]]; ok && !targets.have(start) {
			out.WriteString(text[last:start])
			out.WriteString(id)
			last = end
		}
	})
	out.WriteString(text[last:])
	return relinked(out.String(), mapping)
}

// eachPlaceholder finds the words that have the form of a placeholder: prefix,
// hyphen and three capitals.
func eachPlaceholder(text string, found func(start, end int)) {
	at := 0
	for start, rest := range prefixed(text) {
		if start < at || !capitals(text[rest:]) {
			continue
		}
		end := rest + 3
		if !inTokenBefore(text[:start]) && !inTokenAfter(text[end:]) {
			found(start, end)
			at = end
		}
	}
}

// inTokenBefore and inTokenAfter report whether what stands beside a placeholder
// makes a longer word of it. Underscores do if a word is beyond them: else they
// are emphasis.
func inTokenBefore(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(s, "_"))
	return isText(r)
}

func inTokenAfter(s string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, "_"))
	return isText(r)
}
