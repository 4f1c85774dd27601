package office

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// referred finds the cells of a reference such as 'My data'!$B$2:$B$7, in the order of
// reading. Charts of some programs keep no copy of their data, and only refer to them.
// Names and several ranges are not resolved.
func (x *xlsx) referred(reference string) ([]string, error) {
	cut := strings.LastIndexByte(reference, '!')
	if cut < 0 {
		return nil, nil
	}
	name := strings.ReplaceAll(strings.Trim(reference[:cut], "'"), "''", "'")
	wanted, ok := areaOf(reference[cut+1:])
	if !ok {
		from, one := cellOf(reference[cut+1:])
		if wanted = (area{from, point{from.row + 1, from.col + 1}}); !one {
			return nil, nil
		}
	}
	rows, cols := wanted.to.row-wanted.from.row, wanted.to.col-wanted.from.col
	part, known := x.names[name]
	if !known || rows > document.MaxCells || rows*cols > document.MaxCells {
		return nil, nil
	}
	found, read := x.read[part]
	if !read {
		var err error
		if found, _, err = x.cells(part); err != nil {
			return nil, err
		}
		x.remember(part, found)
	}
	list := make([]string, 0, rows*cols)
	filled := false
	for row := range rows {
		for col := range cols {
			text := found[point{wanted.from.row + row, wanted.from.col + col}]
			filled = filled || text != ""
			list = append(list, text)
		}
	}
	if !filled {
		return nil, nil
	}
	return list, nil
}

// remember keeps the cells of one sheet: the charts of a sheet refer to few others.
func (x *xlsx) remember(part string, found values) { x.read = map[string]values{part: found} }
