package docling

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
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

// doclingExportTables are about what documents are written as.
func doclingExportTables() []table.Table {
	export := func(tool, name string) table.Step {
		return table.Step{Tool: tool, Args: table.Members{"document": "$" + name}}
	}
	checked := func(st table.Step, word, title string, want ...table.Expectation) table.Step {
		st.Word, st.Title, st.Want = word, title, table.Succeeds(want...)
		return st
	}
	look := func(word, title string, want ...table.Expectation) table.Step {
		return table.Step{Word: word, Title: title, Want: want}
	}
	shape := func(format string) table.Expectation {
		return table.That("the content as text, and in structuredContent with its format and size", func(doc any, _ map[string]any) bool {
			text := table.TextAt(doc, "text")
			if _, there := table.Lookup(doc, "structured"); !there {
				return strings.Contains(text, "First part")
			}
			return table.TextAt(doc, "structured.format") == format && table.TextAt(doc, "structured.content") == text && table.NumberAt(doc, "structured.size_bytes") == float64(len(text))
		})
	}
	convert := table.Step{Tool: toolDOCX, Args: carried("handbook.docx"), Want: table.Succeeds(), Keep: map[string]string{"doc": "payload"}}
	refused := func(st table.Step, word, title string, want []table.Expectation) table.Step {
		st.Word, st.Title, st.Want = word, title, want
		return st
	}
	furnished := func(word, title string, want ...table.Expectation) table.Step {
		st := export(toolMarkdown, "layers")
		st.Args["options"] = table.Members{"include_furniture": true}
		return checked(st, word, title, want...)
	}
	needs, toHTML, toJSON := doclingNeeds(), doclingNeeds(toolHTML), doclingNeeds(toolJSON)
	var wrong []table.Step
	for _, tool := range []string{toolMarkdown, toolHTML, toolJSON} {
		word := strings.TrimPrefix(tool, "export_")
		wrong = append(wrong,
			refused(export(tool, "other"), word+"-schema", tool+" refuses a document of another schema_name with -32602", table.RPCCode(wire.CodeInvalidParams)),
			refused(export(tool, "broken"), word+"-dangling", tool+" refuses a reference that leads nowhere", RefusedAs(codeExport, wire.CodeInvalidParams)),
			refused(export(tool, "cycle"), word+"-cycle", tool+" refuses a cycle", RefusedAs(codeExport, wire.CodeInvalidParams)),
		)
	}
	all := doclingNeeds(toolHTML, toolJSON)
	return []table.Table{
		doclingTable("S2-EXP-01", "Markdown", needs,
			checked(export(toolMarkdown, "kinds"), "shape", "the text is the content, and nothing else", shape("markdown")),
			look("headings", "the title has one hash, a heading one more than its level", table.Like("text", `(?m)^# The title$`), table.Like("text", `(?m)^## First part$`), table.Like("text", `(?m)^### Second part$`)),
			look("lists", "lists within lists are indented, and numbers kept", table.Like("text", `(?m)^- apples\n- pears\n {2,4}- green$`), table.Like("text", `(?m)^1\. to begin\n2\. to end$`)),
			look("code", "code is fenced", table.Like("text", "(?m)^```\\w*\\nx := 1\\n```$")),
			look("formula", "a formula stands between dollars", table.Like("text", `(?m)^\$\$E=mc\^2\$\$$`)),
			look("looks", "bold, italic, struck and linked text is marked", table.Like("text", `(?m)^\*\*loud\*\*$`), table.Like("text", `(?m)^\*slanted\*$`), table.Like("text", `(?m)^~~struck~~$`), table.Like("text", `(?m)^\[a link\]\(<?https://example\.com/x>?\)$`)),
			look("escapes", "underscores and tags are escaped", table.Like("text", `(?m)^an under\\_score &amp; &lt;b&gt;a tag&lt;/b&gt;$`)),
			look("table", "a table has a header and a rule", table.Like("text", `(?m)^\| Key +\| Value +\|\n\|[-: ]+\|[-: ]+\|$`)),
			table.Step{Requirement: "S2-EXP-07", Word: "cell", Title: "a pipe and a newline in a cell do not break the table", Want: table.Wants(table.Like("text", `(?m)^\| a(&#124;|\\\|)b +\| one( |<br ?/?>)two +\|$`))},
		),
		doclingTable("S2-EXP-02", "Markdown that is read again", doclingNeeds(toolDOCX), convert,
			checked(export(toolMarkdown, "doc"), "headings", "its headings are those of the document", table.That("five headings of their ranks", func(doc any, _ map[string]any) bool {
				return slices.Equal(regexp.MustCompile(`(?m)^#+ .*$`).FindAllString(table.TextAt(doc, "text"), -1),
					[]string{"# The harbour handbook", "## Arriving", "### Papers", "#### Where to hand them in", "## Leaving"})
			})),
			look("lists", "its lists have the depth they had", table.Like("text", `(?m)^1\. Crew list\n2\. Cargo list\n {2,4}\S.*Weights\n {2,4}\S.*Dangerous goods\n {4,8}- Class and number$`), table.Like("text", `(?m)^- Pay the dues\n {2,4}- in cash\n {2,4}- by card\n- Wait for the pilot$`)),
		),
		doclingTable("S2-EXP-03", "HTML", toHTML,
			checked(export(toolHTML, "kinds"), "shape", "the text is the content, and nothing else", shape("html")),
			look("headings", "the title is h1, a heading one below its level", table.Like("text", `<h1[^>]*>The title</h1>`), table.Like("text", `<h2[^>]*>First part</h2>`), table.Like("text", `<h3[^>]*>Second part</h3>`)),
			look("escapes", "text is escaped", table.Like("text", `an under_score &amp; &lt;b&gt;a tag&lt;/b&gt;`)),
			look("lists", "lists are ul and ol with li", table.Like("text", `(?s)<ul>.*<li[^>]*>.*apples.*<ul>.*green.*</ul>.*</ul>`), table.Like("text", `(?s)<ol[^>]*>.*to begin.*</ol>`)),
			look("closed", "every element is closed where it was opened", table.That("elements that nest", func(doc any, _ map[string]any) bool { return balanced(table.TextAt(doc, "text")) })),
			checked(export(toolHTML, "spans"), "spans", "merged cells have rowspan and colspan, headers are th", table.Like("text", `<th[^>]* colspan="2"[^>]*>\s*wide`), table.Like("text", `<th[^>]* rowspan="2"[^>]*>\s*tall`), table.Like("text", `<td[^>]*>\s*left`)),
		),
		doclingTable("S2-EXP-04", "JSON", func() engine.Needs { n := toJSON; n.Tools = append(n.Tools, toolDOCX); return n }(), convert,
			checked(export(toolJSON, "doc"), "same", "the exported document is the one that was given", table.That("the same document", func(doc any, kept map[string]any) bool {
				return kept["doc"] != nil && reflect.DeepEqual(Within(doc, "payload"), kept["doc"])
			})),
		),
		doclingTable("S2-EXP-05", "documents that cannot be exported", all, wrong...),
		doclingTable("S2-EXP-06", "furniture", needs,
			checked(export(toolMarkdown, "layers"), "left-out", "furniture is left out by default", table.Like("text", `^What is said\s*$`)),
			furnished("included", "it is there with include_furniture", table.Like("text", `(?m)^Head of the page$`), table.Like("text", `(?m)^What is said$`)),
		),
	}
}

var htmlTag = regexp.MustCompile(`<(/?)([a-zA-Z][a-zA-Z0-9]*)[^>]*?(/?)>`)

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
