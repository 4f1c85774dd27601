// Package pdf makes DoclingDocuments of PDF files by the rules of tools.md
// §9.2: a PDF says where signs stand, not what they are, so lines, headings,
// lists, tables and paragraphs are found by place and size.
//
// The reader below it panics on malformed files and may not end: [Convert]
// belongs into a process of its own (package worker).
package pdf

import (
	"bytes"
	"errors"
	"strings"

	"github.com/ledongthuc/pdf"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/docling/document"
)

// What can be wrong with a file, beside its being malformed.
var (
	ErrEncrypted = errors.New("the document is encrypted")
	ErrNoPages   = errors.New("the document has no such pages")
	ErrTooMuch   = errors.New("a page draws too much")
)

// Options are what a caller may choose about a PDF.
type Options struct {
	Filename string
	// From and To are the first and last page wanted, from 1; zero is no bound.
	From, To int
	// MaxPages is how many pages are converted at most; zero is all.
	MaxPages int
}

// Convert makes a document of a PDF file. It may panic, or not end.
func Convert(data []byte, opts Options) (*document.Document, error) {
	origin := document.NewOrigin("application/pdf", opts.Filename, data)
	data = bytes.TrimRight(data, "\x00\x1a\r\n\t ") // the reader knows no NUL after the end
	reader, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	switch {
	case err == nil:
	case errors.Is(err, pdf.ErrInvalidPassword), strings.Contains(err.Error(), "encryption"):
		return nil, ErrEncrypted
	default:
		return nil, err
	}
	all, err := sheets(reader)
	if err != nil {
		return nil, err
	}
	from, to := max(opts.From, 1), len(all)
	if opts.To > 0 {
		to = min(to, opts.To)
	}
	if opts.MaxPages > 0 {
		to = min(to, from+opts.MaxPages-1)
	}
	if from > to {
		return nil, ErrNoPages
	}
	b := document.NewBuilder(document.Stem(opts.Filename), origin)
	in := &interpreter{fonts: map[string]*font{}}
	var pages []page
	for no := from; no <= to; no++ {
		s := all[no-1]
		width, height := s.size()
		b.Page(no, width, height)
		found, err := read(in, no, &s)
		if err != nil {
			return nil, err
		}
		pages = append(pages, found)
	}
	write(b, pages)
	return b.Document()
}

// A page is what was found on a page.
type page struct {
	no            int
	width, height float64
	lines         []line
	images        []box
}

// smallest is how wide and high an image must be to count: what is smaller is
// a rule or a bullet.
const smallest = 20

// read reads a page. What the library panics with goes on up.
func read(in *interpreter, no int, s *sheet) (p page, err error) {
	defer func() {
		if fault := recover(); fault == any(ErrTooMuch) {
			err = ErrTooMuch
		} else if fault != nil {
			panic(fault)
		}
	}()
	in.glyphs, in.images, in.operators = nil, nil, 0
	if contents := s.page.Key("Contents"); !contents.IsNull() {
		in.draw(contents, s.resources, s.frame(), 0)
	}
	width, height := s.size()
	p = page{no: no, width: width, height: height}
	var table [][]segment
	for _, row := range rows(onPage(in.glyphs, width, height)) {
		if segments := split(row); len(segments) > 0 {
			table = append(table, segments)
		}
	}
	p.lines = arrange(no, table)
	for _, b := range in.images {
		b = box{max(b.l, 0), max(b.b, 0), min(b.r, width), min(b.t, height)}
		if b.r-b.l >= smallest && b.t-b.b >= smallest {
			p.images = append(p.images, b)
		}
	}
	return p, nil
}

// onPage leaves out what is drawn beside the page.
func onPage(glyphs []glyph, width, height float64) []glyph {
	kept := glyphs[:0]
	for _, g := range glyphs {
		if g.x >= -1 && g.x <= width && g.y >= -1 && g.y <= height {
			kept = append(kept, g)
		}
	}
	return kept
}
