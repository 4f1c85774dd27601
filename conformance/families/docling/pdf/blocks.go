package pdf

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a block is.
type kind int

const (
	paragraph kind = iota
	heading
	listItem
	tableBlock
	caption
)

// A block is lines that belong together.
type block struct {
	kind  kind
	lines []line
	// Of a list item: how it is marked, where the mark stands, and its first
	// line without the mark.
	marker     string
	enumerated bool
	indent     float64
	first      string
}

// A ruler knows what is usual in a document: the size of running text, whether
// it is bold, and how far its base lines are apart. Other sizes may be those of
// running text, too: of a paper with long notes, say.
type ruler struct {
	size, leading float64
	bold          bool
	running       map[float64]bool
	tagged        bool // tags tell which text is a heading
}

// A size is one of running text when a part of all signs has it, in long lines.
const (
	runningPart = 0.15
	runningLine = 50 // signs
)

func measure(pages []page) ruler {
	sizes, lines := map[float64]int{}, map[float64]int{}
	bold, all := 0, 0
	for _, p := range pages {
		for i := range p.lines {
			l := &p.lines[i]
			n := utf8.RuneCountInString(l.text())
			sizes[l.size] += n
			lines[l.size]++
			all += n
			if l.bold {
				bold += n
			}
		}
	}
	r := ruler{size: mostFrequent(sizes), bold: bold*2 > all, running: map[float64]bool{}}
	for size, n := range sizes {
		r.running[size] = float64(n) >= runningPart*float64(all) && n >= runningLine*lines[size]
	}
	gaps := map[float64]int{}
	for _, p := range pages {
		r.wrapped(p.lines, gaps)
	}
	r.leading = smallestOften(gaps)
	return r
}

// wrapped counts the gaps between running lines of which the upper one was full:
// the first word of the lower one had no place in it. Such a gap is one within a
// paragraph, however many paragraphs have one line only.
func (r ruler) wrapped(lines []line, gaps map[float64]int) {
	right := map[float64]float64{} // of the lines that begin at one place
	at := func(l *line) float64 { return math.Round(l.box.l / r.size) }
	for i := range lines {
		right[at(&lines[i])] = max(right[at(&lines[i])], lines[i].box.r)
	}
	for i := 1; i < len(lines); i++ {
		a, b := &lines[i-1], &lines[i]
		// More than three sizes is no distance of lines within a text.
		if a.size != r.size || b.size != r.size || b.y >= a.y || a.y-b.y > 3*r.size {
			continue
		}
		text := b.text()
		word, _, _ := strings.Cut(text, " ")
		width := (b.box.r - b.box.l) * float64(len(word)) / float64(max(len(text), 1))
		if len(word) < len(text) && a.box.r+width > right[at(a)]-r.size/2 {
			gaps[math.Round((a.y-b.y)*2)/2]++
		}
	}
}

// smallestOften is the smallest gap that is well attested: a third as often as
// the most frequent one.
func smallestOften(gaps map[float64]int) float64 {
	most, best := 0, 0.0
	for _, n := range gaps {
		most = max(most, n)
	}
	for gap, n := range gaps {
		if n > 1 && n*3 >= most && (best == 0 || gap < best) {
			best = gap
		}
	}
	return best
}

// headingSize is how large headings are at least, in sizes of running text.
const headingSize = 1.15

// isHeading says that a line is larger than running text, or bold on its own. Tags tell it
// where the file has some for headings.
func (r ruler) isHeading(l *line) bool {
	if r.tagged && l.tag != nil {
		return l.tag.heading() != nil
	}
	if len([]rune(l.text())) > 200 || !strings.ContainsFunc(l.text(), unicode.IsLetter) {
		return false
	}
	return l.size >= headingSize*r.size && !r.running[l.size] || l.bold && !r.bold && l.size >= 0.95*r.size
}

