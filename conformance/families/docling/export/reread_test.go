package export_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/export"
)

// seen is what a Markdown parser finds.
type seen struct {
	headings []string   // "2 text"
	items    []string   // "1 text", by depth
	cells    [][]string // all rows of all tables
	code     []string   // blocks of it
}

func reread(source string) seen {
	var s seen
	depth := 0
	src := []byte(source)
	tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(src))
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if _, ok := n.(*ast.List); ok {
			if entering {
				depth++
			} else {
				depth--
			}
		}
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			s.headings = append(s.headings, string(rune('0'+n.Level))+" "+words(n, src))
		case *ast.ListItem:
			s.items = append(s.items, string(rune('0'+depth))+" "+words(n.FirstChild(), src))
		case *ast.FencedCodeBlock:
			s.code = append(s.code, string(n.Lines().Value(src)))
		case *ast.CodeBlock:
			s.code = append(s.code, "indented: "+string(n.Lines().Value(src)))
		case *east.TableHeader, *east.TableRow:
			var row []string
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				row = append(row, words(c, src))
			}
			s.cells = append(s.cells, row)
		}
		return ast.WalkContinue, nil
	})
	return s
}

// words is the text of a node as a reader sees it.
func words(n ast.Node, src []byte) string {
	var out strings.Builder
	if n == nil {
		return ""
	}
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			out.Write(t.Segment.Value(src))
		}
		return ast.WalkContinue, nil
	})
	plain := strings.NewReplacer(`\_`, "_", `\#`, "#", `\\`, `\`).Replace(out.String())
	return html.UnescapeString(plain)
}

func TestMarkdownIsReadBack_S2_EXP_02(t *testing.T) {
	t.Parallel()
	markdown, err := export.Markdown(everything(t), export.Options{})
	require.NoError(t, err)
	got := reread(markdown)
	require.Equal(t, []string{"1 The snake_case title", "2 First & foremost", "3 # of items: 3 #", "6 Deep"}, got.headings)
	require.Equal(t, []string{
		"1 one", "1 two", "2 first", "2 second mixed", "2 fourth", "3 deepest", "1 three in two lines",
		"1 kv12", "1 ", "1 of a list of a list", "2 of a list of a list", "1 ", "1 ", "1 a) lettered", "1 numbered by place", "1 and the next", "1 done", "1 to do",
	}, got.items)
	require.Equal(t, []string{"x := 1\n\ny := 2\n", "if a < b {\n\treturn ```\n}\n"}, got.code)
	require.Equal(t, [][]string{
		{"k", "v"},
		{"1", "2"},
		{"Name", "Years", "Years"},
		{"Name", "2025", "2026"},
		{"a|b c_d", "1,250.5", "-3"},
		{`<i>wide</i> \`, `<i>wide</i> \`, ""},
	}, got.cells)
}

// No text leads anywhere, and a link leads where it says.
func TestLinksAreTheDocuments_S2_EXP_02(t *testing.T) {
	t.Parallel()
	const evil, good = "javascript:alert(1)", "https://example.com/"
	under := document.Formatting{Underline: true}.Normal()
	sup := document.Formatting{Script: document.Superscript}.Normal()
	for name, tt := range map[string]struct {
		runs []document.Run
		want []string
	}{
		"link text":      {[]document.Run{{Text: "](" + evil + ") [x", Hyperlink: good}}, []string{good}},
		"backslashes":    {[]document.Run{{Text: `a\](` + evil + `) \\[x\`, Hyperlink: good}}, []string{good}},
		"text":           {[]document.Run{{Text: "[x](" + evil + ") ![x](" + evil + ")"}}, nil},
		"definition":     {[]document.Run{{Text: "[a\\]b]: " + evil + "\n[x\ny]: " + evil + "\n\n[a\\]b] [x y]"}}, nil},
		"two runs":       {[]document.Run{{Text: "[x]"}, {Text: "(" + evil + ")", Formatting: sup}}, nil},
		"definition two": {[]document.Run{{Text: "[x]"}, {Text: ": " + evil + "\n\n[x]", Formatting: under}}, nil},
		"formula":        {[]document.Run{{Text: "[x](" + evil + ") <img src=x onerror=y>", Label: document.Formula}}, nil},
		"footnote":       {[]document.Run{{Text: "as shown [1], (2) and [3]"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := document.NewBuilder("links", nil)
			b.Runs(nil, tt.runs)
			d, err := b.Document()
			require.NoError(t, err)
			markdown, err := export.Markdown(d, export.Options{})
			require.NoError(t, err)
			src := []byte(markdown)
			var found []string
			tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(src))
			_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
				switch n := n.(type) {
				case *ast.Link:
					if entering {
						found = append(found, string(n.Destination))
					}
				case *ast.Image, *ast.RawHTML, *ast.HTMLBlock:
					t.Errorf("%T in %s", n, markdown)
				}
				return ast.WalkContinue, nil
			})
			require.Equal(t, tt.want, found, markdown)
		})
	}
}

func TestTextStaysText_S2_EXP_02(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"# x", "#", "- x", "-", "+ x", "* x", "1. x", "12) x", "===", "=", "---", "***", "* * *", "```", "~~~", "| a | b |\n|---|---|",
		"a | b\n:-- | --", "[x]: y", "    code", "\tcode", "a\n# x", "a\n===", "a\n1. b", "<div>\nx", "> quote", "2026. was a year",
	} {
		b := document.NewBuilder("text", nil)
		b.Paragraph(nil, line)
		b.Paragraph(nil, "after")
		d, err := b.Document()
		require.NoError(t, err)
		markdown, err := export.Markdown(d, export.Options{})
		require.NoError(t, err)
		tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader([]byte(markdown)))
		require.Equal(t, 2, tree.ChildCount(), line)
		for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
			require.Equal(t, ast.KindParagraph, n.Kind(), line)
		}
	}
}

func TestHTMLIsReadBack_S2_EXP_03(t *testing.T) {
	t.Parallel()
	page, err := export.HTML(everything(t), export.Options{ImageMode: export.Embedded})
	require.NoError(t, err)
	tree, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	var again strings.Builder
	require.NoError(t, html.Render(&again, tree))
	second, err := html.Parse(strings.NewReader(again.String()))
	require.NoError(t, err)
	require.Equal(t, elements(tree), elements(second), "well-formed: what a browser mends changes nothing")
	count := map[string]int{}
	for _, e := range elements(tree) {
		count[e]++
		if tag, _, attributes := strings.Cut(e, " "); attributes && tag == "li" {
			count[tag]++
		}
	}
	for element, want := range map[string]int{
		"h1": 1, "h2": 1, "h3": 1, "h6": 1, "ul": 4, "ol": 3, "li": 16, "table": 2, "tr": 6, "caption": 1, "figcaption": 1,
		`th rowspan="2"`: 1, `th colspan="2"`: 1, `td colspan="2"`: 1, "figure": 3, `li value="4"`: 1,
		`img src="data:image/png;base64,iVBORw0KGgo=" alt=""`: 1, "b": 0, "i": 0, "script": 0, "code": 3, "sub": 1, `div class="page"`: 1,
	} {
		require.Equal(t, want, count[element], element)
	}
	require.NotContains(t, page, "javascript:")
}

// elements lists the start tags of a tree.
func elements(n *html.Node) []string {
	var list []string
	for d := range n.Descendants() {
		if d.Type != html.ElementNode {
			continue
		}
		tag := d.Data
		for _, a := range d.Attr {
			tag += " " + a.Key + `="` + a.Val + `"`
		}
		list = append(list, tag)
	}
	return list
}
