package office

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// sharedStrings reads the strings that cells name by their number.
func (p *parts) sharedStrings(name string) ([]string, error) {
	var list []string
	err := p.scan(name, func(e *element) bool { return e.name == "si" }, func(e *element) { list = append(list, richText(e)) })
	return list, err
}

// richText is the text of a string without its looks, and without the reading
// of characters that stands above them.
func richText(e *element) string {
	var text strings.Builder
	for _, kid := range e.children() {
		switch kid.name {
		case "t":
			text.WriteString(kid.text)
		case "r":
			text.WriteString(richText(kid))
		}
	}
	return unescaped(text.String())
}

var escaped = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

// unescaped resolves the characters that XML has no other way to write: _x000D_.
func unescaped(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	return escaped.ReplaceAllStringFunc(text, func(code string) string {
		n, err := strconv.ParseUint(code[2:6], 16, 16)
		switch r := rune(n); {
		case err != nil || r < ' ' && r != '\n' && r != '\t':
			return ""
		default:
			return string(r)
		}
	})
}

// cells reads the filled cells of a sheet as they are shown: formulas as their
// results, numbers and dates in their format. With them come the merged ranges.
func (x *xlsx) cells(sheet string) (values, []area, error) {
	found := values{}
	var merged []area
	var failed error
	at := point{-1, -1} // the last row and cell
	keep := func(e *element) bool {
		if e.name == "row" {
			at = point{number(e.attr("r"), at.row+2) - 1, -1}
		}
		return e.name == "c" || e.name == "mergeCell"
	}
	err := x.scan(sheet, keep, func(e *element) {
		if e.name == "mergeCell" {
			if a, ok := areaOf(e.attr("ref")); ok {
				merged = append(merged, a)
			}
			return
		}
		if own, ok := cellOf(e.attr("r")); ok {
			at = own
		} else {
			at.col++
		}
		if failed != nil || at.row < 0 || at.row >= MaxRow || at.col >= maxCol || !x.wants(at.row+1) {
			return
		}
		if text := x.value(e); text != "" {
			found[at] = text
			failed = x.count(len(found))
		}
	})
	if err == nil {
		err = failed
	}
	return found, merged, err
}

// count holds the number of filled cells against the limits.
func (x *xlsx) count(ofSheet int) error {
	if x.filled++; x.filled > document.MaxCells {
		return failf(StageParse, TooLarge, "over %d filled cells", document.MaxCells)
	}
	return x.fits(x.Builder, ofSheet)
}

func (o Options) wants(row int) bool {
	return row >= o.FirstRow && (o.LastRow == 0 || row <= o.LastRow)
}

// value is what a cell shows.
func (x *xlsx) value(cell *element) string {
	raw := ""
	if v := cell.child("v"); v != nil {
		raw = v.text
	}
	switch cell.attr("t") {
	case "s":
		if i, err := strconv.Atoi(strings.TrimSpace(raw)); err == nil && 0 <= i && i < len(x.shared) {
			return x.shared[i]
		}
		return ""
	case "inlineStr":
		if is := cell.child("is"); is != nil {
			return richText(is)
		}
		return unescaped(raw)
	case "str":
		return unescaped(raw)
	case "b":
		switch strings.TrimSpace(raw) {
		case "1", "true":
			return "TRUE"
		case "0", "false":
			return "FALSE"
		}
		return raw
	case "e":
		return raw
	case "d":
		return x.formats.date(number(cell.attr("s"), 0), strings.TrimSpace(raw))
	}
	return x.formats.number(number(cell.attr("s"), 0), strings.TrimSpace(raw))
}

// cellOf reads "B2" or "$B$2".
func cellOf(ref string) (point, bool) {
	at := point{}
	ref = strings.ReplaceAll(ref, "$", "")
	i := 0
	for ; i < len(ref) && i < 4; i++ {
		letter := ref[i] &^ 0x20
		if letter < 'A' || letter > 'Z' {
			break
		}
		at.col = at.col*26 + int(letter-'A') + 1
	}
	at.row = number(ref[i:], 0)
	ok := at.col > 0 && at.row > 0
	return point{at.row - 1, at.col - 1}, ok
}

// areaOf reads "B2:C5".
func areaOf(ref string) (area, bool) {
	first, last, ok := strings.Cut(ref, ":")
	from, ok1 := cellOf(first)
	to, ok2 := cellOf(last)
	ok = ok && ok1 && ok2 && from.col <= to.col && from.row <= to.row && to.row < MaxRow && to.col < maxCol
	return area{from, point{to.row + 1, to.col + 1}}, ok
}
