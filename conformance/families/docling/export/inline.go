package export

import (
	"cmp"
	"html"
	"regexp"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

func itoa(n int) string { return strconv.Itoa(n) }

// content is the text of t as Markdown, or that of the inline group in its place.
func (m *markdown) content(t *document.Text) string {
	if g := inlineOf(t, m.find); g != nil {
		return m.inline(g)
	}
	text := escape(strings.TrimSpace(t.Text))
	if harmless(t.Hyperlink) {
		text = bracket.ReplaceAllStringFunc(text, closed)
	}
	return dressed(text, t)
}

// inline joins the texts of an inline group to one line.
func (m *markdown) inline(g *document.Group) string {
	var line strings.Builder
	var last, lastPlain string
	var look *document.Formatting
	for _, ref := range g.Children {
		var part, plain string
		var formatting *document.Formatting
		switch n := m.find(ref).(type) {
		case *document.Text:
			if !m.shows(n.Layer) {
				continue
			}
			formatting, plain = n.Formatting, n.Text
			switch n.Label {
			case document.Code:
				part = dressed(codeSpan(n.Text), n)
			case document.Formula:
				part = formula(n, "$")
			default:
				part = m.content(n)
			}
		case *document.Picture:
			part = m.image(n.Image)
		case *document.Group:
			part = m.inline(n)
		default:
		}
		if part == "" {
			continue
		}
		plain = cmp.Or(plain, part)
		switch {
		case document.SpaceBetween(lastPlain, plain, look, formatting):
			line.WriteByte(' ')
		case strings.HasSuffix(last, "]") && strings.IndexByte("(:", part[0]) >= 0:
			line.WriteByte('\\') // as in escape
		}
		line.WriteString(part)
		last, lastPlain, look = part, plain, formatting
	}
	return line.String()
}

// dressed puts the look and the link around a text. Underline and scripts have
// no Markdown.
func dressed(text string, t *document.Text) string {
	if text == "" {
		return ""
	}
	if f := t.Formatting; f != nil {
		if f.Bold {
			text = "**" + text + "**"
		}
		if f.Italic {
			text = "*" + text + "*"
		}
		if f.Strikethrough {
			text = "~~" + text + "~~"
		}
	}
	if harmless(t.Hyperlink) {
		text = "[" + text + "](" + target(t.Hyperlink) + ")"
	}
	return text
}

// target is a link's address as Markdown takes it.
func target(link string) string {
	link = strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' {
			return -1
		}
		return r
	}, link)
	if strings.ContainsAny(link, " ()") {
		return "<" + link + ">"
	}
	return link
}

// escape makes a text mean itself: underscores, HTML (not quotes), and what
// would make a link of brackets.
func escape(text string) string { return special.Replace(text) }

var special = strings.NewReplacer(
	`\_`, `\_`, "_", `\_`, "&", "&amp;", "<", "&lt;", ">", "&gt;", "\x00", "", "](", `]\(`, "]:", `]\:`)

// bracket matches what could end the text of a link early, with the
// backslashes before it.
var bracket = regexp.MustCompile(`\\*[\[\]]|\\+$`)

// closed escapes the bracket of a match; after an odd number of backslashes it
// is escaped already, and a bracket that follows the text is.
func closed(match string) string {
	last := len(match) - 1
	switch odd := last%2 == 1; {
	case match[last] == '\\' && !odd:
		return match + `\`
	case match[last] != '\\' && !odd:
		return match[:last] + `\` + match[last:]
	}
	return match
}

// opener matches the start of a line that would be more than text: a heading, a
// list item, a rule, a fence, a table.
var opener = regexp.MustCompile(
	`^(?:#{1,6}(?:\s|$)|[-+*](?:\s|$)|-{2,}|=+\s*$|\*{2,}\s*$|\x60{3}|~{3}|\||:-|(\d{1,9})[.)](?:\s|$))`)

// blockText is text that begins a block and must stay a paragraph: no line of it
// may look like another block.
func blockText(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimLeft(line, " \t")
		if line != "" && strings.IndexByte("#-+*=`~|:0123456789", line[0]) >= 0 {
			if m := opener.FindStringSubmatch(line); m != nil {
				line = m[1] + `\` + line[len(m[1]):]
			}
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// fenced is a code block whose fence is longer than any in it.
func fenced(code string) string {
	fence := "```"
	for strings.Contains(code, fence) {
		fence += "`"
	}
	return fence + "\n" + code + "\n" + fence
}

func codeSpan(code string) string {
	code = oneLine(code)
	tick := "`"
	for strings.Contains(code, tick) {
		tick += "`"
	}
	if len(tick) > 1 {
		return tick + " " + code + " " + tick
	}
	return tick + code + tick
}

// inert keeps a formula from being a link or HTML to a reader that knows no
// formulas. Spaces mean nothing in one.
var inert = strings.NewReplacer("](", "] (", "]:", "] :", "<", "< ")

func formula(t *document.Text, mark string) string {
	switch {
	case t.Text != "":
		return mark + inert.Replace(t.Text) + mark
	case t.Orig != "":
		return "<!-- formula-not-decoded -->"
	}
	return ""
}

// plain is text for HTML; line breaks stay, other control characters go.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
	return strings.ReplaceAll(html.EscapeString(text), "\n", "<br>")
}
