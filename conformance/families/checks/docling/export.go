package docling

import (
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// exportDocuments are what is exported, by name.
var exportDocuments = map[string]func() map[string]any{
	"kinds":  kindsDocument,
	"spans":  spansDocument,
	"layers": layersDocument,
	"broken": func() map[string]any {
		d := newDoclingDraft()
		d.members["body"].(map[string]any)["children"] = []any{map[string]any{"$ref": "#/texts/99"}} //nolint:forcetypeassert // made above
		return d.members
	},
	"cycle": func() map[string]any {
		d := newDoclingDraft()
		d.add("groups", "#/body", table.Members{"label": "list", "name": "list", "children": []any{map[string]any{"$ref": "#/body"}}})
		return d.members
	},
	"other": func() map[string]any {
		d := newDoclingDraft()
		d.members["schema_name"] = "OtherDocument"
		return d.members
	},
}

// kindsDocument has an item of each kind that is written in a way of its own.
func kindsDocument() map[string]any {
	d := newDoclingDraft()
	d.text("#/body", "title", "The title", nil)
	d.text("#/body", "section_header", "First part", table.Members{"level": 1})
	d.text("#/body", "section_header", "Second part", table.Members{"level": 2})
	d.text("#/body", "text", "an under_score & <b>a tag</b>", nil)
	looks := func(name string) table.Members {
		f := map[string]any{"bold": false, "italic": false, "underline": false, "strikethrough": false, "script": "baseline"}
		f[name] = true
		return table.Members{"formatting": f}
	}
	d.text("#/body", "text", "loud", looks("bold"))
	d.text("#/body", "text", "slanted", looks("italic"))
	d.text("#/body", "text", "struck", looks("strikethrough"))
	d.text("#/body", "text", "a link", table.Members{"hyperlink": "https://example.com/x"})
	bullet, number := table.Members{"enumerated": false, "marker": "-"}, func(m string) table.Members { return table.Members{"enumerated": true, "marker": m} }
	list := d.list("#/body")
	d.text(list, "list_item", "apples", bullet)
	pears := d.text(list, "list_item", "pears", bullet)
	d.text(d.list(pears), "list_item", "green", bullet)
	d.text("#/body", "text", "between the lists", nil)
	numbers := d.list("#/body")
	d.text(numbers, "list_item", "to begin", number("1."))
	d.text(numbers, "list_item", "to end", number("2."))
	d.text("#/body", "code", "x := 1", table.Members{"code_language": "unknown", "captions": []any{}, "references": []any{}, "footnotes": []any{}})
	d.text("#/body", "formula", "E=mc^2", nil)
	d.table([]string{"Key", "Value"}, []string{"a|b", "one\ntwo"})
	return d.members
}

// spansDocument has a table with merged cells.
func spansDocument() map[string]any {
	d := newDoclingDraft()
	d.table([]string{"wide", "tall"}, []string{"left", "right"})
	all, _ := d.members["tables"].([]any)
	table, _ := all[0].(map[string]any)
	data, _ := table["data"].(map[string]any)
	cells, _ := data["table_cells"].([]any)
	for _, cell := range cells {
		c, _ := cell.(map[string]any)
		if left, _ := c["start_col_offset_idx"].(int); left == 1 {
			c["start_col_offset_idx"], c["end_col_offset_idx"] = 2, 3
		}
		switch c["text"] {
		case "wide":
			c["col_span"], c["end_col_offset_idx"] = 2, 2
		case "tall":
			c["row_span"], c["end_row_offset_idx"] = 2, 2
		case "right":
			c["start_col_offset_idx"], c["end_col_offset_idx"] = 1, 2
		}
	}
	data["num_cols"] = 3
	return d.members
}

// layersDocument has a line of the page's furniture.
func layersDocument() map[string]any {
	d := newDoclingDraft()
	d.text("#/body", "page_header", "Head of the page", table.Members{"content_layer": "furniture"})
	d.text("#/body", "text", "What is said", nil)
	return d.members
}

var htmlTag = lazyregexp.New(`<(/?)([a-zA-Z][a-zA-Z0-9]*)[^>]*?(/?)>`)

// voidTags are elements without an end.
var voidTags = []string{"br", "hr", "img", "input", "link", "meta", "col", "wbr"}

// balanced reports whether the elements of a page nest.
func balanced(page string) bool {
	var open []string
	tags := htmlTag.FindAllStringSubmatch(page, -1)
	for _, tag := range tags {
		name := strings.ToLower(tag[2])
		switch {
		case tag[3] != "" || slices.Contains(voidTags, name):
		case tag[1] == "":
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			return false
		default:
			open = open[:len(open)-1]
		}
	}
	return len(tags) > 0 && len(open) == 0
}
