package export_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/export"
)

var update = flag.Bool("update", false, "write the golden files")

// everything has each kind of item, and text that means something to Markdown or HTML.
func everything(t *testing.T) *document.Document {
	t.Helper()
	b := document.NewBuilder("every <kind>", document.NewOrigin("application/pdf", "every.pdf", []byte("every")))
	b.Page(1, 612, 792)
	b.Page(2, 612, 792)
	on := func(page int) []document.Prov {
		return []document.Prov{{PageNo: page, BBox: document.BBox{R: 100, B: 10, Origin: document.TopLeft}}}
	}
	header := b.Text(nil, document.PageHeader, "Running header")
	header.Layer = document.LayerFurniture
	b.Title(nil, "The snake_case title").Prov = on(1)
	b.Header(nil, 1, "First & foremost")
	b.Header(nil, 2, "# of items: 3 #")
	b.Header(nil, 9, "Deep")
	b.Paragraph(nil, "1. is no list\n# is no heading\n- nor this; <b>not bold</b> \"quoted\"")
	bold, struck := document.Formatting{Bold: true}.Normal(), document.Formatting{Bold: true, Italic: true, Underline: true, Strikethrough: true}.Normal()
	sub := document.Formatting{Script: document.Subscript}.Normal()
	b.Runs(nil, []document.Run{
		{Text: "Water is H"},
		{Text: "2", Formatting: sub},
		{Text: "O, "},
		{Text: "bold", Formatting: bold},
		{Text: ", "},
		{Text: "everything", Formatting: struck, Hyperlink: "https://example.com/a_b?c=(d)"},
		{Text: " and "},
		{Text: "run()", Label: document.Code},
		{Text: " or "},
		{Text: "a^2", Label: document.Formula},
		{Text: "."},
	})
	b.Runs(nil, []document.Run{{Text: "never", Hyperlink: "javascript:alert(1)"}})
	list := b.List(nil)
	b.ListItem(list, "one", false, "-")
	two := b.ListItem(list, "two", false, "-")
	inner := b.List(two)
	b.ListItem(inner, "first", true, "1.")
	b.Fill(b.ListItem(inner, "", true, "2."), []document.Run{{Text: "second "}, {Text: "mixed", Formatting: bold}})
	deepest := b.ListItem(inner, "fourth", true, "4.")
	b.ListItem(b.List(deepest), "deepest", false, "•")
	b.Paragraph(two, "A paragraph of the item.")
	b.ListItem(list, "three\nin two lines", false, "-")
	blocks := b.List(nil) // items that have no text of their own
	grid(b, b.ListItem(blocks, "", false, "-"))
	b.Text(b.ListItem(blocks, "", true, "2."), document.Code, "x := 1\n\ny := 2")
	b.Paragraph(b.ListItem(b.List(b.ListItem(blocks, "", false, "-")), "", false, "-"), "of a list of a list")
	b.Picture(b.ListItem(blocks, "", false, "-"), nil)
	b.ListItem(blocks, "", false, "-")
	letters := b.List(nil)
	b.ListItem(letters, "lettered", true, "a)")
	unmarked := b.List(nil)
	b.ListItem(unmarked, "numbered by place", true, "")
	b.ListItem(unmarked, "and the next", true, "")
	b.Text(nil, document.CheckboxSelected, "done")
	b.Text(nil, document.CheckboxUnselected, "to do")
	b.Text(nil, document.Code, "if a < b {\n\treturn ```\n}").Language = "Go"
	b.Text(nil, document.Formula, "E=mc^2")
	b.TableCaption(table(b), "Table 1: a table")
	picture := b.Picture(nil, &document.Image{MIMEType: "image/png", DPI: 72, Size: document.Size{Width: 1, Height: 1}, URI: "data:image/png;base64,iVBORw0KGgo="})
	picture.Prov = on(2)
	b.PictureCaption(picture, "Figure 1")
	b.Picture(nil, nil)
	b.Text(nil, document.Footnote, "A footnote")
	b.Text(nil, document.Reference, "A reference")
	slide := b.Group(nil, document.Chapter, "slide-0")
	b.Paragraph(slide, "On a slide")
	notes := b.Paragraph(slide, "Speaker notes")
	notes.Layer = document.LayerNotes
	footer := b.Text(nil, document.PageFooter, "Page 1 of 2")
	footer.Layer = document.LayerFurniture
	d, err := b.Document()
	require.NoError(t, err)
	return d
}

