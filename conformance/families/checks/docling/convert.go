package docling

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
)

// doclingConvertTables are about what documents become.
func doclingConvertTables() []table.Table {
	convert := func(tool, name, word, title string, want ...table.Expectation) table.Step {
		return table.Step{Word: word, Title: title, Tool: tool, Args: carried(name), Want: table.Succeeds(append([]table.Expectation{table.Is("payload.schema_name", "DoclingDocument")}, want...)...)}
	}
	look := func(word, title string, want ...table.Expectation) table.Step {
		return table.Step{Word: word, Title: title, Want: want}
	}
	const heading, paragraph = "title|section_header", "text|paragraph"
	enumerated := func(is bool) map[string]any { return map[string]any{"enumerated": is} }
	level := func(n int) map[string]any { return map[string]any{"level": n} }
	sound := func(tool, name, word string) table.Step {
		return convert(tool, name, word, word+": references resolve, parents and children agree, cells lie in their tables", table.Like("payload.version", `^1\.\d+\.\d+$`),
			table.Is("payload.name", strings.TrimSuffix(name, "."+word)), table.Is("payload.origin.filename", name), table.Like("payload.origin.mimetype", "^application/"),
			table.Between("payload.origin.binary_hash", 1, 1<<64), soundDocument())
	}
	again := convert(toolDOCX, "handbook.docx", "same", "the same bytes give the same JSON", table.Is("text", "$first"))
	first := again
	first.Word, first.Want, first.Keep = "", nil, map[string]string{"first": "text"}
	return []table.Table{
		doclingTable("S2-CONV-01", "a PDF", doclingNeeds(),
			convert(ToolPDF, "report.pdf", "order", "headings, paragraphs and lists come in reading order", inReadingOrder(
				docItem{labels: heading, text: "Quarterly report"}, docItem{labels: paragraph, text: "The harbour office moved"}, docItem{labels: paragraph, text: "Complaints fell"},
				docItem{labels: heading, text: "What we did"}, docItem{labels: "list_item", text: "Opened the second crane"}, docItem{labels: "list_item", text: "Replaced the paper forms"},
				docItem{labels: heading, text: "What comes next"}, docItem{labels: "list_item", text: "Dredge the eastern basin"}, docItem{labels: paragraph, text: "Both need the consent"},
			)),
			look("lists", "bullets are told from numbers", inReadingOrder(
				docItem{"list_item", "Opened", enumerated(false)}, docItem{"list_item", "Dredge", enumerated(true)}, docItem{"list_item", "Renew", enumerated(true)},
			)),
			look("prov", "texts say their page and their box", table.That("page_no 1 and a box", func(doc any, _ map[string]any) bool {
				texts := table.ArrayAt(doc, "payload.texts")
				for _, text := range texts {
					prov := Within(text, "prov.0")
					if table.NumberAt(prov, "page_no") != 1 || table.NumberAt(prov, "bbox.l") >= table.NumberAt(prov, "bbox.r") || table.NumberAt(prov, "bbox.t") == table.NumberAt(prov, "bbox.b") {
						return false
					}
				}
				return len(texts) > 0
			}), table.Between("payload.pages.1.size.width", 590, 600), table.Between("payload.pages.1.size.height", 840, 845)),
		),
		doclingTable("S2-CONV-02", "a text of an office program", doclingNeeds(toolDOCX),
			convert(toolDOCX, "handbook.docx", "headings", "the title and three levels of headings keep their ranks", inReadingOrder(
				docItem{labels: "title", text: "The harbour handbook"}, docItem{"section_header", "Arriving", level(1)}, docItem{"section_header", "Papers", level(2)},
				docItem{"section_header", "Where to hand them in", level(3)}, docItem{"section_header", "Leaving", level(1)},
			)),
			look("lists", "numbers and bullets keep their order and their kind", inReadingOrder(
				docItem{"list_item", "Crew list", enumerated(true)}, docItem{"list_item", "Cargo list", enumerated(true)}, docItem{labels: "list_item", text: "Weights"},
				docItem{labels: "list_item", text: "Class and number"}, docItem{"list_item", "Pay the dues", enumerated(false)}, docItem{"list_item", "Wait for the pilot", enumerated(false)},
			)),
			look("nested", "a list within a list is one", table.That("in cash below another list than Pay the dues", func(doc any, _ map[string]any) bool {
				parents := map[string]string{}
				for _, text := range table.ArrayAt(doc, "payload.texts") {
					parents[table.TextAt(text, "text")] = table.TextAt(text, "parent.$ref")
				}
				return parents["in cash"] != "" && parents["in cash"] == parents["by card"] && parents["in cash"] != parents["Pay the dues"]
			})),
			look("looks", "bold, italic and links are kept", inReadingOrder(
				docItem{paragraph, "one hour", map[string]any{"formatting.bold": true}}, docItem{paragraph, "channel 12", map[string]any{"formatting.italic": true}},
				docItem{paragraph, "the list of channels", map[string]any{"hyperlink": "https://example.com/harbour?lang=en&page=2"}},
			)),
			convert(toolDOCX, "timetable.docx", "table", "merged cells of a table span what they span", hasCell("Island", 2, 1), hasCell("Weekdays", 1, 2), hasCell("07:30", 1, 1)),
		),
		doclingTable("S2-CONV-03", "a workbook", doclingNeeds(toolXLSX),
			convert(toolXLSX, "budget.xlsx", "sheets", "each worksheet is a group, each block of cells a table", table.Is("payload.groups.#", 2), table.Is("payload.groups.0.label", "sheet"),
				table.Is("payload.groups.1.label", "sheet"), table.Is("payload.tables.#", 3), table.Is("payload.tables.0.parent.$ref", "#/groups/0"), table.Is("payload.tables.1.parent.$ref", "#/groups/0"), table.Is("payload.tables.2.parent.$ref", "#/groups/1")),
			look("spans", "merged cells span what they span", hasCell("Budget 2026", 1, 3), hasCell("Days", 1, 2), hasCell("Ann", 2, 1)),
			look("formulas", "formulas are their results", hasCell("1500", 1, 1), hasCell("1522.5", 1, 1)),
		),
		doclingTable("S2-CONV-04", "slides", doclingNeeds(toolPPTX),
			convert(toolPPTX, "talk.pptx", "slides", "each slide is a group and a page", table.Has("payload.pages.1"), table.Has("payload.pages.2"), table.Has("payload.pages.3"), table.Lacks("payload.pages.4"), inReadingOrder(
				docItem{labels: "chapter|slide"}, docItem{labels: "title", text: "Lights of the coast"}, docItem{labels: "chapter|slide"}, docItem{labels: "title", text: "What they do"},
				docItem{labels: "list_item", text: "Warn"}, docItem{labels: "list_item", text: "of rocks"}, docItem{labels: "list_item", text: "Guide"}, docItem{labels: "chapter|slide"}, docItem{labels: "title", text: "Ranges"},
			)),
			look("table", "a table keeps its cells", hasCell("Light", 1, 1), hasCell("Range", 1, 2), hasCell("North", 2, 1)),
			look("notes", "notes of the speaker are in the layer notes", inReadingOrder(docItem{paragraph, "Show the chart here.", map[string]any{"content_layer": "notes"}})),
		),
		doclingTable("S2-CONV-06", "the form of documents", doclingNeeds(toolDOCX, toolXLSX, toolPPTX),
			sound(ToolPDF, "report.pdf", "pdf"), sound(toolDOCX, "timetable.docx", "docx"), sound(toolXLSX, "budget.xlsx", "xlsx"), sound(toolPPTX, "talk.pptx", "pptx"),
		),
		doclingTable("S2-CONV-07", "the same document twice", doclingNeeds(toolDOCX), first, again),
	}
}
