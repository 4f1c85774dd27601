package document_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// Each fault alone makes Check fail (S2-CONV-06).
func TestCheck_S2_CONV_06(t *testing.T) {
	t.Parallel()
	ref := func(text string) document.Ref { return document.Ref{Ref: text} }
	tests := map[string]struct {
		damage func(d *document.Document)
		want   error
	}{
		"schema":           {func(d *document.Document) { d.SchemaName = "Other" }, document.ErrSchema},
		"no version":       {func(d *document.Document) { d.Version = "one" }, document.ErrSchema},
		"major":            {func(d *document.Document) { d.Version = "2.0.0" }, document.ErrSchema},
		"minor":            {func(d *document.Document) { d.Version = "1.11.0" }, document.ErrSchema},
		"self_ref":         {func(d *document.Document) { d.Texts[1].SelfRef = "#/texts/0" }, document.ErrInvalid},
		"dangling child":   {func(d *document.Document) { d.Body.Children[0] = ref("#/texts/99") }, document.ErrInvalid},
		"dangling caption": {func(d *document.Document) { d.Tables[0].Captions[0] = ref("#/texts/99") }, document.ErrInvalid},
		"dangling cell":    {func(d *document.Document) { r := ref("#/texts/99"); d.Tables[0].Data.Cells[0].Ref = &r }, document.ErrInvalid},
		"child twice":      {func(d *document.Document) { d.Body.Children = append(d.Body.Children, d.Body.Children[0]) }, document.ErrInvalid},
		"other parent":     {func(d *document.Document) { d.Texts[0].Parent.Ref = "#/furniture" }, document.ErrInvalid},
		"no parent":        {func(d *document.Document) { d.Texts[0].Parent = nil }, document.ErrInvalid},
		"left out":         {func(d *document.Document) { d.Body.Children = d.Body.Children[1:] }, document.ErrInvalid},
		"parent of a root": {func(d *document.Document) { r := ref("#/furniture"); d.Body.Parent = &r }, document.ErrInvalid},
		"no body":          {func(d *document.Document) { d.Body = nil }, document.ErrInvalid},
		"own child": {func(d *document.Document) {
			g := d.Groups[len(d.Groups)-1]
			d.Body.Children = d.Body.Children[:len(d.Body.Children)-1]
			g.Parent.Ref, g.Children = g.SelfRef, append(g.Children, g.Ref())
		}, document.ErrInvalid},
		"item without list": {func(d *document.Document) { d.Groups[1].Label = document.Section }, document.ErrInvalid},
		"cell outside":      {func(d *document.Document) { d.Tables[0].Data.NumCols = 1 }, document.ErrInvalid},
		"cell inside out":   {func(d *document.Document) { d.Tables[0].Data.Cells[0].EndRow = 0 }, document.ErrInvalid},
		"cell before":       {func(d *document.Document) { d.Tables[0].Data.Cells[0].StartCol = -1 }, document.ErrInvalid},
		"overlap":           {func(d *document.Document) { d.Tables[0].Data.Cells[1] = document.NewCell(0, 1, 2, 1, "") }, document.ErrInvalid},
		"span":              {func(d *document.Document) { d.Tables[0].Data.Cells[0].ColSpan = 1 }, document.ErrInvalid},
		"negative table":    {func(d *document.Document) { d.Tables[0].Data.NumRows = -1 }, document.ErrInvalid},
		"huge table":        {func(d *document.Document) { d.Tables[0].Data.NumRows = 1 << 60 }, document.ErrTooLarge},
		"tall table": {func(d *document.Document) {
			d.Tables[0].Data.NumRows, d.Tables[0].Data.NumCols, d.Tables[0].Data.Cells = 1<<30, 0, nil
		}, document.ErrTooLarge},
		"page of prov":  {func(d *document.Document) { d.Texts[1].Prov[0].PageNo = 3 }, document.ErrInvalid},
		"page number":   {func(d *document.Document) { d.Pages[1].No = 2 }, document.ErrInvalid},
		"text and orig": {func(d *document.Document) { d.Texts[0].Text = "other" }, document.ErrInvalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := sample(t)
			require.NoError(t, document.Check(d))
			tt.damage(d)
			require.ErrorIs(t, document.Check(d), tt.want)
		})
	}
}

func TestTooDeep(t *testing.T) {
	t.Parallel()
	b := document.NewBuilder("deep", nil)
	var parent document.Parent
	for range document.MaxDepth + 1 {
		parent = b.Group(parent, document.Section, "section")
	}
	_, err := b.Document()
	require.ErrorIs(t, err, document.ErrTooLarge)
}