func table(b *document.Builder) *document.Table {
	head := document.NewCell(0, 0, 2, 1, "Name")
	years := document.NewCell(0, 1, 1, 2, "Years")
	head.ColumnHeader, years.ColumnHeader = true, true
	return b.Table(nil, document.TableData{NumRows: 4, NumCols: 3, Cells: []document.Cell{
		head, years,
		document.NewCell(1, 1, 1, 1, "2025"), document.NewCell(1, 2, 1, 1, "2026"),
		document.NewCell(2, 0, 1, 1, "a|b\nc_d"), document.NewCell(2, 1, 1, 1, "1,250.5"), document.NewCell(2, 2, 1, 1, "-3"),
		document.NewCell(3, 0, 1, 2, `<i>wide</i> \`),
	}})
}

func grid(b *document.Builder, parent document.Parent) {
	b.Table(parent, document.TableData{NumRows: 2, NumCols: 2, Cells: []document.Cell{
		document.NewCell(0, 0, 1, 1, "k"), document.NewCell(0, 1, 1, 1, "v"), document.NewCell(1, 0, 1, 1, "1"), document.NewCell(1, 1, 1, 1, "2"),
	}})
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestGolden_S2_EXP_01(t *testing.T) {
	t.Parallel()
	d := everything(t)
	one := 1
	for name, write := range map[string]func() (string, error){
		"every.md":   func() (string, error) { return export.Markdown(d, export.Options{}) },
		"every.html": func() (string, error) { return export.HTML(d, export.Options{}) },
		"every.json": func() (string, error) { return export.JSON(d, export.Options{}) },
		"every.options.md": func() (string, error) {
			return export.Markdown(d, export.Options{ImageMode: export.Embedded, IncludeFurniture: true, PageBreak: "<!-- page break -->", Indent: &one})
		},
	} {
		got, err := write()
		require.NoError(t, err)
		golden(t, name, got)
		again, err := write()
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
}

func TestRoundTrip_S2_EXP_04(t *testing.T) {
	t.Parallel()
	d := everything(t)
	text, err := export.JSON(d, export.Options{})
	require.NoError(t, err)
	again, err := document.Decode([]byte(text))
	require.NoError(t, err)
	require.Equal(t, d, again)
}

func TestFurniture_S2_EXP_06(t *testing.T) {
	t.Parallel()
	d := everything(t)
	for name, write := range map[string]func(*document.Document, export.Options) (string, error){"markdown": export.Markdown, "html": export.HTML} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			without, err := write(d, export.Options{})
			require.NoError(t, err)
			with, err := write(d, export.Options{IncludeFurniture: true})
			require.NoError(t, err)
			for _, text := range []string{"Running header", "Page 1 of 2"} {
				require.NotContains(t, without, text)
				require.Equal(t, 1, strings.Count(with, text))
			}
			require.NotContains(t, with, "Speaker notes")
		})
	}
}

func TestBroken_S2_EXP_05(t *testing.T) {
	t.Parallel()
	cycle := everything(t)
	g := cycle.Groups[0]
	g.Parent, g.Children = &document.Ref{Ref: g.SelfRef}, append(g.Children, g.Ref())
	dangling := everything(t)
	dangling.Tables[0].Captions = []document.Ref{{Ref: "#/texts/999"}}
	other := everything(t)
	other.SchemaName = "Letter"
	for name, tt := range map[string]struct {
		doc  *document.Document
		want error
	}{"cycle": {cycle, document.ErrInvalid}, "dangling": {dangling, document.ErrInvalid}, "schema": {other, document.ErrSchema}} {
		for _, write := range []func(*document.Document, export.Options) (string, error){export.Markdown, export.HTML, export.JSON} {
			_, err := write(tt.doc, export.Options{})
			require.ErrorIs(t, err, tt.want, name)
		}
	}
}

// A small document must not become a large export: every picture has the same
// long caption here.
func TestExportIsBounded(t *testing.T) {
	t.Parallel()
	b := document.NewBuilder("long", nil)
	caption := b.PictureCaption(b.Picture(nil, nil), strings.Repeat("word ", 200_000))
	for range 20 {
		b.Picture(nil, nil).Captions = []document.Ref{caption.Ref()}
	}
	d, err := b.Document()
	require.NoError(t, err)
	_, err = export.Markdown(d, export.Options{})
	require.ErrorIs(t, err, document.ErrTooLarge)
	_, err = export.HTML(d, export.Options{})
	require.ErrorIs(t, err, document.ErrTooLarge)
}

// Whatever can be read can be exported, or is refused for its size.
func FuzzExport(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "every.json"))
	require.NoError(f, err)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := document.Decode(data)
		if err != nil {
			return
		}
		o := export.Options{ImageMode: export.Embedded, IncludeFurniture: true, PageBreak: "---"}
		for _, write := range []func(*document.Document, export.Options) (string, error){export.Markdown, export.HTML, export.JSON} {
			if _, err := write(d, o); err != nil {
				require.ErrorIs(t, err, document.ErrTooLarge)
			}
		}
	})
}

// The words of an inline group come out as they went in, with their spaces.
func TestSpacesBetweenRuns(t *testing.T) {
	t.Parallel()
	bold := document.Formatting{Bold: true}.Normal()
	down := document.Formatting{Script: document.Subscript}.Normal()
	for want, runs := range map[string][]document.Run{
		"H2O is wet":     {{Text: "H"}, {Text: "2", Formatting: down}, {Text: "O is "}, {Text: "wet", Formatting: bold}},
		"CO2 in air":     {{Text: "CO"}, {Text: "2", Formatting: down}, {Text: " in "}, {Text: "air", Formatting: bold}},
		"the .NET (new)": {{Text: "the "}, {Text: ".NET", Formatting: bold}, {Text: " (new)"}},
		"an example":     {{Text: "an ex"}, {Text: "ample", Formatting: bold}},
		"東京都 is":         {{Text: "東京"}, {Text: "都", Formatting: bold}, {Text: " is"}},
	} {
		b := document.NewBuilder("runs", nil)
		b.Runs(nil, runs)
		d, err := b.Document()
		require.NoError(t, err)
		text, err := export.Markdown(d, export.Options{})
		require.NoError(t, err)
		require.Equal(t, want, strings.ReplaceAll(text, "**", ""))
		text, err = export.HTML(d, export.Options{})
		require.NoError(t, err)
		require.Contains(t, regexp.MustCompile("<[^>]*>").ReplaceAllString(text, ""), want)
	}
}
