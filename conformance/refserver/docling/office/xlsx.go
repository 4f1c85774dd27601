package office

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/docling/document"
)

// Limits of a worksheet.
const (
	maxColumnsRead = 20_000_000 // places looked at, empty ones too
)

// MaxRow is how many rows a sheet has at most, by the format.
const MaxRow = 1 << 20

// xlsx reads worksheets in order: each is a page and a group.
type xlsx struct {
	*document.Builder
	*parts
	Options
	file   *excelize.File
	looked int
	filled int
}

// A sheet is a worksheet's name and part.
type sheet struct {
	name   string
	part   string
	hidden bool
}

func readXLSX(b *document.Builder, p *parts, data []byte, o Options) (err error) {
	sheets, err := p.sheets()
	if err != nil {
		return err
	}
	if err := p.verify(); err != nil {
		return err
	}
	// A file that confuses excelize is a corrupt file, not the end of the server.
	defer func() {
		if r := recover(); r != nil {
			err = failf(StageParse, Corrupt, "workbook: %v", r)
		}
	}()
	// Both limits alike: what is over the second would go to a temporary file.
	f, err := excelize.OpenReader(bytes.NewReader(data), excelize.Options{UnzipSizeLimit: maxUnpacked, UnzipXMLSizeLimit: maxUnpacked})
	if err != nil {
		return failf(StageParse, Corrupt, "workbook: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	x := &xlsx{Builder: b, parts: p, Options: o, file: f}
	read := 0
	for i, s := range sheets {
		if !o.includes(i+1, read) {
			continue
		}
		read++
		if err := x.sheet(i+1, s); err != nil {
			return err
		}
	}
	return nil
}

// sheets lists the worksheets of the workbook; sheets of other kinds are left out.
func (p *parts) sheets() ([]sheet, error) {
	root, err := p.tree(p.main)
	if err != nil {
		return nil, err
	}
	rels, err := p.relations(p.main)
	if err != nil {
		return nil, err
	}
	var list []sheet
	for _, e := range root.child("sheets").all("sheet") {
		r := rels[e.rel("id")]
		if related(map[string]relation{"": r}, "worksheet") != "" {
			state := e.attr("state")
			list = append(list, sheet{e.attr("name"), r.target, state == "hidden" || state == "veryHidden"})
		}
	}
	return list, nil
}

// sheet adds a page, a group, and a table for every block of cells that touch.
func (x *xlsx) sheet(no int, s sheet) error {
	values, err := x.values(s.name)
	if err != nil {
		return err
	}
	rest, err := x.sheetParts(s.part)
	if err != nil {
		return err
	}
	g := x.Group(nil, document.Sheet, "sheet: "+s.name)
	if s.hidden {
		g.Layer = document.LayerInvisible
	}
	spans := values.spans(rest.merged)
	width, height := 0, 0
	for at, span := range spans {
		width, height = max(width, at.col+span.col), max(height, at.row+span.row)
	}
	for _, pic := range rest.pictures {
		width, height = max(width, pic.to.col), max(height, pic.to.row)
	}
	x.Page(no, float64(width), float64(height))
	found, err := blocks(spans)
	if err != nil {
		return err
	}
	for _, block := range found {
		if err := x.block(g, no, block, values, spans); err != nil {
			return err
		}
	}
	for _, pic := range rest.pictures {
		picture := x.Picture(g, x.image(pic.part, x.Options))
		picture.Prov = []document.Prov{provCells(no, pic.from, pic.to)}
	}
	return nil
}

// block adds one table, in the coordinates of its upper left cell.
func (x *xlsx) block(g *document.Group, no int, b block, values values, spans map[point]point) error {
	c := newCells()
	for _, at := range b.cells {
		span := spans[at]
		if _, covered := c.taken[point{at.row - b.from.row, at.col - b.from.col}]; covered {
			continue // a merged range hides it
		}
		if err := c.add(at.row-b.from.row, at.col-b.from.col, span.row, span.col, values[at]); err != nil {
			return err
		}
		cell := &c.list[len(c.list)-1]
		box := provCells(no, at, point{at.row + span.row, at.col + span.col}).BBox
		cell.BBox = &box
	}
	c.cols = b.to.col - b.from.col
	data, err := c.data(b.to.row-b.from.row, nil)
	if err != nil {
		return err
	}
	x.Table(g, data).Prov = []document.Prov{provCells(no, b.from, b.to)}
	return nil
}

func provCells(no int, from, to point) document.Prov {
	return document.Prov{PageNo: no, BBox: document.BBox{
		L: float64(from.col), T: float64(from.row), R: float64(to.col), B: float64(to.row), Origin: document.TopLeft,
	}}
}

// values reads the filled cells as they are shown: formulas as their results,
// numbers and dates in their format.
func (x *xlsx) values(name string) (values, error) {
	rows, err := x.file.Rows(name)
	if err != nil {
		return nil, failf(StageParse, Corrupt, "sheet %q: %w", name, err)
	}
	defer func() { _ = rows.Close() }() // it only closes temporary files, of which there are none
	found := values{}
	for row := 0; rows.Next(); row++ {
		if row%1024 == 0 && x.ctx.Err() != nil {
			return nil, x.ctx.Err()
		}
		columns, err := rows.Columns()
		if err != nil {
			return nil, failf(StageParse, Corrupt, "sheet %q: %w", name, err)
		}
		for col, text := range columns {
			if text != "" && x.wants(row+1) {
				found[point{row, col}] = text
				x.filled++
			}
		}
		if x.LastRow > 0 && row+1 >= x.LastRow {
			break
		}
		if err := x.fits(x.Builder, document.CellsSize(len(found))); err != nil {
			return nil, err
		}
		if x.looked += len(columns) + 1; x.looked > maxColumnsRead || x.filled > document.MaxCells || row > MaxRow {
			return nil, failf(StageParse, TooLarge, "over %d filled cells", document.MaxCells)
		}
	}
	if err := rows.Error(); err != nil {
		return nil, failf(StageParse, Corrupt, "sheet %q: %w", name, err)
	}
	return found, nil
}

func (o Options) wants(row int) bool {
	return row >= o.FirstRow && (o.LastRow == 0 || row <= o.LastRow)
}

// verify unpacks every part once and throws it away: excelize believes the
// sizes that the archive states.
func (p *parts) verify() error {
	before := p.read
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		unpack := p.xml
		if strings.HasPrefix(name, "xl/media/") {
			unpack = p.part
		}
		data, err := unpack(name)
		if err != nil {
			return err
		}
		if bytes.Contains(data, []byte("<!DOCTYPE")) && !strings.HasPrefix(name, "xl/media/") {
			return failf(StageParse, Corrupt, "%s: has a DTD", name)
		}
		if uint64(len(data)) != p.files[name].UncompressedSize64 {
			return failf(StageOpen, Corrupt, "zip: %s is not as long as stated", fmt.Sprintf("%.100q", name))
		}
	}
	p.read = before
	return nil
}
