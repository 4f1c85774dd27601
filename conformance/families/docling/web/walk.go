package web

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// style is how text looks where the walker is.
type style struct {
	look document.Formatting
	link string
	code bool
}

func (s style) run(text string) document.Run {
	r := document.Run{Text: text, Formatting: s.look.Normal(), Hyperlink: s.link}
	if s.code {
		r.Label = document.Code
	}
	return r
}

// A walker goes through a page in order. Text gathers in runs until a block
// begins or ends.
type walker struct {
	b    *document.Builder
	opts Options
	base *url.URL

	parent document.Parent // nil is the body
	item   *document.Text  // a list item that has no text yet, and nothing else
	runs   []document.Run
	titled bool                    // an h1 was seen
	minor  map[*document.Text]bool // headings of what is not the main content
}

// flush ends a paragraph.
func (w *walker) flush() {
	runs := w.runs
	w.runs = nil
	if document.PlainText(runs) == "" {
		return
	}
	if w.item != nil {
		w.b.Fill(w.item, runs)
		w.item = nil
		return
	}
	w.b.Runs(w.parent, runs)
}

func (w *walker) children(n *html.Node, s style) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			w.text(c.Data, s)
		case html.ElementNode:
			w.element(c, s)
		default:
		}
	}
}

// text adds text with its white space folded, also across runs.
func (w *walker) text(data string, s style) {
	var folded strings.Builder
	space := len(w.runs) == 0 || strings.HasSuffix(w.runs[len(w.runs)-1].Text, " ")
	for _, r := range data {
		if unicode.IsSpace(r) && r != '\u00a0' {
			if !space {
				folded.WriteByte(' ')
			}
			space = true
			continue
		}
		folded.WriteRune(r)
		space = false
	}
	if folded.Len() > 0 {
		w.runs = append(w.runs, s.run(folded.String()))
	}
}

func (w *walker) element(n *html.Node, s style) {
	switch {
	case w.opts.MainContentOnly && aside(n):
		return
	case hidden(n):
		w.drop(n)
		return
	}
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.heading(n, s)
	case atom.Ul, atom.Ol, atom.Menu:
		w.list(n, s)
	case atom.Table:
		w.flush()
		w.table(n, s)
	case atom.Pre:
		w.pre(n)
	case atom.Img:
		w.picture(n, nil)
	case atom.Figure:
		w.figure(n, s)
	case atom.Math:
		w.math(n, s)
	case atom.Br:
		w.text(" ", s)
	case atom.Input:
		w.checkbox(n)
	default:
		if isBlock(n) {
			w.flush()
			w.children(n, s)
			w.flush()
			return
		}
		w.children(n, w.inline(n, s))
	}
}

// inline is the style below an inline element.
func (w *walker) inline(n *html.Node, s style) style {
	switch n.DataAtom {
	case atom.B, atom.Strong:
		s.look.Bold = true
	case atom.I, atom.Em, atom.Cite, atom.Dfn, atom.Var:
		s.look.Italic = true
	case atom.U, atom.Ins:
		s.look.Underline = true
	case atom.S, atom.Del, atom.Strike:
		s.look.Strikethrough = true
	case atom.Sub:
		s.look.Script = document.Subscript
	case atom.Sup:
		s.look.Script = document.Superscript
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		s.code = true
	case atom.A:
		s.link = w.resolve(attr(n, "href"))
	default:
	}
	return s
}

// resolve is the absolute form of a link, or "" for one that leads nowhere.
func (w *walker) resolve(href string) string {
	u, err := url.Parse(strings.TrimSpace(href))
	if err != nil || href == "" {
		return ""
	}
	if w.base != nil {
		u = w.base.ResolveReference(u)
	}
	switch u.Scheme {
	case "", "http", "https", "mailto", "ftp", "tel":
		return u.String()
	}
	return ""
}

// heading adds the first h1 as the title and every other heading as a section
// header, an h2 at level 1.
func (w *walker) heading(n *html.Node, s style) {
	w.flush()
	inner := *w
	inner.runs = nil
	inner.inlineOnly(n, s)
	text := document.PlainText(inner.runs)
	if text == "" {
		return
	}
	w.item = nil
	level := headingLevel(n)
	if level == 1 && !w.titled {
		w.titled = true
		w.b.Fill(w.b.Title(w.parent, ""), inner.runs)
		return
	}
	t := w.b.Header(w.parent, max(1, level-1), "")
	w.b.Fill(t, inner.runs)
	if inAside(n) {
		w.minor[t] = true
	}
}

