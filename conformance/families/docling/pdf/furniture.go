package pdf

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// margin is the part of a page, at its top and at its bottom, in which headers
// and footers stand.
const margin = 0.12

var digits = regexp.MustCompile(`[0-9]+`)

// furnish tells headers and footers apart: lines in the margins that stand at the same
// place with the same words on most pages. They are smaller than headings, and their
// numbers are the same too or go up with the page. A page keeps all of its lines where all
// of them would be headers and footers, or where the rest of it is repeated as well: that
// of copies of a form.
func furnish(pages []page, r ruler) map[*line]document.Label {
	out := map[*line]document.Label{}
	if len(pages) < 2 {
		return out
	}
	margins, bodies := repeated(pages)
	if copies(pages, bodies) {
		return out
	}
	for _, lines := range margins {
		if len(lines) < 2 || len(lines)*2 <= len(pages) || lines[0].size >= headingSize*r.size || !numbersPages(lines) {
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
	for i := range pages {
		if p := &pages[i]; p.bare(out) {
			for j := range p.lines {
				delete(out, &p.lines[j])
			}
		}
	}
	return out
}

// bare reports whether a page has nothing but headers and footers.
func (p *page) bare(furniture map[*line]document.Label) bool {
	for i := range p.lines {
		if furniture[&p.lines[i]] == "" {
			return false
		}
	}
	return len(p.asides)+len(p.images) == 0
}

// repeated are the lines of all pages by their place and their words, numbers aside: those
// in the margins and the others, each line of a page once.
func repeated(pages []page) (margins, bodies map[string][]*line) {
	margins, bodies = map[string][]*line{}, map[string][]*line{}
	for p := range pages {
		seen := map[string]bool{}
		for i := range pages[p].lines {
			l := &pages[p].lines[i]
			if l.table() != nil {
				continue
			}
			key := fmt.Sprint(math.Round(l.y/4), digits.ReplaceAllString(l.text(), "#"))
			if seen[key] {
				continue
			}
			seen[key] = true
			if inMargin(l, pages[p].height) {
				margins[key] = append(margins[key], l)
			} else {
				bodies[key] = append(bodies[key], l)
			}
		}
	}
	return margins, bodies
}

func inMargin(l *line, height float64) bool {
	return l.y < margin*height || l.y > (1-margin)*height
}

// copies reports whether most lines between the margins are on most pages.
func copies(pages []page, bodies map[string][]*line) bool {
	again, all := 0, 0
	for _, lines := range bodies {
		all += len(lines)
		if len(lines)*2 > len(pages) {
			again += len(lines)
		}
	}
	return again*2 > all
}

// numbersPages reports whether the numbers in lines of several pages are the same on each,
// or one of them goes up with the page, but where it begins again.
func numbersPages(lines []*line) bool {
	numbers := make([][]int, len(lines))
	for i, l := range lines {
		for _, n := range digits.FindAllString(l.text(), -1) {
			value, err := strconv.Atoi(n)
			if err != nil {
				value = math.MinInt // too large for the number of a page
			}
			numbers[i] = append(numbers[i], value)
		}
	}
	constant := true
	for at := range numbers[0] {
		follows := 0
		for i := 1; i < len(lines); i++ {
			constant = constant && numbers[i][at] == numbers[0][at]
			if numbers[i][at]-numbers[i-1][at] == lines[i].page-lines[i-1].page {
				follows++
			}
		}
		if follows*3 >= (len(lines)-1)*2 {
			return true
		}
	}
	return constant
}
