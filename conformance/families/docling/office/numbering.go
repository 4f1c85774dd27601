package office

import (
	"strconv"
	"strings"
)

const (
	maxListLevel = 8  // the formats have nine levels
	maxLevelText = 64 // of a level's marker, which stands in every item
)

// numbering is a document's list definitions and how far its lists have counted.
type numbering struct {
	lists    map[string]map[int]*element // definitions by list and level
	abstract map[string]string           // the abstract list a list is made from
	restart  map[string]map[int]int      // overridden start numbers
	counters map[string][]int            // by abstract list
}

func newNumbering(root *element) *numbering {
	n := &numbering{
		lists: map[string]map[int]*element{}, abstract: map[string]string{},
		restart: map[string]map[int]int{}, counters: map[string][]int{},
	}
	abstract := map[string]map[int]*element{}
	for _, e := range root.all("abstractNum") {
		levels := map[int]*element{}
		for _, lvl := range e.all("lvl") {
			levels[number(lvl.attr("ilvl"), 0)] = lvl
		}
		abstract[e.attr("abstractNumId")] = levels
	}
	for _, e := range root.all("num") {
		id, of := e.attr("numId"), e.child("abstractNumId").attr("val")
		n.abstract[id], n.lists[id], n.restart[id] = of, abstract[of], map[int]int{}
		for _, o := range e.all("lvlOverride") {
			if start := o.child("startOverride"); start != nil {
				n.restart[id][number(o.attr("ilvl"), 0)] = number(start.attr("val"), 1)
			}
		}
	}
	return n
}

// item says whether numPr makes a list item, and counts it.
func (n *numbering) item(numPr *element) (listItem, bool) {
	id := numPr.child("numId").attr("val")
	level := min(max(number(numPr.child("ilvl").attr("val"), 0), 0), maxListLevel)
	levels, ok := n.lists[id]
	if numPr == nil || id == "0" || !ok {
		return listItem{}, false
	}
	def := levels[level]
	format, text := def.child("numFmt").attr("val"), def.child("lvlText").attr("val")
	item := listItem{list: n.abstract[id], level: level, marker: "-"}
	if format == "bullet" || def == nil {
		return item, true
	}
	if format == "none" && text == "" {
		return listItem{}, false
	}
	if len(text) > maxLevelText {
		text = ""
	}
	counts := n.counters[n.abstract[id]]
	for len(counts) <= level {
		counts = append(counts, number(levels[len(counts)].child("start").attr("val"), 1)-1)
	}
	if start, ok := n.restart[id][level]; ok {
		counts[level] = start - 1
		delete(n.restart[id], level) // it restarts once
	}
	counts[level]++
	counts = counts[:level+1] // deeper levels begin again
	n.counters[n.abstract[id]] = counts
	item.enumerated, item.marker = true, label(text, counts, levels)
	return item, true
}

// label fills "%1.%2)" with the counts of the levels.
func label(text string, counts []int, levels map[int]*element) string {
	for i, count := range counts {
		format := levels[i].child("numFmt").attr("val")
		text = strings.ReplaceAll(text, "%"+strconv.Itoa(i+1), numeral(format, count))
	}
	return strings.TrimSpace(text)
}

// numeral writes a number in the way of a list level. The names are those of
// both formats, which agree but for their endings.
func numeral(format string, n int) string {
	switch {
	case n < 1 || n > 5000:
	case strings.HasSuffix(format, "Letter") || strings.HasPrefix(format, "alpha"):
		letter := string(rune('a' + (n-1)%26))
		text := strings.Repeat(letter, (n-1)/26+1)
		if strings.HasPrefix(format, "upper") || strings.HasPrefix(format, "alphaUc") {
			return strings.ToUpper(text)
		}
		return text
	case strings.HasSuffix(format, "Roman") || strings.HasPrefix(format, "roman"):
		text := roman(n)
		if strings.HasPrefix(format, "upper") || strings.HasPrefix(format, "romanUc") {
			return strings.ToUpper(text)
		}
		return text
	}
	return strconv.Itoa(n)
}

func roman(n int) string {
	var text strings.Builder
	for _, r := range []struct {
		value  int
		letter string
	}{
		{1000, "m"},
		{900, "cm"},
		{500, "d"},
		{400, "cd"},
		{100, "c"},
		{90, "xc"},
		{50, "l"},
		{40, "xl"},
		{10, "x"},
		{9, "ix"},
		{5, "v"},
		{4, "iv"},
		{1, "i"},
	} {
		for ; n >= r.value; n -= r.value {
			text.WriteString(r.letter)
		}
	}
	return text.String()
}
