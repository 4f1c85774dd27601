package artifact

import (
	"path"
	"regexp"
	"strings"
)

// ownTarget finds what in a line leads to the document itself, to those beside it
// or to stored artifacts: targets of links and of their definitions, anchors and
// links of HTML, ids of headings, and resources.
var ownTarget = regexp.MustCompile(`\]\((<[^<>]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)` +
	`|^ {0,3}\[[^\]^][^\]]*\]:[ \t]*(\S+)` +
	`|\bhref="([^"<>]*)"` +
	`|\b(?:id|name)="([^"<>]*)"|\{(#[^{}\s]*)\}` +
	"|(" + resourceRoot + "[^\\s<>\"|)\\]`]*)")

// anchors are the groups of ownTarget that name a place in the document.
const anchors = 4

// relinked returns a text whose links follow the ids in mapping that it has got:
// those to its headings, whose anchors changed with them, and those to the
// documents of the sub-artifacts, which will have the final ids. Links to other
// files, such as pictures, and to other places stay.
func relinked(text string, mapping map[string]string) string {
	var out strings.Builder
	last := 0
	for at, end := 0, 0; at < len(text); at = end {
		end = len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		l := text[at:end]
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
				out.WriteString(renumbered(text[start:stop], mapping, group >= anchors))
				last = stop
			}
		}
	}
	out.WriteString(text[last:])
	return out.String()
}

// renumbered returns a target with the ids of mapping replaced, if it leads to
// where ids change. Anchors have them in lower case, too.
func renumbered(target string, mapping map[string]string, anchor bool) string {
	file, _, linked := strings.Cut(strings.Trim(target, "<>"), "#")
	fragment := 0 // where it begins
	switch {
	case anchor && !strings.HasPrefix(target, resourceRoot):
	case !isOwn(file):
		return target
	case linked:
		fragment = strings.IndexByte(target, '#')
	default:
		fragment = len(target)
	}
	// Beside an underscore an id is one here: US-AAA_v1.md.
	upper := []byte(target)
	for i, c := range upper {
		switch {
		case 'a' <= c && c <= 'z' && i >= fragment:
			upper[i] = c - 'a' + 'A'
		case c == '_':
			upper[i] = '-'
		}
	}
	var out strings.Builder
	last := 0
	eachPlaceholder(string(upper), func(start, end int) {
		old := target[start:end]
		id, ok := mapping[string(upper[start:end])]
		switch {
		case !ok:
			return
		case old == strings.ToLower(old):
			id = strings.ToLower(id)
		case old != strings.ToUpper(old):
			return
		}
		out.WriteString(target[last:start])
		out.WriteString(id)
		last = end
	})
	out.WriteString(target[last:])
	return out.String()
}

// isOwn reports whether the file of a target is this document, or an artifact.
func isOwn(file string) bool {
	if strings.HasPrefix(file, resourceRoot) {
		return true
	}
	ext := path.Ext(file)
	return !strings.Contains(file, ":") && !strings.HasPrefix(file, "/") && (ext == "" || ext == ".md")
}
