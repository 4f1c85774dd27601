package office_test

import (
	"archive/zip"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/office"
)

const (
	chartNames = ` xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"` +
		` xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	chartFrame = `<a:graphic xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:graphicData>` +
		`<c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" r:id="ch"/></a:graphicData></a:graphic>`
)

// cached is a list of points as charts keep it: "" is one that is missing.
func cached(kind, code string, values ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<c:%sRef><c:f>Sheet1!A1</c:f><c:%sCache>`, kind, kind)
	if code != "" {
		b.WriteString(`<c:formatCode>` + code + `</c:formatCode>`)
	}
	fmt.Fprintf(&b, `<c:ptCount val="%d"/>`, len(values))
	for i, v := range values {
		if v != "" {
			fmt.Fprintf(&b, `<c:pt idx="%d"><c:v>%s</c:v></c:pt>`, i, v)
		}
	}
	fmt.Fprintf(&b, `</c:%sCache></c:%sRef>`, kind, kind)
	return b.String()
}

func ser(name, categories, values string) string {
	return `<c:ser><c:tx>` + cached("str", "", name) + `</c:tx><c:cat>` + categories + `</c:cat><c:val>` + values + `</c:val></c:ser>`
}

func chartPart(title, area string) string {
	if title != "" {
		title = `<c:title><c:tx><c:rich><a:p><a:r><a:t>` + title + `</a:t></a:r></a:p></c:rich></c:tx></c:title>`
	}
	return `<c:chartSpace` + chartNames + `><c:chart>` + title + `<c:plotArea>` + area + `</c:plotArea></c:chart></c:chartSpace>`
}

func axis(kind, title string) string {
	return `<c:` + kind + `><c:title><c:tx><c:rich><a:p><a:r><a:t>` + title + `</a:t></a:r></a:p></c:rich></c:tx></c:title></c:` + kind + `>`
}

// The kinds of charts by the tables they become.
func TestCharts(t *testing.T) {
	t.Parallel()
	north := ser("North", cached("str", "", "Q1", "Q2"), cached("num", "General", "1.5", "30000.000000000004"))
	for _, tc := range []struct {
		name, part string
		want       []string
	}{
		{
			"columns",
			chartPart("Sales", `<c:barChart>`+north+ser("South", cached("str", "", "Q1", "Q2"), cached("num", "0%", "", "0.25"))+`</c:barChart>`+axis("catAx", "Quarter")+axis("valAx", "EUR")),
			[]string{"  table [Quarter] [North] [South] [Q1] [1.5] [] [Q2] [30000] [25%]", "    caption: Sales", "  text: EUR"},
		},
		{
			"two kinds in one",
			chartPart("", `<c:barChart>`+north+`</c:barChart><c:lineChart>`+ser("Trend", cached("str", "", "Q1", "Q2"), cached("num", "", "2", "3"))+`</c:lineChart>`),
			[]string{"  table [] [North] [Trend] [Q1] [1.5] [2] [Q2] [30000] [3]"},
		},
		{
			"categories of their own",
			chartPart("XY", `<c:scatterChart><c:ser><c:tx><c:v>a</c:v></c:tx><c:xVal>`+cached("num", "", "1", "2")+`</c:xVal><c:yVal>`+cached("num", "", "3", "4")+`</c:yVal></c:ser>`+
				`<c:ser><c:xVal>`+cached("num", "", "5")+`</c:xVal><c:yVal>`+cached("num", "", "6")+`</c:yVal><c:bubbleSize>`+cached("num", "", "7")+`</c:bubbleSize></c:ser></c:scatterChart>`),
			[]string{"  table [] [a] [1] [3] [2] [4]", "    caption: XY", "  table [] [] [(size)] [5] [6] [7]"},
		},
		{"dates", chartPart("", `<c:lineChart>`+ser("n", cached("num", "yyyy\\-mm\\-dd", "45658"), cached("num", "", "1"))+`</c:lineChart>`), []string{"  table [] [n] [2025-01-01] [1]"}},
		{
			"levels of categories",
			chartPart("", `<c:barChart>`+ser("n", `<c:multiLvlStrRef><c:multiLvlStrCache><c:lvl><c:pt idx="0"><c:v>Q1</c:v></c:pt><c:pt idx="1"><c:v>Q2</c:v></c:pt></c:lvl><c:lvl><c:pt idx="0"><c:v>2025</c:v></c:pt></c:lvl></c:multiLvlStrCache></c:multiLvlStrRef>`, cached("num", "", "1", "2"))+`</c:barChart>`),
			[]string{"  table [] [n] [2025 Q1] [1] [2025 Q2] [2]"},
		},
		{"no categories", chartPart("", `<c:pieChart><c:ser><c:val><c:numLit><c:pt idx="0"><c:v>8</c:v></c:pt></c:numLit></c:val></c:ser></c:pieChart>`), []string{"  table [] [8]"}},
		{
			"the newer form",
			`<cx:chartSpace xmlns:cx="x"><cx:chartData><cx:data id="7"><cx:strDim type="cat"><cx:lvl><cx:pt idx="0">Start</cx:pt><cx:pt idx="1">End</cx:pt></cx:lvl></cx:strDim>` +
				`<cx:numDim type="val"><cx:lvl formatCode="General"><cx:pt idx="0">1</cx:pt><cx:pt idx="1">2</cx:pt></cx:lvl></cx:numDim></cx:data></cx:chartData><cx:chart><cx:title><cx:tx><cx:txData><cx:v>Fall</cx:v></cx:txData></cx:tx></cx:title>` +
				`<cx:plotArea><cx:plotAreaRegion><cx:series><cx:tx><cx:txData><cx:v>Cash</cx:v></cx:txData></cx:tx><cx:dataId val="7"/></cx:series></cx:plotAreaRegion></cx:plotArea></cx:chart></cx:chartSpace>`,
			[]string{"  table [] [Cash] [Start] [1] [End] [2]", "    caption: Fall"},
		},
		{"without data", chartPart("Sales", axis("valAx", "EUR")), []string{"  picture", "    caption: Sales", "  text: EUR"}},
		{"a part that is not there", "", []string{"  picture"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			parts := unpack(t, deck(t, `<p:graphicFrame>`+chartFrame+`</p:graphicFrame>`))
			parts["ppt/slides/_rels/s.xml.rels"] = rels(relTo("ch", "chart", "../charts/chart1.xml"))
			if tc.part != "" {
				parts["ppt/charts/chart1.xml"] = tc.part
			}
			d, err := office.PPTX(t.Context(), archive(t, zip.Deflate, parts), "x.pptx", office.Options{})
			require.NoError(t, err)
			require.Equal(t, append([]string{"chapter"}, tc.want...), outline(d))
			if len(d.Tables) == 0 {
				require.Equal(t, []string{document.LostCharts.One}, d.Dropped)
			} else {
				require.Empty(t, d.Dropped)
				require.True(t, d.Tables[0].Data.Cells[0].ColumnHeader)
				require.Len(t, d.Tables[0].Prov, 1)
			}
		})
	}
}

// Charts of sheets, which lie on cells or are the sheet, and of documents.
func TestChartsOfSheetsAndDocuments(t *testing.T) {
	t.Parallel()
	chart := chartPart("Sales", `<c:barChart>`+ser("North", cached("str", "", "Q1"), cached("num", "", "7"))+`</c:barChart>`)
	const names = ` xmlns:x="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	parts := bookParts(`<row><c><v>1</v></c></row>`)
	parts["xl/worksheets/_rels/sheet1.xml.rels"] = rels(relTo("d", "drawing", "../drawings/d.xml"))
	parts["xl/drawings/d.xml"] = `<x:wsDr` + names + `><x:oneCellAnchor><x:from><x:col>1</x:col><x:row>2</x:row></x:from><x:graphicFrame>` + chartFrame + `</x:graphicFrame></x:oneCellAnchor></x:wsDr>`
	parts["xl/drawings/_rels/d.xml.rels"] = rels(relTo("ch", "chart", "../charts/chart1.xml"))
	parts["xl/charts/chart1.xml"] = chart
	d, err := office.XLSX(t.Context(), archive(t, zip.Deflate, parts), "x.xlsx", office.Options{})
	require.NoError(t, err)
	want := []string{"  table [] [North] [Q1] [7]", "    caption: Sales"}
	require.Equal(t, append([]string{"sheet", "  table [1]"}, want...), outline(d))
	require.Equal(t, document.BBox{L: 1, T: 2, R: 2, B: 3, Origin: document.TopLeft}, d.Tables[1].Prov[0].BBox)

	// Some programs write charts that only refer to their cells.
	parts["xl/charts/chart1.xml"] = chartPart("Sales", `<c:barChart><c:ser><c:tx><c:strRef><c:f>'One'!$A$1</c:f></c:strRef></c:tx>`+
		`<c:val><c:numRef><c:f>'One'!$A$1:$A$1</c:f></c:numRef></c:val></c:ser></c:barChart>`)
	d, err = office.XLSX(t.Context(), archive(t, zip.Deflate, parts), "x.xlsx", office.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"sheet", "  table [1]", "  table [1] [1]", "    caption: Sales"}, outline(d))
	require.Empty(t, d.Dropped)
	parts["xl/charts/chart1.xml"] = chart

	for name, text := range parts {
		parts[name] = strings.ReplaceAll(text, "/worksheet\"", "/chartsheet\"")
	}
	parts["xl/worksheets/sheet1.xml"] = `<chartsheet><drawing/></chartsheet>`
	d, err = office.XLSX(t.Context(), archive(t, zip.Deflate, parts), "x.xlsx", office.Options{})
	require.NoError(t, err)
	require.Equal(t, append([]string{"sheet"}, want...), outline(d))

	doc := wordParts(`<w:p><w:r><w:t>Before</w:t></w:r><w:r><w:drawing>` + chartFrame + `</w:drawing></w:r></w:p>` +
		`<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:drawing>` + chartFrame + `</w:drawing></w:r></w:p></w:tc></w:tr></w:tbl>`)
	doc["word/_rels/document.xml.rels"] = rels(relTo("ch", "chart", "charts/chart1.xml") + relTo("o", "oleObject", "embeddings/o.bin"))
	doc["word/charts/chart1.xml"] = chart
	d, err = office.DOCX(t.Context(), archive(t, zip.Deflate, doc), "x.docx", office.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{
		"text: Before", "table [] [North] [Q1] [7]", "  caption: Sales", "table [a] []", "table [] [North] [Q1] [7]", "  caption: Sales",
	}, outline(d))
	require.Equal(t, []string{document.LostObjects.One}, d.Dropped)
}

// Points far apart do not make a list of all that could be between them.
func TestChartOfManyPoints(t *testing.T) {
	t.Parallel()
	far := `<c:ser><c:val><c:numLit><c:pt idx="200000"><c:v>8</c:v></c:pt></c:numLit></c:val></c:ser>`
	parts := unpack(t, deck(t, `<p:graphicFrame>`+chartFrame+`</p:graphicFrame>`))
	parts["ppt/slides/_rels/s.xml.rels"] = rels(relTo("ch", "chart", "../charts/chart1.xml"))
	parts["ppt/charts/chart1.xml"] = chartPart("", `<c:pieChart>`+far+far+`</c:pieChart>`)
	_, err := office.PPTX(t.Context(), archive(t, zip.Deflate, parts), "x.pptx", office.Options{})
	var known *office.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, office.TooLarge, known.Reason)
}
