package artifact

import (
	"regexp"
	"strings"
)

// addresses are the parts of a text that lead somewhere: targets of links and of
// their definitions, URLs, and the attributes of HTML. Ids in them are not the
// document's. It is asked in the order of the text.
type addresses struct {
	text string
	// end is where the line ends that was asked about last, and spans the addresses
	// in it that are not passed.
	end   int
	spans [][]int
}

var (
	address        = regexp.MustCompile(`\]\((?:<[^<>]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)|[A-Za-z][A-Za-z0-9+.-]*://[^\s<>"|)\]` + "`" + `]*|<[A-Za-z][^<>]*="[^<>]*>`)
	linkDefinition = regexp.MustCompile(`^ {0,3}\[[^\]^][^\]]*\]:[ \t]*(\S+)`)
)

// have reports whether the byte at an offset is in an address.
func (a *addresses) have(at int) bool {
	if at >= a.end {
		a.read(at)
	}
	for len(a.spans) > 0 && a.spans[0][1] <= at {
		a.spans = a.spans[1:]
	}
	return len(a.spans) > 0 && a.spans[0][0] <= at
}

// read finds the addresses in the line of an offset.
func (a *addresses) read(at int) {
	begin := a.end + strings.LastIndexByte(a.text[a.end:at], '\n') + 1
	a.end = len(a.text)
	if n := strings.IndexByte(a.text[at:], '\n'); n >= 0 {
		a.end = at + n
	}
	l := a.text[begin:a.end]
	a.spans = nil
	if m := linkDefinition.FindStringSubmatchIndex(l); m != nil {
		a.spans = [][]int{{begin + m[2], begin + m[3]}}
		return
	}
	if strings.Contains(l, "](") || strings.Contains(l, "://") || strings.Contains(l, `="`) {
		a.spans = address.FindAllStringIndex(l, -1)
		for _, s := range a.spans {
			s[0], s[1] = begin+s[0], begin+s[1]
		}
	}
}
