package document

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// wire is the JSON of a document: texts without the fields of other labels,
// tables with their grid.
type wire struct {
	SchemaName    string      `json:"schema_name"`
	Version       string      `json:"version"`
	Name          string      `json:"name"`
	Origin        *Origin     `json:"origin,omitempty"`
	Furniture     *Group      `json:"furniture"`
	Body          *Group      `json:"body"`
	Groups        []*Group    `json:"groups"`
	Texts         []*textWire `json:"texts"`
	Pictures      []*Picture  `json:"pictures"`
	Tables        []*tableOut `json:"tables"`
	KeyValueItems []*Region   `json:"key_value_items"`
	FormItems     []*Region   `json:"form_items"`
	FieldRegions  []*Region   `json:"field_regions,omitempty"`
	FieldItems    []*Region   `json:"field_items,omitempty"`
	Pages         Pages       `json:"pages"`
	Dropped       []string    `json:"dropped,omitempty"`
}

// tableOut is a table as it is written: its data are a gridWire, or where there
// are many cells a shortWire.
type tableOut struct {
	Item
	Floating
	Data        any   `json:"data"`
	Annotations []Raw `json:"annotations"`
}

type tableWire struct {
	Item
	Floating
	Data        gridWire `json:"data"`
	Annotations []Raw    `json:"annotations"`
}

type gridWire struct {
	TableData
	Grid [][]Cell `json:"grid"`
}

// A shortWire is a table without its grid, of cells without what readers take for
// granted.
type shortWire struct {
	Cells       []shortCell `json:"table_cells"`
	NumRows     int         `json:"num_rows"`
	NumCols     int         `json:"num_cols"`
	Orientation string      `json:"orientation,omitempty"`
}

// A shortCell is a [Cell] whose default members are left out.
type shortCell struct {
	BBox         *BBox  `json:"bbox,omitempty"`
	RowSpan      int    `json:"row_span,omitempty"`
	ColSpan      int    `json:"col_span,omitempty"`
	StartRow     int    `json:"start_row_offset_idx"`
	EndRow       int    `json:"end_row_offset_idx"`
	StartCol     int    `json:"start_col_offset_idx"`
	EndCol       int    `json:"end_col_offset_idx"`
	Text         string `json:"text"`
	ColumnHeader bool   `json:"column_header,omitempty"`
	RowHeader    bool   `json:"row_header,omitempty"`
	RowSection   bool   `json:"row_section,omitempty"`
	Fillable     bool   `json:"fillable,omitempty"`
	Ref          *Ref   `json:"ref,omitempty"`
}

// short is the data of a table in short.
func (d *TableData) short() *shortWire {
	w := &shortWire{Cells: make([]shortCell, len(d.Cells)), NumRows: d.NumRows, NumCols: d.NumCols, Orientation: d.Orientation}
	for i, c := range d.Cells {
		if c.RowSpan == 1 {
			c.RowSpan = 0
		}
		if c.ColSpan == 1 {
			c.ColSpan = 0
		}
		w.Cells[i] = shortCell(c)
	}
	return w
}

// Encode writes d as JSON: references as $ref, no nulls, tables with their
// computed grid (or in short, from [ManyCells] on), the same bytes for the same
// document. Indent is the number of spaces a level; 0 writes one line. d must have
// passed Check or Decode.
func Encode(d *Document, indent int) ([]byte, error) {
	w := wire{
		SchemaName: d.SchemaName, Version: d.Version, Name: d.Name, Origin: d.Origin,
		Furniture: d.Furniture, Body: d.Body, Groups: d.Groups, Pictures: d.Pictures,
		KeyValueItems: d.KeyValueItems, FormItems: d.FormItems, FieldRegions: d.FieldRegions, FieldItems: d.FieldItems,
		Texts: make([]*textWire, len(d.Texts)), Tables: make([]*tableOut, len(d.Tables)), Pages: d.Pages, Dropped: d.Dropped,
	}
	for i, t := range d.Texts {
		w.Texts[i] = t.wire()
	}
	cells := 0
	for _, t := range d.Tables {
		cells += len(t.Data.Cells)
	}
	for i, t := range d.Tables {
		w.Tables[i] = &tableOut{t.Item, t.Floating, t.Data.short(), t.Annotations}
		if cells <= ManyCells {
			w.Tables[i].Data = gridWire{t.Data, t.Data.Grid()}
		}
	}
	return encode(w, strings.Repeat(" ", indent))
}

// MarshalJSON is Encode on one line.
func (d *Document) MarshalJSON() ([]byte, error) { return Encode(d, 0) }

// encode leaves <, > and & as they are: no browser reads this as a script.
func encode(v any, indent string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// MarshalJSON writes the pages in the order of their numbers.
func (p Pages) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, no := range slices.Sorted(maps.Keys(p)) {
		if i > 0 {
			out.WriteByte(',')
		}
		page, err := encode(p[no], "")
		if err != nil {
			return nil, err
		}
		out.WriteString(strconv.Quote(strconv.Itoa(no)) + ":")
		out.Write(page)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// MarshalJSON writes what was read.
func (r Raw) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON keeps the value in one spelling: no nulls in objects, keys
// sorted, numbers as written.
func (r *Raw) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	if v == nil {
		*r = nil
		return nil
	}
	clean, err := encode(withoutNulls(v), "")
	*r = clean
	return err
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, value any) bool { return value == nil })
		for key, value := range v {
			v[key] = withoutNulls(value)
		}
	case []any:
		for i, value := range v {
			v[i] = withoutNulls(value)
		}
	}
	return v
}
