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
	SchemaName    string       `json:"schema_name"`
	Version       string       `json:"version"`
	Name          string       `json:"name"`
	Origin        *Origin      `json:"origin,omitempty"`
	Furniture     *Group       `json:"furniture"`
	Body          *Group       `json:"body"`
	Groups        []*Group     `json:"groups"`
	Texts         []*textWire  `json:"texts"`
	Pictures      []*Picture   `json:"pictures"`
	Tables        []*tableWire `json:"tables"`
	KeyValueItems []*Region    `json:"key_value_items"`
	FormItems     []*Region    `json:"form_items"`
	FieldRegions  []*Region    `json:"field_regions,omitempty"`
	FieldItems    []*Region    `json:"field_items,omitempty"`
	Pages         Pages        `json:"pages"`
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

// Encode writes d as JSON: references as $ref, no nulls, tables with their
// computed grid, the same bytes for the same document. Indent is the number of
// spaces a level; 0 writes one line. d must have passed Check or Decode.
func Encode(d *Document, indent int) ([]byte, error) {
	w := wire{
		SchemaName: d.SchemaName, Version: d.Version, Name: d.Name, Origin: d.Origin,
		Furniture: d.Furniture, Body: d.Body, Groups: d.Groups, Pictures: d.Pictures,
		KeyValueItems: d.KeyValueItems, FormItems: d.FormItems, FieldRegions: d.FieldRegions, FieldItems: d.FieldItems,
		Texts: make([]*textWire, len(d.Texts)), Tables: make([]*tableWire, len(d.Tables)), Pages: d.Pages,
	}
	for i, t := range d.Texts {
		w.Texts[i] = t.wire()
	}
	for i, t := range d.Tables {
		w.Tables[i] = &tableWire{t.Item, t.Floating, gridWire{t.Data, t.Data.Grid()}, t.Annotations}
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
