// Package pdf makes DoclingDocuments of PDF files by the rules of tools.md
// §9.2: unless it is tagged, a PDF says where signs stand, not what they are, so
// lines, headings, lists, tables and paragraphs are found by place and size.
//
// The objects come from pdfcpu, of a copy with a right table where that fails;
// operators, codes of fonts and structure are read here. They make a drawing of each
// page, and the layout is made of drawings alone: another reader of files would do.
// Malformed files can make the library panic or not end: [Convert] belongs into a
// process of its own (package worker).
package pdf

import (
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// Options are what a caller may choose about a PDF.
type Options struct {
	Filename string
	// From and To are the first and last page wanted, from 1; zero is no bound.
	From, To int
	// MaxPages is how many pages are converted at most; zero is all.
	MaxPages int
	// MaxBytes is how much JSON the document may come to; zero is that of
	// [document.MaxBytes]. It ends a conversion early, when what is
	// found cannot be less.
	MaxBytes int64
}

// Convert makes a document of a PDF file. It may panic, or not end.
func Convert(data []byte, opts Options) (*document.Document, error) {
	origin := document.NewOrigin("application/pdf", opts.Filename, data)
	f, err := open(data)
	if err != nil {
		return nil, err
	}
	from, last := max(opts.From, 1), opts.To
	if most := from + opts.MaxPages - 1; opts.MaxPages > 0 && (last <= 0 || most < last) {
		last = most
	}
	most, left := document.MaxPages, int64(document.MaxBytes)
	if opts.MaxBytes > 0 {
		left = min(left, opts.MaxBytes)
		most = min(most, from+int(left/pageBytes))
	}
	all, err := sheets(f, max(last, 0), most)
	if err != nil {
		return nil, err
	}
	to := len(all)
	if from > to {
		return nil, ErrNoPages
	}
	b := document.NewBuilder(document.Stem(opts.Filename), origin)
	in := &interpreter{fonts: map[int]*font{}}
	tags := readTags(f)
	var pages []page
	for no := from; no <= to; no++ {
		s := all[no-1]
		width, height := s.size()
		b.Page(no, width, height)
		found, err := read(in, no, &s, tags.of(&s))
		if err != nil {
			return nil, err
		}
		pages = append(pages, found)
		if left -= found.least(); left < 0 {
			return nil, ErrTooMuch
		}
	}
	write(b, pages, tags)
	return b.Document()
}

// pageBytes is what an empty page comes to in JSON at least.
const pageBytes = 60

// least is what a page comes to in JSON at least: each text is there
// twice, as it is shown and as it was found; a table has its cells twice too.
func (p *page) least() int64 {
	n := pageBytes + leastOf(p.lines)
	for i := range p.asides {
		n += leastOf(p.asides[i].lines)
	}
	return int64(n)
}

func leastOf(lines []line) int {
	n := 0
	for i := range lines {
		if t := lines[i].table(); t != nil {
			for _, c := range t.cells {
				n += 2 * len(c.text)
			}
		}
		n += 2 * len(lines[i].text())
	}
	return n
}

// read reads a page. What the library panics with goes on up.
func read(in *interpreter, no int, s *sheet, tags map[int]*element) (p page, err error) {
	defer func() {
		if fault := recover(); fault == any(ErrTooMuch) {
			err = ErrTooMuch
		} else if fault != nil {
			panic(fault)
		}
	}()
	width, height := s.size()
	*in = interpreter{fonts: in.fonts, drawing: drawing{width: width, height: height, glyphs: map[int][]glyph{}}, tags: tags}
	if contents := s.page.Key("Contents"); !contents.IsNull() {
		in.draw(contents, s.resources, s.frame(), 0)
	}
	in.annotations(s.page.Key("Annots"), s.frame())
	return in.layout(no), nil
}