// inlineOnly gathers the runs below n, whatever elements it has.
func (w *walker) inlineOnly(n *html.Node, s style) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			w.text(c.Data, s)
		case c.Type != html.ElementNode || hidden(c):
		case c.DataAtom == atom.Img:
			w.text(attr(c, "alt"), s)
		case c.DataAtom == atom.Math:
			w.formula(c, s)
		default:
			if isBlock(c) {
				w.text(" ", s)
			}
			w.inlineOnly(c, w.inline(c, s))
		}
	}
}

// list adds a list; lists within its items are lists below those items.
func (w *walker) list(n *html.Node, s style) {
	w.flush()
	if find(n, func(*html.Node) bool { return true }) == nil {
		return
	}
	w.item = nil // an item that begins with a list has no text
	outer := w.parent
	defer func() { w.parent, w.item = outer, nil }()
	list := w.b.List(outer)
	number := 1
	if start, err := strconv.Atoi(attr(n, "start")); err == nil {
		number = start
	}
	var last *document.Text
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || hidden(c) {
			continue
		}
		if last != nil && (c.DataAtom == atom.Ul || c.DataAtom == atom.Ol) {
			w.parent = last // misplaced, and shown below the item before it
			w.list(c, s)
			continue
		}
		if value, err := strconv.Atoi(attr(c, "value")); err == nil {
			number = value
		}
		marker := "-"
		if n.DataAtom == atom.Ol {
			marker = strconv.Itoa(number) + "."
		}
		last = w.b.ListItem(list, "", n.DataAtom == atom.Ol, marker)
		number++
		w.parent, w.item = last, last
		w.children(c, s)
		w.flush()
	}
}

// pre adds a block of code, line ends kept.
func (w *walker) pre(n *html.Node) {
	w.flush()
	var text strings.Builder
	language := languageOf(n)
	for d := range n.Descendants() {
		switch {
		case d.Type == html.TextNode:
			text.WriteString(d.Data)
		case d.DataAtom == atom.Br:
			text.WriteByte('\n')
		case d.DataAtom == atom.Code && language == "":
			language = languageOf(d)
		}
	}
	code := strings.TrimRight(strings.TrimPrefix(text.String(), "\n"), " \t\r\n")
	if code == "" {
		return
	}
	t := w.b.Text(w.parent, document.Code, code)
	t.Language = language
	w.item = nil
}

// languages are the names DoclingDocument has for what pages call languages.
var languages = map[string]string{
	"bash": "Bash", "sh": "Bash", "shell": "Bash", "c": "C", "cpp": "C++", "c++": "C++", "csharp": "C#", "cs": "C#", "css": "CSS",
	"go": "Go", "golang": "Go", "haskell": "Haskell", "html": "HTML", "java": "Java", "javascript": "JavaScript", "js": "JavaScript",
	"json": "JSON", "kotlin": "Kotlin", "lua": "Lua", "perl": "Perl", "php": "PHP", "python": "Python", "py": "Python", "ruby": "Ruby",
	"rust": "Rust", "scala": "Scala", "sql": "SQL", "swift": "Swift", "typescript": "TypeScript", "ts": "TypeScript", "xml": "XML",
	"yaml": "YAML", "yml": "YAML",
}

// languageOf is the programming language an element names in its class, or "".
func languageOf(n *html.Node) string {
	for class := range strings.FieldsSeq(attr(n, "class")) {
		for _, prefix := range []string{"language-", "lang-"} {
			if name, ok := strings.CutPrefix(class, prefix); ok {
				return languages[strings.ToLower(name)]
			}
		}
	}
	return ""
}

// checkbox adds the state of a box to the text it stands in.
func (w *walker) checkbox(n *html.Node) {
	if attr(n, "type") != "checkbox" {
		return
	}
	if has(n, "checked") {
		w.text("☒ ", style{})
		return
	}
	w.text("☐ ", style{})
}
