package artifact

import (
	"iter"
	"regexp"
	"strconv"
	"strings"
)

// A document is a markdown text split once for all checks. Fenced code is not
// prose: headings and placeholders in it do not count.
type document struct {
	text     string
	prose    []string        // lines outside fences
	sections map[string]bool // normalised headings
	draft    bool
	version  int
}

var (
	heading   = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$`)
	numbering = regexp.MustCompile(`^(?:\d+\.)*\d*[.)]?[ \t]+`)
	fence     = regexp.MustCompile("^ {0,3}(```+|~~~+)")
)

func newDocument(text string) *document {
	d := &document{text: text, sections: make(map[string]bool), version: 1}
	d.prose = outsideFences(text)
	for _, l := range d.prose {
		if m := heading.FindStringSubmatch(l); m != nil {
			d.sections[normalHeading(m[1])] = true
		}
	}
	fields := metadataFields(text)
	d.draft = strings.EqualFold(fields["status"], statusDraft)
	if v, err := strconv.Atoi(fields["version"]); err == nil {
		d.version = v
	}
	return d
}

// outsideFences returns the lines of text that are not fenced code.
func outsideFences(text string) []string {
	var out []string
	for _, l := range prose(text) {
		out = append(out, l)
	}
	return out
}

// prose yields the lines of text that are not fenced code, with the offset at
// which each begins. A fence that is never closed hides the rest, as it does
// when rendered.
func prose(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		open, next := "", 0
		for l := range strings.Lines(text) {
			at := next
			next += len(l)
			l = strings.TrimRight(l, "\r\n")
			if m := fence.FindStringSubmatch(l); m != nil {
				switch {
				case open == "":
					open = m[1]
				case strings.HasPrefix(m[1], open) && strings.TrimSpace(l) == m[1]:
					open = ""
				}
				continue
			}
			if open == "" && !yield(at, l) {
				return
			}
		}
	}
}

// normalHeading makes "## 3. **Risks** ##" and "risks" the same section.
func normalHeading(s string) string {
	s = strings.Trim(strings.TrimSpace(s), "*_`")
	s = numbering.ReplaceAllString(s, "")
	return strings.ToLower(strings.Join(strings.Fields(s), " "))
}
