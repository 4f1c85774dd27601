package docling

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// docItem is an item of a DoclingDocument, as expected.
type docItem struct {
	// Label is the label, or several with "|" between them; Text is how the text begins.
	Label, Text string
	// Has are more members, by path.
	Has map[string]any
}

// resolve returns the item a reference leads to, nil for none.
func resolve(document any, ref string) any {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	item, _ := table.Lookup(document, strings.ReplaceAll(path, "/", "."))
	return item
}

// itemsRead returns the items of a document in reading order.
func itemsRead(document any) []any {
	var all []any
	var walk func(item any, depth int)
	walk = func(item any, depth int) {
		if item == nil || depth > 50 || len(all) > 1000 {
			return
		}
		all = append(all, item)
		for _, child := range table.ArrayAt(item, "children") {
			walk(resolve(document, table.TextAt(child, "$ref")), depth+1)
		}
	}
	walk(resolve(document, "#/body"), 0)
	return all
}

// inReadingOrder expects items one after the other in the document of an answer, with
// others between them or not.
func inReadingOrder(items ...docItem) table.Expectation {
	words := make([]string, len(items))
	for i, want := range items {
		words[i] = strings.TrimSpace(want.Label + " " + want.Text)
	}
	return table.That("in this order: "+rawjson.Clip(strings.Join(words, ", "), 200), func(doc any, _ map[string]any) bool {
		payload, _ := table.Lookup(doc, "payload")
		at := 0
		for _, item := range itemsRead(payload) {
			if at < len(items) && items[at].is(item) {
				at++
			}
		}
		return at == len(items)
	})
}

func (want docItem) is(item any) bool {
	if !slices.Contains(strings.Split(want.Label, "|"), table.TextAt(item, "label")) || !strings.HasPrefix(table.TextAt(item, "text"), want.Text) {
		return false
	}
	for path, value := range want.Has {
		if !table.Is(path, value).Holds(Within(item, path), true, nil) {
			return false
		}
	}
	return true
}

// Within returns the value at a path, nil for none.
func Within(v any, path string) any {
	found, _ := table.Lookup(v, path)
	return found
}

// hasCell expects a cell in one of the tables of the document: its text and how
// many rows and columns it spans.
func hasCell(text string, rows, columns float64) table.Expectation {
	return table.That(fmt.Sprintf("a cell %q over %v rows and %v columns", text, rows, columns), func(doc any, _ map[string]any) bool {
		for _, grid := range table.ArrayAt(doc, "payload.tables") {
			for _, cell := range table.ArrayAt(grid, "data.table_cells") {
				if table.TextAt(cell, "text") == text && table.NumberAt(cell, "row_span") == rows && table.NumberAt(cell, "col_span") == columns {
					return true
				}
			}
		}
		return false
	})
}

// unsound says what is wrong with a document, "" for nothing.
func unsound(document any) string {
	seen := map[string]bool{}
	for _, list := range []string{"groups", "texts", "tables", "pictures"} {
		for i, item := range table.ArrayAt(document, list) {
			ref := table.TextAt(item, "self_ref")
			if ref != fmt.Sprintf("#/%s/%d", list, i) || seen[ref] {
				return "self_ref " + ref
			}
			seen[ref] = true
			parent := resolve(document, table.TextAt(item, "parent.$ref"))
			if !slices.ContainsFunc(table.ArrayAt(parent, "children"), func(c any) bool { return table.TextAt(c, "$ref") == ref }) {
				return ref + " is no child of its parent"
			}
			if table.TextAt(item, "label") == "list_item" && table.TextAt(parent, "label") != "list" {
				return ref + " is in no list"
			}
			for _, prov := range table.ArrayAt(item, "prov") {
				if Within(document, fmt.Sprintf("pages.%v", table.NumberAt(prov, "page_no"))) == nil {
					return ref + " is on no page"
				}
			}
			if fault := unfit(item); list == "tables" && fault != "" {
				return ref + ": " + fault
			}
		}
	}
	for _, item := range itemsRead(document) {
		for _, child := range table.ArrayAt(item, "children") {
			if ref := table.TextAt(child, "$ref"); !seen[ref] {
				return "no item " + ref
			}
		}
	}
	return ""
}