func TestRuns(t *testing.T) {
	t.Parallel()
	bold := document.Formatting{Bold: true}.Normal()
	same := document.Formatting{Bold: true}.Normal()
	up := document.Formatting{Script: document.Superscript}.Normal()
	for name, tt := range map[string]struct {
		runs []document.Run
		want []string
	}{
		"nothing":           {nil, nil},
		"space":             {[]document.Run{{Text: " "}, {Text: "\n", Formatting: bold}}, nil},
		"one look":          {[]document.Run{{Text: "a"}, {Text: "b"}}, []string{"ab"}},
		"equal looks":       {[]document.Run{{Text: "a", Formatting: bold}, {Text: "b", Formatting: same}}, []string{"ab"}},
		"space has no look": {[]document.Run{{Text: " ", Formatting: bold}, {Text: "a"}, {Text: " ", Formatting: bold}, {Text: "b"}}, []string{"a b"}},
		"two looks":         {[]document.Run{{Text: "a "}, {Text: "b", Formatting: bold}, {Text: " "}}, []string{"a", "b"}},
		"a link":            {[]document.Run{{Text: "a", Hyperlink: "x"}, {Text: "b", Hyperlink: "y"}}, []string{"a", "b"}},
		"a word in parts":   {[]document.Run{{Text: "an ex"}, {Text: "ample", Formatting: bold}, {Text: "s and more"}}, []string{"an", "examples", "and more"}},
		"all in one word":   {[]document.Run{{Text: "a"}, {Text: "b", Formatting: bold}, {Text: "c"}}, []string{"abc"}},
		"quotes":            {[]document.Run{{Text: "say “"}, {Text: "yes", Formatting: bold}, {Text: "” now"}}, []string{"say", "“yes”", "now"}},
		"part of a link":    {[]document.Run{{Text: "pre"}, {Text: "fix it", Hyperlink: "x"}, {Text: "s"}}, []string{"prefix its"}},
		"a long fragment":   {[]document.Run{{Text: strings.Repeat("a", 65)}, {Text: strings.Repeat("b", 65), Formatting: bold}}, []string{strings.Repeat("a", 65), strings.Repeat("b", 65)}},
		"a square":          {[]document.Run{{Text: "10 m"}, {Text: "2", Formatting: up}, {Text: " wide"}}, []string{"10 m", "2", " wide"}},
		"a scripted word":   {[]document.Run{{Text: "see "}, {Text: "a ", Formatting: up}, {Text: "b", Formatting: bold}}, []string{"see ", "a", " b"}},
		"a point of a name": {[]document.Run{{Text: "the "}, {Text: ".NET", Formatting: bold}, {Text: ", too"}}, []string{"the ", ".NET", ", too"}},
		"no spaces at all":  {[]document.Run{{Text: "東京"}, {Text: "都", Formatting: bold}, {Text: "に"}}, []string{"東京", "都", "に"}},
		"code":              {[]document.Run{{Text: "a", Label: document.Code}, {Text: "b"}}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := document.NewBuilder("runs", nil)
			node := b.Runs(nil, tt.runs)
			d, err := b.Document()
			require.NoError(t, err)
			var got []string
			for _, text := range d.Texts {
				got = append(got, text.Text)
			}
			require.Equal(t, tt.want, got)
			require.Equal(t, len(tt.want) == 0, node == nil)
			require.Equal(t, len(tt.want) > 1, len(d.Groups) == 1)
		})
	}
	b := document.NewBuilder("header", nil)
	header := b.Header(nil, 1, "")
	b.At(1, document.BBox{Origin: document.TopLeft})
	b.Page(1, 1, 1)
	mixed := b.Title(nil, "")
	b.Fill(header, []document.Run{{Text: "all", Formatting: bold}, {Text: " bold", Formatting: same}})
	b.Fill(mixed, []document.Run{{Text: "part", Formatting: bold}, {Text: " bold"}})
	require.Equal(t, "all bold", header.Text)
	require.Equal(t, bold, header.Formatting)
	require.Equal(t, "part bold", mixed.Text)
	require.Nil(t, mixed.Formatting)
	require.Equal(t, [2]int{0, 9}, mixed.Prov[0].CharSpan)
}

func TestManyRunsTakeLittleTime(t *testing.T) {
	t.Parallel()
	b := document.NewBuilder("runs", nil)
	runs := make([]document.Run, 50_000)
	for i := range runs {
		runs[i].Text = "ten bytes "
	}
	text, ok := b.Runs(nil, runs).(*document.Text)
	require.True(t, ok)
	require.Len(t, text.Text, 10*len(runs)-1)
}

func TestNamesAndHashes_S2_CONV_07(t *testing.T) {
	t.Parallel()
	for filename, want := range map[string]string{
		"a.pdf": "a", "dir/b.c.docx": "b.c", `C:\d\e.xlsx`: "e", "plain": "plain", ".hidden": ".hidden", "x/": "x",
	} {
		require.Equal(t, want, document.Stem(filename), filename)
	}
	one, two := document.NewOrigin("t", "a", []byte("one")), document.NewOrigin("t", "a", []byte("two"))
	require.Equal(t, one, document.NewOrigin("t", "a", []byte("one")))
	require.NotEqual(t, one.BinaryHash, two.BinaryHash)
	require.Equal(t, uint64(0x7692c3ad3540bb80), one.BinaryHash, "the first 64 bits of SHA-256")
}