// apart says that there is more than a line's height between two lines, or that
// they are not below each other at all.
func (r ruler) apart(a, b *line) bool {
	gap := a.y - b.y
	usual := 1.5 * max(a.size, b.size)
	if a.size == r.size && b.size == r.size {
		usual = max(usual, 1.25*r.leading)
	}
	return a.page != b.page || gap <= 0 || gap > usual
}

// The marks of list items. Signs of a private area are those of symbol fonts;
// such a sign needs no space after it, as one that stands in texts too does.
var (
	bullet = regexp.MustCompile(`^(?:[\-*–·]\s+|(?:[•◦▪▫●○■□‣⁃∙➢✓]|[\x{e000}-\x{f8ff}])\s*)(\S.*)$`)
	number = regexp.MustCompile(`^(\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivx]{1,4})[.)])\s+(\S.*)$`)
)

// mark is the sign of a list item, alone: however far its text is from it, the two are
// no cells of a table.
var mark = regexp.MustCompile(`^(?:[-*–·•◦▪▫●○■□‣⁃∙➢✓\x{e000}-\x{f8ff}]|\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivx]{1,4})[.)])$`)

// joinMark puts the mark of a list item and its text into one segment. A number before
// several segments is left alone: it may count the rows of a table.
func joinMark(segments []segment) []segment {
	n := len(segments)
	if n < 2 {
		return segments
	}
	first, second := 0, 1 // as they are read
	if segments[0].fromRight() {
		first, second = n-1, n-2
	}
	a, b := segments[first], segments[second]
	if !mark.MatchString(a.text) || n > 2 && bullet.FindString(a.text+" x") == "" {
		return segments
	}
	left, right := segments[min(first, second)], segments[max(first, second)]
	b.glyphs = slices.Concat(left.glyphs, right.glyphs)
	b.text, b.box = a.text+" "+b.text, a.box.union(b.box)
	out := slices.Clone(segments)
	out[min(first, second)] = b
	return slices.Delete(out, max(first, second), max(first, second)+1)
}

// blocks puts the lines of a page together.
func (r ruler) blocks(lines []line) []block {
	var out []block
	for i := 0; i < len(lines); {
		if lines[i].table() != nil {
			out = append(out, block{kind: tableBlock, lines: lines[i : i+1]})
			i++
			continue
		}
		if n, ok := tableAt(lines[i:], r); ok {
			out = append(out, block{kind: tableBlock, lines: lines[i : i+n]})
			i += n
			continue
		}
		b := r.begin(&lines[i])
		n := 1
		for i+n < len(lines) && r.continues(&b, lines[i:i+n], &lines[i+n]) {
			if _, table := tableAt(lines[i+n:], r); table {
				break
			}
			n++
		}
		b.lines = lines[i : i+n]
		if b.kind == caption && !b.short() {
			b.kind = paragraph
		}
		if b.kind == heading && lines[i].tag.heading() == nil && n > 3 && lines[i].size < headingSize*r.size {
			b.kind = paragraph // bold, but not alone
		}
		out = append(out, b)
		i += n
	}
	for i := range out {
		if out[i].isNumbered() && i+1 < len(out) && !out[i+1].isNumbered() { // two of them are a table of contents
			out[i].kind = heading
		}
	}
	return out
}

// numbered is the number of a section below the first level, or the name of a part, and
// a title.
var numbered = regexp.MustCompile(`^(?:(?:[0-9]{1,2}|[A-Z])(?:\.[0-9]{1,2}){1,4}\.?|(?:Annex|Appendix|Chapter|Part|Anhang|Kapitel|Annexe|Chapitre) (?:[0-9]{1,2}|[A-Z]|[IVX]{1,4})[.:]?)(?:\s+\p{Lu}.*)?$`)

const longestTitle = 90

// isNumbered reports whether a block is a title by its number alone, in the look of
// running text.
func (b *block) isNumbered() bool {
	if b.kind != paragraph && b.kind != heading || len(b.lines) != 1 {
		return false
	}
	text := b.lines[0].text()
	return len([]rune(text)) <= longestTitle && numbered.MatchString(text) && !strings.ContainsAny(text[len(text)-1:], ".,;:!?") &&
		strings.ContainsFunc(text, unicode.IsLetter) && !paged.MatchString(text)
}

