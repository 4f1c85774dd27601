package office

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// A point is a place in a table or on a sheet, counted from 0.
type point struct{ row, col int }

// cells collects a table row by row and gives each cell its place: cells that
// reach down from rows above take places in the rows below.
type cells struct {
	list  []document.Cell
	taken map[point]int // place to index in list
	cols  int
	area  int
}

func newCells() *cells { return &cells{taken: map[point]int{}} }

// free is the first place of row from col on that no cell covers.
func (c *cells) free(row, col int) int {
	for {
		if _, ok := c.taken[point{row, col}]; !ok {
			return col
		}
		col++
	}
}

// add puts a cell where nothing is; what would cover another cell is cut.
func (c *cells) add(row, col, rows, cols int, text string) error {
	rows, cols = max(rows, 1), max(cols, 1)
	if rows > document.MaxCells || cols > document.MaxCells || c.area+rows*cols > document.MaxCells {
		return failf(StageBuild, TooLarge, "over %d table cells", document.MaxCells)
	}
	for i := 1; i < cols; i++ {
		if _, ok := c.taken[point{row, col + i}]; ok {
			cols = i
		}
	}
	c.list = append(c.list, document.NewCell(row, col, 1, cols, text))
	c.cols = max(c.cols, col+cols)
	c.cover(row, len(c.list)-1)
	for i := 1; i < rows; i++ {
		c.extend(row+i, len(c.list)-1)
	}
	return nil
}

// extend makes a cell one row longer, if that row is free below it.
func (c *cells) extend(row, index int) bool {
	cell := &c.list[index]
	if row != cell.EndRow {
		return false
	}
	for col := cell.StartCol; col < cell.EndCol; col++ {
		if _, ok := c.taken[point{row, col}]; ok {
			return false
		}
	}
	cell.EndRow++
	cell.RowSpan++
	c.cover(row, index)
	return true
}

func (c *cells) cover(row, index int) {
	for col := c.list[index].StartCol; col < c.list[index].EndCol; col++ {
		c.taken[point{row, col}] = index
		c.area++
	}
}

// data is the table of so many rows. The rows that header names have column
// headers; none named means the first.
func (c *cells) data(rows int, header map[int]bool) (document.TableData, error) {
	if rows > document.MaxCells || rows*c.cols > document.MaxCells {
		return document.TableData{}, failf(StageBuild, TooLarge, "a table of %d × %d cells", rows, c.cols)
	}
	list := slices.Clone(c.list)
	for i := range list {
		cell := &list[i]
		cell.EndRow = min(cell.EndRow, rows) // a span may promise rows that do not come
		cell.RowSpan = cell.EndRow - cell.StartRow
		cell.ColumnHeader = header[cell.StartRow] || len(header) == 0 && cell.StartRow == 0
	}
	return document.TableData{Cells: list, NumRows: rows, NumCols: c.cols}, nil
}
