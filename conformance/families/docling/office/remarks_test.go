package office_test

import (
	"archive/zip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
)

// wordWith is a document with that body and one more part, which it relates to.
func wordWith(t *testing.T, body, kind, content string) *document.Document {
	t.Helper()
	parts := wordParts(body)
	parts["word/_rels/document.xml.rels"] = rels(relTo("more", kind, "more.xml"))
	parts["word/more.xml"] = content
	d, err := office.DOCX(t.Context(), archive(t, zip.Deflate, parts), "x.docx", office.Options{})
	require.NoError(t, err)
	return d
}

func TestComments(t *testing.T) {
	t.Parallel()
	p := func(content string) string { return `<w:p>` + content + `</w:p>` }
	run := func(text string) string { return `<w:r><w:t>` + text + `</w:t></w:r>` }
	begin := func(id string) string { return `<w:commentRangeStart w:id="` + id + `"/>` }
	body := p(run("no remark")) +
		p(begin("0")+run("a place")+`<w:commentRangeEnd w:id="0"/><w:r><w:commentReference w:id="0"/></w:r>`) +
		begin("1") + p(run("plain ")+`<w:r><w:rPr><w:b/></w:rPr><w:t>bold</w:t></w:r>`) +
		`<w:tbl><w:tr><w:tc>` + p(begin("2")+run("in")) + `</w:tc><w:tc>` + p(run("out")) + `</w:tc></w:tr></w:tbl>`
	remark := func(attrs, text string) string { return `<w:comment ` + attrs + `>` + text + `</w:comment>` }
	d := wordWith(t, body, "comments", `<w:comments`+wordNames+`>`+
		remark(`w:id="0" w:author="Ann Lee" w:initials="AL" w:date="2026-01-04T05:48:07Z"`, p(run("Which one?"))+p(run("Say."))+p(""))+
		remark(`w:id="1" w:author="Bo"`, p(run("Good")))+
		remark(`w:id="2" w:date="yesterday"`, p(run("Check")))+
		remark(`w:id="3"`, p(run("lost")))+remark(`w:id="4" w:author="Bo"`, p(""))+`</w:comments>`)
	require.Equal(t, []string{
		"text: no remark", "text: a place", "inline", "  text: plain", "  text b: bold", "table [in] [out]",
		"comment_section", "  text (notes): Which one?⏎Say.",
		"comment_section", "  text (notes): Good",
		"comment_section", "  text (notes): Check",
		"comment_section", "  text (notes): lost",
	}, outline(d))
	about := func(item document.Item) []string {
		var refs []string
		for _, ref := range item.Comments {
			refs = append(refs, string(ref))
		}
		return refs
	}
	require.Empty(t, about(d.Texts[0].Item))
	require.Equal(t, []string{"comment-0, Ann Lee (AL), 2026-01-04T05:48:07.000+00:00", "comment-1, Bo", "comment-2, yesterday", "comment-3"}, groupNames(d.Groups[1:]))
	require.Equal(t, document.LayerNotes, d.Groups[1].Layer)
	require.Equal(t, []string{`{"$ref":"#/groups/1"}`}, about(d.Texts[1].Item))
	require.Equal(t, []string{`{"$ref":"#/groups/2"}`}, about(d.Texts[2].Item))
	require.Equal(t, []string{`{"$ref":"#/groups/2"}`}, about(d.Texts[3].Item))
	require.Equal(t, []string{`{"$ref":"#/groups/3"}`}, about(d.Tables[0].Item))
}

