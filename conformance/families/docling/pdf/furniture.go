package pdf

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// margin is the part of a page, at its top and at its bottom, in which headers
// and footers stand.
const margin = 0.12

var digits = regexp.MustCompile(`[0-9]+`)

// furnish tells headers and footers apart: lines that stand at the same place
// with the same words, numbers aside, on most pages.
func furnish(pages []page) map[*line]document.Label {
	out := map[*line]document.Label{}
	if len(pages) < 2 {
		return out
	}
	found := map[string][]*line{}
	for p := range pages {
		seen := map[string]bool{}
		for i := range pages[p].lines {
			l := &pages[p].lines[i]
			if l.table() != nil || !inMargin(l, pages[p].height) {
				continue
			}
			key := fmt.Sprint(math.Round(l.y/4), digits.ReplaceAllString(l.text(), "#"))
			if !seen[key] {
				seen[key] = true
				found[key] = append(found[key], l)
			}
		}
	}
	for _, lines := range found {
		if len(lines) < 2 || len(lines)*2 <= len(pages) {
			continue
		}
		for _, l := range lines {
			out[l] = document.PageHeader
			i := slices.IndexFunc(pages, func(p page) bool { return p.no == l.page })
			if l.y < pages[i].height/2 {
				out[l] = document.PageFooter
			}
		}
	}
	return out
}

func inMargin(l *line, height float64) bool {
	return l.y < margin*height || l.y > (1-margin)*height
}
