package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// outline writes a document's tree as one line an item, indented by depth.
func outline(t *testing.T, d *document.Document) string {
	t.Helper()
	require.NoError(t, document.Check(d))
	nodes := d.Lookup()
	var out strings.Builder
	var walk func(refs []document.Ref, depth int)
	walk = func(refs []document.Ref, depth int) {
		for _, ref := range refs {
			n := nodes(ref)
			indent := strings.Repeat("  ", depth)
			if n.Base().Layer != document.LayerBody {
				indent += "(" + string(n.Base().Layer) + ") "
			}
			switch n := n.(type) {
			case *document.Group:
				fmt.Fprintf(&out, "%s%s\n", indent, n.Label)
			case *document.Text:
				fmt.Fprintf(&out, "%s%s%s\n", indent, n.Label, describe(n))
			case *document.Picture:
				fmt.Fprintf(&out, "%spicture %v\n", indent, n.Image != nil)
			case *document.Table:
				fmt.Fprintf(&out, "%stable %dx%d\n", indent, n.Data.NumRows, n.Data.NumCols)
				for _, c := range n.Data.Cells {
					fmt.Fprintf(&out, "%s  [%d:%d %d:%d] %s%s%s\n", indent, c.StartRow, c.EndRow, c.StartCol, c.EndCol, c.Text,
						map[bool]string{true: " (column)"}[c.ColumnHeader], map[bool]string{true: " (row)"}[c.RowHeader])
				}
			}
			walk(n.Base().Children, depth+1)
		}
	}
	walk(d.Body.Children, 0)
	return out.String()
}

func describe(n *document.Text) string {
	var s strings.Builder
	switch n.Label {
	case document.SectionHeader:
		fmt.Fprintf(&s, " %d", n.Level)
	case document.ListItem:
		s.WriteString(" " + n.Marker)
	case document.Code:
		s.WriteString(" " + n.Language)
	default:
	}
	fmt.Fprintf(&s, " %q", n.Text)
	if f := n.Formatting; f != nil {
		for name, on := range map[string]bool{" bold": f.Bold && !f.Italic, " italic": f.Italic && !f.Bold, " bold+italic": f.Bold && f.Italic, " struck": f.Strikethrough, " sup": f.Script == document.Superscript} {
			if on {
				s.WriteString(name)
			}
		}
	}
	if n.Hyperlink != "" {
		s.WriteString(" -> " + n.Hyperlink)
	}
	return s.String()
}

func convert(t *testing.T, page string, opts Options) string {
	t.Helper()
	if opts.Filename == "" {
		opts.Filename = "page.html"
	}
	d, err := Convert([]byte(page), opts)
	require.NoError(t, err)
	return outline(t, d)
}