func TestCheckboxes(t *testing.T) {
	t.Parallel()
	const w14 = ` xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"`
	box := func(state, char string) string {
		return `<w:sdt><w:sdtPr><w14:checkbox` + w14 + `><w14:checked w14:val="` + state + `"/></w14:checkbox></w:sdtPr><w:sdtContent><w:r><w:t>` + char + `</w:t></w:r></w:sdtContent></w:sdt>`
	}
	field := func(data, code string) string {
		return `<w:r><w:fldChar w:fldCharType="begin"><w:ffData>` + data + `</w:ffData></w:fldChar></w:r><w:r><w:instrText>` + code + `</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>`
	}
	run := func(text string) string { return `<w:r><w:t xml:space="preserve">` + text + `</w:t></w:r>` }
	p := func(content string) string { return `<w:p>` + content + `</w:p>` }
	for name, tt := range map[string]struct {
		body string
		want []string
	}{
		"of a content control": {p(box("1", "☒")+run(" Tea")) + p(box("0", "☐")+run("Coffee")), []string{"checkbox_selected: Tea", "checkbox_unselected: Coffee"}},
		"after its label":      {p(run("Tea ") + box("1", "☒")), []string{"checkbox_selected: Tea"}},
		"two of them":          {p(box("1", "☒") + run(" yes ") + box("0", "☐") + run(" no")), []string{"text: ☒ yes ☐ no"}},
		"alone":                {p(box("1", "☒")), []string{"text: ☒"}},
		"in a table":           {`<w:tbl><w:tr><w:tc>` + p(box("0", "☐")+run(" a")) + `</w:tc><w:tc>` + p(run("b")) + `</w:tc></w:tr></w:tbl>`, []string{"table [☐ a] [b]"}},
		"of an old form":       {p(field(`<w:checkBox><w:default w:val="1"/></w:checkBox>`, "FORMCHECKBOX") + run(" Tea")), []string{"checkbox_selected: Tea"}},
		"of an old form, off":  {p(field(`<w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox>`, "FORMCHECKBOX") + run(" Tea")), []string{"checkbox_unselected: Tea"}},
		"a chosen entry":       {p(run("Drink: ") + field(`<w:ddList><w:result w:val="1"/><w:listEntry w:val="Tea"/><w:listEntry w:val="Milk"/></w:ddList>`, "FORMDROPDOWN")), []string{"text: Drink: Milk"}},
		"no such entry":        {p(run("Drink") + field(`<w:ddList><w:result w:val="9"/><w:listEntry w:val="Tea"/></w:ddList>`, "FORMDROPDOWN")), []string{"text: Drink"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := office.DOCX(t.Context(), word(t, tt.body), "x.docx", office.Options{})
			require.NoError(t, err)
			require.Equal(t, tt.want, outline(d))
		})
	}
}

// The text of a diagram is in a separate part of the package, and the numbers of
// lists are in none.
func TestTextElsewhere(t *testing.T) {
	t.Parallel()
	p := func(text string) string { return `<w:p><w:r><w:t>` + text + `</w:t></w:r></w:p>` }
	const dgm = ` xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"`
	d := wordWith(t, p("before")+`<w:p><w:r><w:drawing><a:graphic`+dgm+`><a:graphicData><d:relIds r:dm="more"/></a:graphicData></a:graphic></w:drawing></w:r></w:p>`+p("after"),
		"diagramData", `<d:dataModel`+dgm+`><d:ptLst><d:pt><d:t><a:p><a:r><a:t>Plan, </a:t></a:r><a:r><a:t>then</a:t></a:r></a:p><a:p/></d:t></d:pt><d:pt><d:t><a:p><a:r><a:t>do</a:t></a:r></a:p></d:t></d:pt></d:ptLst></d:dataModel>`)
	require.Equal(t, []string{"text: before", "text: Plan, then", "text: do", "text: after"}, outline(d))

	numbered := `<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>`
	d = wordWith(t, `<w:tbl><w:tr><w:tc>`+numbered+`one</w:t></w:r></w:p>`+numbered+`two</w:t></w:r></w:p></w:tc><w:tc>`+p("x")+`</w:tc></w:tr><w:tr><w:trPr><w:del/></w:trPr><w:tc>`+p("gone")+`</w:tc></w:tr></w:tbl>`+numbered+`three</w:t></w:r></w:p>`,
		"numbering", `<w:numbering`+wordNames+`><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`)
	require.Equal(t, []string{"table [1. one⏎2. two] [x]", "list", "  list_item 3.: three"}, outline(flat(d)))
}

// flat puts a mark where the text of cells has line breaks.
func flat(d *document.Document) *document.Document {
	for _, table := range d.Tables {
		for i, cell := range table.Data.Cells {
			table.Data.Cells[i].Text = strings.ReplaceAll(cell.Text, "\n", "⏎")
		}
	}
	return d
}