// unfit says how the cells of a table break its size, "" if they do not.
func unfit(grid any) string {
	rows, columns := table.NumberAt(grid, "data.num_rows"), table.NumberAt(grid, "data.num_cols")
	taken := map[[2]float64]bool{}
	for _, cell := range table.ArrayAt(grid, "data.table_cells") {
		top, bottom := table.NumberAt(cell, "start_row_offset_idx"), table.NumberAt(cell, "end_row_offset_idx")
		left, right := table.NumberAt(cell, "start_col_offset_idx"), table.NumberAt(cell, "end_col_offset_idx")
		if top < 0 || left < 0 || bottom > rows || right > columns || bottom-top != table.NumberAt(cell, "row_span") || right-left != table.NumberAt(cell, "col_span") {
			return "a cell outside"
		}
		for row := top; row < bottom; row++ {
			for column := left; column < right; column++ {
				if taken[[2]float64{row, column}] {
					return "two cells in one place"
				}
				taken[[2]float64{row, column}] = true
			}
		}
	}
	return ""
}

// doclingDraft builds a document to export.
type doclingDraft struct{ members map[string]any }

func newDoclingDraft() *doclingDraft {
	root := func(layer string) map[string]any {
		return map[string]any{"self_ref": "#/" + layer, "children": []any{}, "content_layer": layer, "name": "_root_", "label": "unspecified"}
	}
	return &doclingDraft{map[string]any{
		"schema_name": "DoclingDocument", "version": "1.10.0", "name": "suite", "furniture": root("furniture"), "body": root("body"),
		"groups": []any{}, "texts": []any{}, "pictures": []any{}, "tables": []any{}, "key_value_items": []any{}, "form_items": []any{}, "pages": map[string]any{},
	}}
}

// add adds an item to a list of the document, below a parent, and returns its
// reference.
func (d *doclingDraft) add(list, parent string, item table.Members) string {
	all, _ := d.members[list].([]any)
	ref := fmt.Sprintf("#/%s/%d", list, len(all))
	whole := map[string]any{"self_ref": ref, "parent": map[string]any{"$ref": parent}, "children": []any{}, "content_layer": "body"}
	for name, value := range item {
		whole[name] = value
	}
	d.members[list] = append(all, whole)
	above, _ := resolve(d.members, parent).(map[string]any)
	children, _ := above["children"].([]any)
	above["children"] = append(children, map[string]any{"$ref": ref})
	return ref
}

// text adds a text with a label.
func (d *doclingDraft) text(parent, label, text string, more table.Members) string {
	return d.add("texts", parent, table.Members{"label": label, "text": text, "orig": text, "prov": []any{}}.With(more))
}

// list adds a list and returns its reference.
func (d *doclingDraft) list(parent string) string {
	return d.add("groups", parent, table.Members{"label": "list", "name": "list"})
}

// table adds a table of cells; the first row is its header.
func (d *doclingDraft) table(rows ...[]string) {
	var cells []any
	for i, row := range rows {
		for j, text := range row {
			cells = append(cells, map[string]any{
				"row_span": 1, "col_span": 1, "start_row_offset_idx": i, "end_row_offset_idx": i + 1, "start_col_offset_idx": j, "end_col_offset_idx": j + 1,
				"text": text, "column_header": i == 0, "row_header": false, "row_section": false,
			})
		}
	}
	d.add("tables", "#/body", table.Members{
		"label": "table", "prov": []any{}, "captions": []any{}, "references": []any{}, "footnotes": []any{},
		"data": map[string]any{"table_cells": cells, "num_rows": len(rows), "num_cols": len(rows[0])},
	})
}
