package source

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// markdown parses CommonMark with tables and task lists. Parsers of goldmark
// keep no state between documents.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.TaskList)).Parser()

// A Block is a part of a Markdown document.
type Block struct {
	// Line and Last are the first and the last line of the block.
	Line, Last int
	// Level is that of a heading, 1 to 6; 0 is any other block.
	Level int
	// Text is what a reader sees, without markup; lines that the document breaks
	// are broken here.
	Text string
	// Items are the items of a list, each with its own text and the lists in it.
	Items []Item
}

// An Item is an item of a list.
type Item struct {
	Line int
	// Task says that the item begins with a checkbox; Done that it is checked.
	Task, Done bool
	Text       string
	Items      []Item
}

// Markdown returns the blocks of a document, in order. Front matter is left out.
func (f *File) Markdown() []Block {
	data := blankFrontMatter(f.Data)
	doc := markdown.Parse(text.NewReader(data))
	lines := newLineTable(data)
	var blocks []Block
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		first, last, ok := extent(n)
		if !ok {
			continue // a thematic break, an empty heading
		}
		b := Block{Line: lines.of(first), Last: lines.of(max(first, last-1)), Text: plain(n, data)}
		switch n := n.(type) {
		case *ast.Heading:
			b.Level = n.Level
		case *ast.List:
			b.Items = items(n, data, lines)
		case *ast.FencedCodeBlock: // its own lines are those between the fences
			b.Line--
			if strings.HasPrefix(lines.text(data, b.Last+1), lines.text(data, b.Line)[:3]) {
				b.Last++
			}
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// blankFrontMatter replaces the YAML or TOML before a document by empty lines, so
// that the numbers of the others stay.
func blankFrontMatter(data []byte) []byte {
	var fence []byte
	newlines, at := 0, 0
	for line := range bytes.Lines(data) {
		at += len(line)
		switch line = bytes.TrimRight(line, " \r\n"); {
		case newlines > 0 && bytes.Equal(line, fence):
			return append(bytes.Repeat([]byte("\n"), newlines+1), data[at:]...)
		case newlines == 0 && string(line) != "---" && string(line) != "+++":
			return data
		case newlines == 0:
			fence = line
		}
		newlines++
	}
	return data // a thematic break, not front matter
}

// extent returns the bytes of the source that a block covers.
func extent(n ast.Node) (first, last int, ok bool) {
	cover := func(from, to int) {
		if !ok || from < first {
			first = from
		}
		last, ok = max(last, to), true
	}
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Type() == ast.TypeBlock {
			for _, s := range n.Lines().Sliced(0, n.Lines().Len()) {
				cover(s.Start, s.Stop)
			}
		}
		return ast.WalkContinue, nil
	})
	return first, last, ok
}

// items returns the items of a list.
func items(list ast.Node, data []byte, lines lineTable) []Item {
	var out []Item
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		first, _, ok := extent(n)
		if !ok {
			continue
		}
		it := Item{Line: lines.of(first)}
		var own []string
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if c.Kind() == ast.KindList {
				it.Items = append(it.Items, items(c, data, lines)...)
				continue
			}
			if box, ok := c.FirstChild().(*extast.TaskCheckBox); ok && len(own) == 0 {
				it.Task, it.Done = true, box.IsChecked
			}
			own = append(own, plain(c, data))
		}
		it.Text = strings.TrimSpace(strings.Join(own, "\n"))
		out = append(out, it)
	}
	return out
}

// plain is the text of a node as a reader sees it.
func plain(n ast.Node, data []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(data))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte('\n')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.Label(data))
			}
		case *ast.RawHTML:
			return ast.WalkSkipChildren, nil
		case *ast.HTMLBlock:
			if entering {
				b.WriteString(untagged(string(n.Lines().Value(data))))
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				b.Write(n.Lines().Value(data))
			}
		case *extast.TableCell:
			if !entering && n.NextSibling() != nil {
				b.WriteString(" | ")
			}
		default:
			if !entering && n.Type() == ast.TypeBlock && b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
				b.WriteByte('\n')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// untagged removes tags and comments from HTML.
func untagged(html string) string {
	var b strings.Builder
	for html != "" {
		before, rest, found := strings.Cut(html, "<")
		b.WriteString(before)
		if !found {
			break
		}
		end := ">"
		if strings.HasPrefix(rest, "!--") {
			end = "-->"
		}
		_, html, _ = strings.Cut(rest, end)
	}
	return b.String()
}