// Comments of sheets are about the table that holds their cell. A thread counts,
// not the copy of it for older programs.
func TestCommentsOfSheets(t *testing.T) {
	t.Parallel()
	parts := bookParts(`<row r="1"><c r="A1"><v>1</v></c><c r="C1"><v>2</v></c></row>`)
	parts["xl/_rels/workbook.xml.rels"] = rels(relTo("s", "worksheet", "worksheets/sheet1.xml") + relTo("p", "person", "persons/p.xml"))
	parts["xl/persons/p.xml"] = `<personList><person id="{1}" displayName="Jane Smith"/></personList>`
	parts["xl/worksheets/_rels/sheet1.xml.rels"] = rels(relTo("c", "comments", "../comments1.xml") + relTo("t", "threadedComment", "../threads.xml"))
	parts["xl/comments1.xml"] = `<comments><authors><author>Ann</author><author>tc={9}</author></authors><commentList>` +
		`<comment ref="A1" authorId="0"><text><r><t>Why </t></r><r><t>one?</t></r></text></comment><comment ref="C1" authorId="1"><text><t>[Threaded comment] two</t></text></comment></commentList></comments>`
	parts["xl/threads.xml"] = `<ThreadedComments><threadedComment ref="C1" dT="2026-06-18T17:12:37.41" personId="{1}"><text>Two?</text></threadedComment><threadedComment ref="Z99" personId="{2}"><text>Nobody</text></threadedComment></ThreadedComments>`
	d, err := office.XLSX(t.Context(), archive(t, zip.Deflate, parts), "x.xlsx", office.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{
		"sheet", "  table [1]", "  table [2]",
		"comment_section", "  text (notes): Why one?",
		"comment_section", "  text (notes): Two?",
		"comment_section", "  text (notes): Nobody",
	}, outline(d))
	require.Equal(t, []document.Raw{document.Raw(`{"$ref":"#/groups/1"}`)}, d.Tables[0].Comments)
	require.Equal(t, []document.Raw{document.Raw(`{"$ref":"#/groups/2"}`)}, d.Tables[1].Comments)
	require.Equal(t, []string{"comment-One-A1, Ann", "comment-One-C1, Jane Smith, 2026-06-18T17:12:37.410", "comment-One-Z99"}, groupNames(d.Groups[1:]))
}

// Text boxes and the controls of forms lie on the cells of a sheet.
func TestShapesOfSheets(t *testing.T) {
	t.Parallel()
	const names = ` xmlns:x="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"` + drawNames + ` xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"`
	shape := func(id, text string) string {
		return `<x:twoCellAnchor><x:from><x:col>1</x:col><x:row>2</x:row></x:from><x:to><x:col>3</x:col><x:row>4</x:row></x:to><x:sp><x:nvSpPr><x:cNvPr id="` + id + `"/></x:nvSpPr><x:txBody>` + text + `</x:txBody></x:sp></x:twoCellAnchor>`
	}
	parts := bookParts(`<row><c><v>1</v></c></row>`)
	parts["xl/worksheets/sheet1.xml"] = strings.Replace(parts["xl/worksheets/sheet1.xml"], `</worksheet>`,
		`<controls><control shapeId="7" r:id="c7"/><control shapeId="8" r:id="c8"/></controls></worksheet>`, 1)
	parts["xl/worksheets/_rels/sheet1.xml.rels"] = rels(relTo("d", "drawing", "../drawings/d.xml") + relTo("c7", "ctrlProp", "../ctrlProps/7.xml") + relTo("c8", "ctrlProp", "../ctrlProps/8.xml"))
	parts["xl/ctrlProps/7.xml"] = `<formControlPr objectType="CheckBox" checked="Checked"/>`
	parts["xl/ctrlProps/8.xml"] = `<formControlPr objectType="CheckBox"/>`
	parts["xl/drawings/d.xml"] = `<x:wsDr` + names + `>` + shape("2", para(">", "A note")+para(">", "in two")) + `<mc:AlternateContent><mc:Choice Requires="a14">` + shape("7", para(">", "Tea")) + `</mc:Choice><mc:Fallback/></mc:AlternateContent>` + shape("8", para(">", "Milk")) + shape("9", "") +
		`<x:oneCellAnchor><x:graphicFrame><a:graphic><a:graphicData><d:relIds xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram" r:dm="dm"/></a:graphicData></a:graphic></x:graphicFrame></x:oneCellAnchor></x:wsDr>`
	parts["xl/drawings/_rels/d.xml.rels"] = rels(relTo("dm", "diagramData", "../diagrams/data1.xml"))
	parts["xl/diagrams/data1.xml"] = `<dataModel><ptLst><pt><t><p><r><t>Top</t></r></p></t></pt></ptLst></dataModel>`
	d, err := office.XLSX(t.Context(), archive(t, zip.Deflate, parts), "x.xlsx", office.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"sheet", "  table [1]", "  text: A note⏎in two", "  checkbox_selected: Tea", "  checkbox_unselected: Milk", "  text: Top"}, outline(d))
	require.Equal(t, document.BBox{L: 1, T: 2, R: 4, B: 5, Origin: document.TopLeft}, d.Texts[0].Prov[0].BBox)
}

