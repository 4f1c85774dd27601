package document

// A Table is a grid of cells.
type Table struct {
	Item
	Floating
	Data        TableData `json:"data"`
	Annotations []Raw     `json:"annotations"`
}

// TableData are the cells of a table, each once, however many rows and columns
// it covers.
type TableData struct {
	Cells       []Cell `json:"table_cells"`
	NumRows     int    `json:"num_rows"`
	NumCols     int    `json:"num_cols"`
	Orientation string `json:"orientation,omitempty"`
}

// A Cell covers rows StartRow up to and without EndRow, and columns likewise.
type Cell struct {
	BBox         *BBox  `json:"bbox,omitempty"`
	RowSpan      int    `json:"row_span"`
	ColSpan      int    `json:"col_span"`
	StartRow     int    `json:"start_row_offset_idx"`
	EndRow       int    `json:"end_row_offset_idx"`
	StartCol     int    `json:"start_col_offset_idx"`
	EndCol       int    `json:"end_col_offset_idx"`
	Text         string `json:"text"`
	ColumnHeader bool   `json:"column_header"`
	RowHeader    bool   `json:"row_header"`
	RowSection   bool   `json:"row_section"`
	Fillable     bool   `json:"fillable"`
	Ref          *Ref   `json:"ref,omitempty"`
}

// NewCell is a cell at row and col that covers rows × cols places.
func NewCell(row, col, rows, cols int, text string) Cell {
	return Cell{
		RowSpan: rows, ColSpan: cols, StartRow: row, EndRow: row + rows, StartCol: col, EndCol: col + cols, Text: text,
	}
}

// Grid is the table as rows of columns: a merged cell stands in every place it
// covers, a place without a cell has an empty one. Of two cells on one place
// the later wins, as in other readers; Check refuses such a table. What a cell
// refers to stands in Cells alone.
func (d *TableData) Grid() [][]Cell {
	grid := make([][]Cell, max(d.NumRows, 0))
	for row := range grid {
		grid[row] = make([]Cell, max(d.NumCols, 0))
		for col := range grid[row] {
			grid[row][col] = NewCell(row, col, 1, 1, "")
		}
	}
	for _, c := range d.Cells {
		c.Ref = nil
		for row := max(c.StartRow, 0); row < min(c.EndRow, d.NumRows); row++ {
			for col := max(c.StartCol, 0); col < min(c.EndCol, d.NumCols); col++ {
				grid[row][col] = c
			}
		}
	}
	return grid
}
