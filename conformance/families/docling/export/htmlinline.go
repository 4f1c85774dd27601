package export

import (
	"html"
	"regexp"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// content is the text of t as HTML, or that of the inline group in its place.
func (p *page) content(t *document.Text) string {
	if g := inlineOf(t, p.find); g != nil {
		return p.inline(g)
	}
	text := plain(strings.TrimSpace(t.Text))
	if text == "" {
		return ""
	}
	switch t.Label {
	case document.Code:
		text = "<code>" + text + "</code>"
	case document.Formula:
		text = `<span class="formula">` + text + "</span>"
	default:
	}
	for _, tag := range tags(t.Formatting) {
		text = "<" + tag + ">" + text + "</" + tag + ">"
	}
	if harmless(t.Hyperlink) {
		text = `<a href="` + html.EscapeString(strings.TrimSpace(t.Hyperlink)) + `">` + text + "</a>"
	}
	return text
}

// tags are the elements of a look, innermost first.
func tags(f *document.Formatting) []string {
	if f == nil {
		return nil
	}
	var list []string
	for _, look := range []struct {
		on  bool
		tag string
	}{
		{f.Bold, "strong"},
		{f.Italic, "em"},
		{f.Underline, "u"},
		{f.Strikethrough, "del"},
		{f.Script == document.Subscript, "sub"},
		{f.Script == document.Superscript, "sup"},
	} {
		if look.on {
			list = append(list, look.tag)
		}
	}
	return list
}

// inline joins the texts of an inline group.
func (p *page) inline(g *document.Group) string {
	var line strings.Builder
	var last string
	var look *document.Formatting
	for _, ref := range g.Children {
		switch n := p.find(ref).(type) {
		case *document.Text:
			if !p.shows(n.Layer) || strings.TrimSpace(n.Text) == "" {
				continue
			}
			if document.SpaceBetween(last, n.Text, look, n.Formatting) {
				line.WriteByte(' ')
			}
			line.WriteString(p.content(n))
			last, look = n.Text, n.Formatting
		case *document.Picture:
			if uri := p.embedded(n.Image); uri != "" {
				line.WriteString(`<img src="` + uri + `" alt="">`)
			}
		case *document.Group:
			line.WriteString(p.inline(n))
		default:
		}
	}
	return line.String()
}

var (
	ordinal     = regexp.MustCompile(`^(\d{1,9})\.$`)
	plainMarker = regexp.MustCompile(`^[^\s'"\\<>&\x00-\x1f]{1,16}$`)
)

// itemAttribute shows a marker that the list would not have on its own.
func itemAttribute(t *document.Text, expected *int) string {
	if m := ordinal.FindStringSubmatch(t.Marker); m != nil && t.Enumerated {
		no, _ := strconv.Atoi(m[1])
		defer func() { *expected = no + 1 }()
		if no == *expected {
			return ""
		}
		return ` value="` + m[1] + `"`
	}
	*expected++
	if t.Marker == "" || t.Marker == "-" || !plainMarker.MatchString(t.Marker) {
		return ""
	}
	return ` style="list-style-type: '` + t.Marker + ` ';"`
}