func TestBesideSlides(t *testing.T) {
	t.Parallel()
	parts := unpack(t, deck(t, `<p:graphicFrame><a:graphic><a:graphicData><d:relIds xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram" r:dm="dm"/></a:graphicData></a:graphic></p:graphicFrame>`))
	parts["ppt/slides/_rels/s.xml.rels"] = rels(relTo("dm", "diagramData", "../diagrams/data1.xml") + relTo("c", "comments", "../comments/c.xml") + relTo("n", "notesSlide", "../notes/n.xml"))
	parts["ppt/diagrams/data1.xml"] = `<dataModel><ptLst><pt><t><p><r><t>Top</t></r></p></t></pt><pt/></ptLst></dataModel>`
	parts["ppt/notes/n.xml"] = `<p:notes` + drawNames + `><p:cSld><p:spTree><p:sp><p:nvSpPr><p:nvPr><p:ph type="sldNum"/></p:nvPr></p:nvSpPr><p:txBody>` + para(">", "7") + `</p:txBody></p:sp><p:sp><p:nvSpPr><p:nvPr/></p:nvSpPr><p:txBody>` + para(">", "a box of the notes") + `</p:txBody></p:sp></p:spTree></p:cSld></p:notes>`
	parts["ppt/comments/c.xml"] = `<cmLst><cm authorId="0" dt="2026-01-01T00:00:00"><text>Good</text></cm>` +
		`<cm authorId="{A}" created="2026-06-18T17:35:35.236"><replyLst><reply authorId="{B}"><txBody>` + `<p><r><t>Yes</t></r></p>` + `</txBody></reply></replyLst><txBody><p><r><t>Really?</t></r></p></txBody></cm></cmLst>`
	parts["ppt/_rels/presentation.xml.rels"] = rels(relTo("s1", "slide", "slides/s.xml") + relTo("a", "commentAuthors", "authors.xml") + relTo("b", "authors", "people.xml"))
	parts["ppt/authors.xml"] = `<cmAuthorLst><cmAuthor id="0" name="Ann Lee" initials="AL"/></cmAuthorLst>`
	parts["ppt/people.xml"] = `<authorLst><author id="{A}" name="Bo" initials="B"/></authorLst>`
	d, err := office.PPTX(t.Context(), archive(t, zip.Deflate, parts), "x.pptx", office.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{
		"chapter", "  text: Top", "  text (notes): a box of the notes",
		"comment_section", "  text (notes): Good",
		"comment_section", "  text (notes): Really?",
		"comment_section", "  text (notes): Yes",
	}, outline(d))
	require.Equal(t, []string{"comment-slide1-1, Ann Lee (AL), 2026-01-01T00:00:00.000", "comment-slide1-2, Bo (B), 2026-06-18T17:35:35.236", "comment-slide1-3"}, groupNames(d.Groups[1:]))
}

func groupNames(groups []*document.Group) []string {
	var names []string
	for _, g := range groups {
		names = append(names, g.Name)
	}
	return names
}

// What is not converted is reported: documents that Word would read in, in any
// place, and readings above text, each once.
func TestDroppedOfDocuments(t *testing.T) {
	t.Parallel()
	p := func(content string) string { return `<w:p><w:r>` + content + `</w:r></w:p>` }
	ruby := func(reading string) string {
		return `<w:ruby><w:rt><w:r><w:t>` + reading + `</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢字</w:t></w:r></w:rubyBase></w:ruby>`
	}
	body := p("<w:t>before</w:t>") + `<w:altChunk r:id="more"/>` + p(ruby("kanji"))
	d := wordWith(t, body, "aFChunk", "<p>Read in by Word</p>")
	require.Equal(t, []string{"text: before", "text: 漢字"}, outline(d))
	require.Equal(t, []string{document.LostDocuments.One, document.LostReadings.One}, d.Dropped)

	cell := `<w:tbl><w:tr><w:tc>` + p(ruby("a")) + `<w:tbl><w:tr><w:tc>` + p(ruby("b")) + `</w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>`
	d = wordWith(t, cell+p(ruby("")), "styles", "<w:styles"+wordNames+"/>")
	require.Equal(t, []string{"2 readings above text (ruby) were dropped."}, d.Dropped)
}
