package document

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
)

// maxJSONDepth bounds what is carried along unread; the schema itself nests to
// about ten.
const maxJSONDepth = 64

// readWire is a document with its parts unread. Keys that only a later version
// knows are passed over here; within items they are refused, as by other readers.
type readWire struct {
	SchemaName    *string                    `json:"schema_name"`
	Version       *string                    `json:"version"`
	Name          *string                    `json:"name"`
	Origin        *Origin                    `json:"origin"`
	Furniture     json.RawMessage            `json:"furniture"`
	Body          json.RawMessage            `json:"body"`
	Groups        []json.RawMessage          `json:"groups"`
	Texts         []json.RawMessage          `json:"texts"`
	Pictures      []json.RawMessage          `json:"pictures"`
	Tables        []json.RawMessage          `json:"tables"`
	KeyValueItems []json.RawMessage          `json:"key_value_items"`
	FormItems     []json.RawMessage          `json:"form_items"`
	FieldRegions  []json.RawMessage          `json:"field_regions"`
	FieldItems    []json.RawMessage          `json:"field_items"`
	Pages         map[string]json.RawMessage `json:"pages"`
	Dropped       []string                   `json:"dropped"`
}

// Decode reads a document, ours or another writer's, and proves that it can be
// walked: sizes and depth are bounded, every reference resolves, nothing
// circles, grids equal their cells. Errors are ErrSchema, ErrInvalid or ErrTooLarge.
func Decode(data []byte) (*Document, error) {
	if len(data) > MaxBytes {
		return nil, tooLargef("over %d bytes", MaxBytes)
	}
	if depthOver(data, maxJSONDepth) {
		return nil, tooLargef("JSON nested deeper than %d", maxJSONDepth)
	}
	var w readWire
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, unreadable(err)
	}
	switch {
	case w.SchemaName == nil || *w.SchemaName != SchemaName:
		return nil, schemaf("schema_name is not %s", SchemaName)
	case w.Name == nil:
		return nil, schemaf("no name")
	case len(w.Pages) > MaxPages:
		return nil, tooLargef("over %d pages", MaxPages)
	case len(w.Dropped) > maxDropped:
		return nil, tooLargef("over %d sentences about what was dropped", maxDropped)
	case len(w.Groups)+len(w.Texts)+len(w.Pictures)+len(w.Tables) > MaxNodes:
		return nil, tooLargef("over %d groups and items", MaxNodes)
	}
	d, err := w.document()
	if err != nil {
		return nil, err
	}
	if d.Version == "1.0.0" {
		layersOfFirst(d)
	}
	return d, CheckStructure(d)
}

// layersOfFirst mends documents of 1.0.0, the version before layers.
func layersOfFirst(d *Document) {
	for _, t := range d.Texts {
		if t.Label == PageHeader || t.Label == PageFooter {
			t.Layer = LayerFurniture
		}
	}
}

func (w *readWire) document() (*Document, error) {
	d := NewBuilder(*w.Name, w.Origin).doc
	if w.Version != nil {
		d.Version = *w.Version
	}
	if len(w.Dropped) > 0 {
		d.Dropped = w.Dropped
	}
	err := cmp.Or(
		readRoot(w.Furniture, d.Furniture), readRoot(w.Body, d.Body),
		readAll(w.Groups, &d.Groups, func(g *Group) error { return groupDefaults(g) }),
		readTexts(w.Texts, d), readTables(w.Tables, d),
		readAll(w.Pictures, &d.Pictures, func(p *Picture) error {
			p.Floating = p.Floating.filled()
			if p.Annotations == nil {
				p.Annotations = []Raw{}
			}
			return itemDefaults(&p.Item, PictureLabel)
		}),
		readAll(w.KeyValueItems, &d.KeyValueItems, regionDefaults("key_value_region")),
		readAll(w.FormItems, &d.FormItems, regionDefaults("form")),
		readAll(w.FieldRegions, &d.FieldRegions, regionDefaults("field_region")),
		readAll(w.FieldItems, &d.FieldItems, regionDefaults("field_item")),
		readPages(w.Pages, d.Pages),
	)
	return d, err
}

