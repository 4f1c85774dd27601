package artifact

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ownTarget finds what in a line leads to the document itself, to those beside it
// or to stored artifacts: targets of links and of their definitions, anchors and
// links of HTML, ids of headings, and resources.
var ownTarget = regexp.MustCompile(`\]\((<[^<>]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)` +
	`|^ {0,3}\[[^\]^][^\]]*\]:[ \t]*(\S+)` +
	`|\bhref="([^"<>]*)"` +
	`|\b(?:id|name)="([^"<>]*)"|\{(#[^{}\s]*)\}` +
	"|(" + resourceRoot + "[^\\s<>\"|)\\]`]*)")

// The groups of ownTarget that name a place in the document.
const (
	anchorAttribute = 4
	anchorOfHeading = 5
)

// relinked returns a text whose links follow the ids in mapping that it has got:
// those to its headings, whose anchors changed with them, and those to the
// documents of the sub-artifacts, which will have the final ids. Links to other
// files, such as pictures, and to other places stay.
func relinked(text string, mapping map[string]string) string {
	if len(mapping) == 0 {
		return text
	}
	r := renumbering{mapping: mapping, any: regexp.MustCompile(strings.Join(slices.Sorted(maps.Keys(mapping)), "|"))}
	var out strings.Builder
	last := 0
	next := 0
	for l := range strings.Lines(text) {
		at := next
		next += len(l)
		if !strings.Contains(l, "](") && !strings.Contains(l, "]:") && !strings.Contains(l, `="`) && !strings.Contains(l, "{#") && !strings.Contains(l, resourceRoot) {
			continue
		}
		for _, m := range ownTarget.FindAllStringSubmatchIndex(l, -1) {
			for group := 1; 2*group < len(m); group++ {
				if m[2*group] < 0 {
					continue
				}
				start, stop := at+m[2*group], at+m[2*group+1]
				out.WriteString(text[last:start])
				out.WriteString(r.target(text[start:stop], group == anchorAttribute || group == anchorOfHeading))
				last = stop
			}
		}
	}
	out.WriteString(text[last:])
	return out.String()
}

// A renumbering replaces ids in targets.
type renumbering struct {
	mapping map[string]string
	any     *regexp.Regexp // one of them, in capitals
}

// target returns a target with its ids replaced, if it leads to where ids change.
// Anchors have them in lower case, too.
func (r *renumbering) target(target string, anchor bool) string {
	file, _, linked := strings.Cut(strings.Trim(target, "<>"), "#")
	fragment := 0 // where it begins
	switch {
	case anchor:
	case !isOwn(file):
		return target
	case linked:
		fragment = strings.IndexByte(target, '#')
	default:
		fragment = len(target)
	}
	capitals := []byte(target)
	for i := fragment; i < len(capitals); i++ {
		if c := capitals[i]; 'a' <= c && c <= 'z' {
			capitals[i] = c - 'a' + 'A'
		}
	}
	var out strings.Builder
	last := 0
	for _, m := range r.any.FindAllIndex(capitals, -1) {
		old, id := target[m[0]:m[1]], r.mapping[string(capitals[m[0]:m[1]])]
		switch {
		case partOfWord(target[:m[0]], target[m[1]:]):
			continue
		case old == strings.ToLower(old):
			id = strings.ToLower(id)
		case old != strings.ToUpper(old):
			continue
		}
		out.WriteString(target[last:m[0]])
		out.WriteString(id)
		last = m[1]
	}
	out.WriteString(target[last:])
	return out.String()
}

// partOfWord reports whether letters or digits are beside an id. An underscore is
// none of them here: US-AAA_v1.md.
func partOfWord(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return unicode.In(last, unicode.L, unicode.Nd) || unicode.In(next, unicode.L, unicode.Nd)
}

// isOwn reports whether the file of a target is this document, or an artifact.
func isOwn(file string) bool {
	if strings.HasPrefix(file, resourceRoot) {
		return true
	}
	ext := path.Ext(file)
	return !strings.Contains(file, ":") && !strings.HasPrefix(file, "/") && (ext == "" || ext == ".md")
}