func TestConvert_S2_CONV_05(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A long post. ", 20) + "The end."
	const tiny = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
	for _, tt := range []struct {
		name, page string
		opts       Options
		want       string
	}{
		{"headings", `<h1>T</h1><h2>A</h2><h3>B <em>b</em></h3><h6>F</h6><h1>Second</h1><h2> </h2>`, Options{}, `
title "T"
section_header 1 "A"
section_header 2 "B b"
section_header 5 "F"
section_header 1 "Second"
`},
		{"white space and looks", "<p>  one\n two <b>bold </b>and <i>it<b>both</b></i> x<sup>2</sup></p>tail", Options{}, `
inline
  text "one two"
  text "bold" bold
  text "and"
  text "itboth" bold+italic
  text "x"
  text "2" sup
text "tail"
`},
		{"links", `<base href="/deep/"><p><a href="x?y#z">rel</a> <a href="javascript:alert(1)">js</a> <a href=" HTTPS://e.example ">abs</a> <a href="mailto:a@b">m</a></p>`, Options{URL: "http://h.example/dir/p.html"}, `
inline
  text "rel" -> http://h.example/deep/x?y#z
  text "js"
  text "abs" -> https://e.example
  text "m" -> mailto:a@b
`},
		{"links around blocks", `<a href="http://h.example/x"><div>Card</div></a><b><p>bold</p></b>`, Options{}, `
text "Card" -> http://h.example/x
text "bold" bold
`},
		{"lists", `<ul><li>a<ol start=3><li>x<li><p>y</p><p>more</p></ol><li><b>c</b> d</ul><ol><li value=7>seven<ul></ul></ol><ul> </ul>`, Options{}, `
list
  list_item - "a"
    list
      list_item 3. "x"
      list_item 4. "y"
        text "more"
  list_item - ""
    inline
      text "c" bold
      text "d"
list
  list_item 7. "seven"
`},
		{"blocks at the begin of an item", `<ul><li><h3>Alpha</h3><p>first</p><li><img src=x alt=pic><p>after</p><li><figure><img src=y></figure>late<li><h2> </h2>own</ul>`, Options{}, `
list
  list_item - ""
    section_header 2 "Alpha"
    text "first"
  list_item - ""
    picture false
      caption "pic"
    text "after"
  list_item - ""
    picture false
    text "late"
  list_item - "own"
`},
		{"buttons that are labels", `<h2><button>Accordion heading</button></h2><table><tr><th><button>Sort</button><th>B<tr><td>1<td><button>Buy</button></table><p>x<button>Send</button></p>`, Options{}, `
section_header 1 "Accordion heading"
table 2x2
  [0:1 0:1] Sort (column)
  [0:1 1:2] B (column)
  [1:2 0:1] 1
  [1:2 1:2] 
text "x"
`},
		{"formulas", `<p>Let <math><mi>a</mi><mo>+</mo> <mi>b</mi></math> be</p><math display=block alttext="E=mc^2"><mi>E</mi></math>` +
			`<p><math><semantics><mi>x</mi><annotation encoding="application/x-tex"> x_1 </annotation></semantics></math></p><table><tr><td><math><mn>2</mn></math><td>y</table><h2>On <math><mi>z</mi></math></h2>`, Options{KeepFront: true}, `
inline
  text "Let"
  formula "a+ b"
  text "be"
formula "E=mc^2"
formula "x_1"
table 1x2
  [0:1 0:1] 2
  [0:1 1:2] y
section_header 1 "On z"
`},
		{"nothing that is not shown", `<style>p{}</style><script>alert("x")</script><noscript>no</noscript><template>t</template><svg><text>s</text></svg>
<p hidden>h</p><p style="display: none">n</p><p aria-hidden=true>a</p><!-- c --><p>shown</p>`, Options{}, `
text "shown"
`},
		{"table", `<table><caption>Cap</caption><thead><tr><th colspan=2>AB<th>C</thead><tfoot><tr><td colspan=3>foot</tfoot>
<tbody><tr><th rowspan=2>r<td>1<td>2<tr><td>3<td><p>4</p><p>5</p></table>`, Options{}, `
table 4x3
  [0:1 0:2] AB (column)
  [0:1 2:3] C (column)
  [1:3 0:1] r (row)
  [1:2 1:2] 1
  [1:2 2:3] 2
  [2:3 1:2] 3
  [2:3 2:3] 4 5
  [3:4 0:3] foot
  caption "Cap"
`},
		{"cells never overlap", `<table><tr><td>a<td rowspan=2>b<tr><td colspan=2>c<td>d<tr><td rowspan=0 colspan=99999>e</table>`, Options{}, `
table 3x3
  [0:1 0:1] a
  [0:2 1:2] b
  [1:2 0:1] c
  [1:2 2:3] d
  [2:3 0:3] e
`},
		{"layout tables are read through", `<table><tr><td><p>left</p><td><table><tr><td>1<td>2</table></table><table><tr><td>alone</table>`, Options{}, `
text "left"
table 1x2
  [0:1 0:1] 1
  [0:1 1:2] 2
text "alone"
`},
		{"code", "<pre><code class=\"hl language-go\">func f() {\n\treturn\n}\n</code></pre><p>run <code>x &lt; y</code> now</p>", Options{}, `
code Go "func f() {\n\treturn\n}"
inline
  text "run"
  code unknown "x < y"
  text "now"
`},
		{"pictures", `<p>a <img src=x.png alt="An x"> b</p><img src=y alt=""><figure><img src=z alt=zed><figcaption>The <b>z</b></figcaption></figure><img src="` + tiny + `">`, Options{}, `
text "a"
picture false
  caption "An x"
text "b"
picture false
  caption "The z"
picture false
`},
		{"pictures in the page", `<img src="` + tiny + `"><img src="data:image/png;base64,AAAA"><img src="http://127.0.0.1/x.png">`, Options{EmbedImages: true}, `
picture true
picture false
picture false
`},
		{"front matter is furniture", `<title>Site: page</title><nav><ul><li><a href=/>Home</a></ul></nav><p>Hi <b>x</b></p><h2>H</h2><p>p`, Options{}, `
(furniture) title "Site: page"
(furniture) list
  (furniture) list_item - "Home" -> /
(furniture) inline
  (furniture) text "Hi"
  (furniture) text "x" bold
section_header 1 "H"
text "p"
`},
		{"a body without a heading", `<p>` + long + `</p><h4>Follow us</h4><p>x`, Options{}, `
text "` + long + `"
section_header 3 "Follow us"
text "x"
`},
		{"the heading of a footer", `<p>Hi</p><footer><h4>Follow us</h4><p>` + long + `</p></footer>`, Options{}, `
text "Hi"
section_header 3 "Follow us"
text "` + long + `"
`},
		{"front matter kept", `<p>Hi</p><h2>H</h2>`, Options{KeepFront: true}, `
text "Hi"
section_header 1 "H"
`},
		{"main content", `<header><h1>Site</h1></header><main><nav>n</nav><article><h1>A</h1><p>text</p><aside>ad</aside></article></main><footer>f</footer>`, Options{MainContentOnly: true}, `
title "A"
text "text"
`},
		{"main content without main", `<div role=banner>b</div><div><p>text</p></div><footer>f</footer>`, Options{MainContentOnly: true}, `
text "text"
`},
		{"checkboxes and definitions", `<ul><li><input type=checkbox checked> done<li><input type=checkbox> open</ul><dl><dt>Term<dd>What it is</dl>`, Options{}, `
list
  list_item - "☒ done"
  list_item - "☐ open"
text "Term"
text "What it is"
`},
		{"charset", "<p>gr\xfc\xdfe</p>", Options{ContentType: "text/html; charset=iso-8859-1"}, `
text "grüße"
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, strings.TrimPrefix(tt.want, "\n"), convert(t, tt.page, tt.opts))
		})
	}
}

func TestConvert_Empty(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"", "<p> </p>", "<script>x</script>", "<frameset></frameset>", "<!-- x -->"} {
		_, err := Convert([]byte(page), Options{Filename: "x.html"})
		require.ErrorIs(t, err, ErrEmpty, page)
	}
}

func TestConvert_DeepNesting(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{"div", "ul><li", "table><tr><td", "b", "blockquote", "svg"} {
		_, err := Convert([]byte(strings.Repeat("<"+tag+">", 20_000)+"x"), Options{Filename: "deep.html"})
		require.ErrorIs(t, err, document.ErrTooLarge, tag)
	}
}

func FuzzConvert(f *testing.F) {
	f.Add("<h1>T</h1><ul><li>a<ul><li>b</ul></ul><table><tr><td rowspan=2>x<td>y</table><pre>c</pre>", true)
	f.Add("<p><b><i><a href='%zz'>x<table><tr><td colspan=0>", false)
	f.Add("<figure><img alt=a><figcaption>b</figure><li>stray<dd>", false)
	f.Fuzz(func(t *testing.T, page string, option bool) {
		d, err := Convert([]byte(page), Options{Filename: "f.html", URL: "http://h.example/", MainContentOnly: option, EmbedImages: option})
		if err != nil {
			return
		}
		require.NoError(t, document.Check(d))
		first, err := document.Encode(d, 2)
		require.NoError(t, err)
		again, err := document.Decode(first)
		require.NoError(t, err)
		second, err := document.Encode(again, 2)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}
