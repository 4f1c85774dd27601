package pdf

import (
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// report adds remarks about what is on the pages but not in the text of the document.
func report(b *document.Builder, pages []page) {
	var empty, pictured, marked []int
	pictures, outside, unknown := 0, 0, 0
	for i := range pages {
		p := &pages[i]
		switch {
		case len(p.lines)+len(p.asides) == 0:
			empty = append(empty, p.no)
		case len(p.images) > 0:
			pictured = append(pictured, p.no)
			pictures += len(p.images)
		}
		for j := range p.asides {
			if p.asides[j].watermark {
				marked = append(marked, p.no)
				break
			}
		}
		outside += p.outside
		unknown += p.unknown
	}
	if len(empty) > 0 {
		verb, it := "have", "they show"
		if len(empty) == 1 {
			verb, it = "has", "it shows"
		}
		b.Lost("empty: %s %s no text; what %s is not read", listed(empty), verb, it)
	}
	if pictures > 0 {
		b.Lost("%s on %s: text in pictures is not read", counted(pictures, "picture"), listed(pictured))
	}
	if len(marked) > 0 {
		b.Lost("watermark on %s: it is in the layer background only", listed(marked))
	}
	if unknown > 0 {
		b.Lost("%s whose text the file does not tell: written as %s", counted(unknown, "glyph"), unknownText)
	}
	if outside > 0 {
		b.Lost("%s beside the pages: left out", counted(outside, "character"))
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprint(n, " ", what, "s")
}

// mostListed is how many ranges of pages a remark names.
const mostListed = 20

// listed names pages, which ascend: "pages 1-3, 7".
func listed(pages []int) string {
	var ranges []string
	for i := 0; i < len(pages); {
		j := i
		for j+1 < len(pages) && pages[j+1] == pages[j]+1 {
			j++
		}
		if len(ranges) == mostListed {
			ranges = append(ranges, fmt.Sprintf("and %d more", len(pages)-i))
			break
		}
		if i == j {
			ranges = append(ranges, fmt.Sprint(pages[i]))
		} else {
			ranges = append(ranges, fmt.Sprintf("%d-%d", pages[i], pages[j]))
		}
		i = j + 1
	}
	if len(pages) == 1 {
		return "page " + ranges[0]
	}
	return "pages " + strings.Join(ranges, ", ")
}