// paged is a title with its page, of a table of contents or the head of a page.
var paged = regexp.MustCompile(`(?:[.:…·]\s?){4,}|\pL\s+[0-9]{1,4}$`)

// begin is the block that a line begins.
func (r ruler) begin(l *line) block {
	text := l.text()
	b := block{kind: paragraph, first: text, indent: l.start()}
	if r.tagged && r.isHeading(l) {
		b.kind = heading
		return b
	}
	if m := bullet.FindStringSubmatch(text); m != nil {
		b.kind, b.marker, b.first = listItem, "-", m[1]
		return b
	}
	if isCaption(text) {
		b.kind = caption
		return b
	}
	if r.isHeading(l) {
		b.kind = heading
		return b
	}
	if m := number.FindStringSubmatch(text); m != nil {
		b.kind, b.marker, b.first, b.enumerated = listItem, m[1], m[2], true
	} else if l.tag.item() != nil {
		b.kind, b.marker = listItem, "-"
	}
	return b
}

// continues says that next is more of a block that has lines already.
func (r ruler) continues(b *block, lines []line, next *line) bool {
	last := &lines[len(lines)-1]
	if item := last.tag.item(); b.kind == listItem && item != nil && next.table() == nil && item == next.tag.item() {
		return bullet.FindString(next.text()) == ""
	}
	if next.table() != nil || separate(last.tag, next.tag) || r.apart(last, next) || math.Abs(last.size-next.size) > 0.1*last.size {
		return false
	}
	if after := r.begin(next); b.kind == heading {
		return after.kind == heading && last.bold == next.bold
	} else if after.kind == listItem && (b.kind == listItem || after.marker == "-") ||
		after.kind == caption && (b.kind == caption || endsSentence(last.text())) || // not "…, see / Table 5. The …"
		after.kind == heading && (b.kind != caption || !last.bold) {
		return false
	}
	if b.kind == listItem {
		return next.start() > b.indent+0.3*next.size // hangs below the text, not the mark
	}
	if !aligned(lines, next) {
		return false
	}
	// A first line that is indented, after a line that ends a sentence short of
	// the margin, begins a paragraph of its own.
	return next.start() <= last.start()+next.size || !endsSentence(last.text())
}

// aligned says that next shares the left edge, the middle or the right edge of
// the line before it. A first line may be indented.
func aligned(lines []line, next *line) bool {
	last := &lines[len(lines)-1]
	indent := next.size
	if len(lines) == 1 {
		indent = 4 * next.size
	}
	left, right := next.box.l-last.box.l, next.box.r-last.box.r
	return math.Abs(left) <= indent || math.Abs(right) <= next.size/2 || math.Abs(left+right) <= next.size
}

func endsSentence(text string) bool {
	return strings.HasSuffix(text, ".") || strings.HasSuffix(text, ":") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?")
}

// text joins the lines of a block; a word divided at the end of a line is whole
// again.
func (b *block) text() string {
	out := b.first
	if b.kind != listItem {
		out = b.lines[0].text()
	}
	for i := range b.lines[1:] {
		out = join(out, b.lines[i+1].text())
	}
	return strings.TrimSpace(strings.ReplaceAll(out, "\u00ad", ""))
}

func join(a, b string) string {
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	if last == '\u00ad' || unspaced(last) && unspaced(first) {
		return a + b
	}
	if head, ok := strings.CutSuffix(a, "-"); ok {
		before, _ := utf8.DecodeLastRuneInString(head)
		after, _ := utf8.DecodeRuneInString(b)
		if unicode.IsLower(before) && unicode.IsLower(after) {
			return head + b
		}
	}
	return a + " " + b
}

// unspaced reports whether a character is of a script without spaces, so that none is meant
// where its lines end.
func unspaced(r rune) bool {
	return isEastAsian(r) && !unicode.Is(unicode.Hangul, r) || unicode.Is(unicode.Thai, r)
}