// strict reads one part. Unknown keys are an error, so that nothing is lost on
// the way from one document to the next.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return unreadable(err)
	}
	return nil
}

func unreadable(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return invalidf("the JSON ends early")
	}
	return invalidf("%s", strings.TrimPrefix(err.Error(), "json: "))
}

// readAll stops at the first part that is wrong.
func readAll[T any](parts []json.RawMessage, into *[]*T, finish func(*T) error) error {
	for _, part := range parts {
		v := new(T)
		if err := strict(part, v); err != nil {
			return err
		}
		if err := finish(v); err != nil {
			return err
		}
		*into = append(*into, v)
	}
	return nil
}

func readRoot(data json.RawMessage, into *Group) error {
	if data == nil || string(data) == "null" {
		return nil // left out: an empty one
	}
	var g Group
	if err := strict(data, &g); err != nil {
		return err
	}
	*into = g
	return groupDefaults(into)
}

func readTexts(parts []json.RawMessage, d *Document) error {
	var read []*textWire
	if err := readAll(parts, &read, func(w *textWire) error { return itemDefaults(&w.Item, "") }); err != nil {
		return err
	}
	for _, w := range read {
		t := new(Text)
		if err := t.fill(w); err != nil {
			return err
		}
		d.Texts = append(d.Texts, t)
	}
	return nil
}

func readTables(parts []json.RawMessage, d *Document) error {
	var read []*tableWire
	if err := readAll(parts, &read, func(w *tableWire) error { return itemDefaults(&w.Item, TableLabel) }); err != nil {
		return err
	}
	for _, w := range read {
		t := &Table{w.Item, w.Floating.filled(), w.Data.TableData, w.Annotations}
		if t.Annotations == nil {
			t.Annotations = []Raw{}
		}
		if t.Data.Cells == nil {
			t.Data.Cells = []Cell{}
		}
		spanDefaults(t.Data.Cells)
		for _, row := range w.Data.Grid {
			spanDefaults(row)
		}
		if _, err := checkCells(t); err != nil {
			return err // before a grid of that size is made
		}
		if err := checkGrid(t, w.Data.Grid); err != nil {
			return err
		}
		d.Tables = append(d.Tables, t)
	}
	return nil
}

// spanDefaults: a cell without spans covers one place.
func spanDefaults(cells []Cell) {
	for i := range cells {
		c := &cells[i]
		c.RowSpan, c.ColSpan = cmp.Or(c.RowSpan, 1), cmp.Or(c.ColSpan, 1)
	}
}

func readPages(parts map[string]json.RawMessage, into Pages) error {
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		var p Page
		if err := strict(parts[key], &p); err != nil {
			return err
		}
		if p.No < 0 || into[p.No] != nil {
			return invalidf("page %d is there twice, or before the first", p.No)
		}
		into[p.No] = &p
	}
	return nil
}

func nodeDefaults(n *Node) error {
	if n.Children == nil {
		n.Children = []Ref{}
	}
	if n.Layer == "" {
		n.Layer = LayerBody
	}
	switch n.Layer {
	case LayerBody, LayerFurniture, LayerBackground, LayerInvisible, LayerNotes:
		return nil
	}
	return invalidf("%s has content_layer %q", n.SelfRef, n.Layer)
}

func groupDefaults(g *Group) error {
	if g.Label == "" {
		g.Label = Unspecified
	}
	return nodeDefaults(&g.Node)
}

func itemDefaults(i *Item, label Label) error {
	if i.Label == "" {
		i.Label = label
	}
	if i.Label == "" {
		return invalidf("%s has no label", i.SelfRef)
	}
	if i.Prov == nil {
		i.Prov = []Prov{}
	}
	return nodeDefaults(&i.Node)
}

func regionDefaults(label Label) func(*Region) error {
	return func(r *Region) error { return itemDefaults(&r.Item, label) }
}

// depthOver says whether brackets nest deeper than limit. It need not judge
// the JSON otherwise.
func depthOver(data []byte, limit int) bool {
	depth, quoted, escaped := 0, false, false
	for _, c := range data {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '[' || c == '{':
			if depth++; depth > limit {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}
