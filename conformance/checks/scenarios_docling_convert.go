package checks

import "strings"

// doclingConvertTables are about what documents become.
func doclingConvertTables() []table {
	convert := func(tool, name, word, title string, want ...expectation) step {
		return step{word: word, title: title, tool: tool, args: carried(name), want: succeeds(append([]expectation{is("payload.schema_name", "DoclingDocument")}, want...)...)}
	}
	look := func(word, title string, want ...expectation) step { return step{word: word, title: title, want: want} }
	const heading, paragraph = "title|section_header", "text|paragraph"
	enumerated := func(is bool) map[string]any { return map[string]any{"enumerated": is} }
	level := func(n int) map[string]any { return map[string]any{"level": n} }
	sound := func(tool, name, word string) step {
		return convert(tool, name, word, word+": references resolve, parents and children agree, cells lie in their tables", like("payload.version", `^1\.\d+\.\d+$`),
			is("payload.name", strings.TrimSuffix(name, "."+word)), is("payload.origin.filename", name), like("payload.origin.mimetype", "^application/"),
			between("payload.origin.binary_hash", 1, 1<<64), soundDocument())
	}
	again := convert(toolDOCX, "handbook.docx", "same", "the same bytes give the same JSON", is("text", "$first"))
	first := again
	first.word, first.want, first.keep = "", nil, map[string]string{"first": "text"}
	return []table{
		doclingTable("S2-CONV-01", "a PDF", doclingNeeds(),
			convert(toolPDF, "report.pdf", "order", "headings, paragraphs and lists come in reading order", inReadingOrder(
				docItem{labels: heading, text: "Quarterly report"}, docItem{labels: paragraph, text: "The harbour office moved"}, docItem{labels: paragraph, text: "Complaints fell"},
				docItem{labels: heading, text: "What we did"}, docItem{labels: "list_item", text: "Opened the second crane"}, docItem{labels: "list_item", text: "Replaced the paper forms"},
				docItem{labels: heading, text: "What comes next"}, docItem{labels: "list_item", text: "Dredge the eastern basin"}, docItem{labels: paragraph, text: "Both need the consent"},
			)),
			look("lists", "bullets are told from numbers", inReadingOrder(
				docItem{"list_item", "Opened", enumerated(false)}, docItem{"list_item", "Dredge", enumerated(true)}, docItem{"list_item", "Renew", enumerated(true)},
			)),
			look("prov", "texts say their page and their box", that("page_no 1 and a box", func(doc any, _ map[string]any) bool {
				texts := arrayAt(doc, "payload.texts")
				for _, text := range texts {
					prov := within(text, "prov.0")
					if numberAt(prov, "page_no") != 1 || numberAt(prov, "bbox.l") >= numberAt(prov, "bbox.r") || numberAt(prov, "bbox.t") == numberAt(prov, "bbox.b") {
						return false
					}
				}
				return len(texts) > 0
			}), between("payload.pages.1.size.width", 590, 600), between("payload.pages.1.size.height", 840, 845)),
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
			look("nested", "a list within a list is one", that("in cash below another list than Pay the dues", func(doc any, _ map[string]any) bool {
				parents := map[string]string{}
				for _, text := range arrayAt(doc, "payload.texts") {
					parents[textAt(text, "text")] = textAt(text, "parent.$ref")
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
			convert(toolXLSX, "budget.xlsx", "sheets", "each worksheet is a group, each block of cells a table", is("payload.groups.#", 2), is("payload.groups.0.label", "sheet"),
				is("payload.groups.1.label", "sheet"), is("payload.tables.#", 3), is("payload.tables.0.parent.$ref", "#/groups/0"), is("payload.tables.1.parent.$ref", "#/groups/0"), is("payload.tables.2.parent.$ref", "#/groups/1")),
			look("spans", "merged cells span what they span", hasCell("Budget 2026", 1, 3), hasCell("Days", 1, 2), hasCell("Ann", 2, 1)),
			look("formulas", "formulas are their results", hasCell("1500", 1, 1), hasCell("1522.5", 1, 1)),
		),
		doclingTable("S2-CONV-04", "slides", doclingNeeds(toolPPTX),
			convert(toolPPTX, "talk.pptx", "slides", "each slide is a group and a page", has("payload.pages.1"), has("payload.pages.2"), has("payload.pages.3"), lacks("payload.pages.4"), inReadingOrder(
				docItem{labels: "chapter|slide"}, docItem{labels: "title", text: "Lights of the coast"}, docItem{labels: "chapter|slide"}, docItem{labels: "title", text: "What they do"},
				docItem{labels: "list_item", text: "Warn"}, docItem{labels: "list_item", text: "of rocks"}, docItem{labels: "list_item", text: "Guide"}, docItem{labels: "chapter|slide"}, docItem{labels: "title", text: "Ranges"},
			)),
			look("table", "a table keeps its cells", hasCell("Light", 1, 1), hasCell("Range", 1, 2), hasCell("North", 2, 1)),
			look("notes", "notes of the speaker are in the layer notes", inReadingOrder(docItem{paragraph, "Show the chart here.", map[string]any{"content_layer": "notes"}})),
		),
		doclingTable("S2-CONV-06", "the form of documents", doclingNeeds(toolDOCX, toolXLSX, toolPPTX),
			sound(toolPDF, "report.pdf", "pdf"), sound(toolDOCX, "timetable.docx", "docx"), sound(toolXLSX, "budget.xlsx", "xlsx"), sound(toolPPTX, "talk.pptx", "pptx"),
		),
		doclingTable("S2-CONV-07", "the same document twice", doclingNeeds(toolDOCX), first, again),
	}
}
