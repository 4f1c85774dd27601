package knowledge

import (
	"path"
	"regexp"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/source"
)

// maxPassage is the length, in bytes, at which a section is split.
const maxPassage = 1600

// passages cuts a Markdown or text file into the parts that answers are: the
// sections below its headings, and long ones at a block or a line.
func passages(f *source.File) []Entry {
	lines := strings.SplitAfter(string(f.Data), "\n")
	about := frontMatter(lines)
	blocks := f.Markdown()
	if len(blocks) > 0 && blocks[0].Level == 1 {
		about = append(about, blocks[0].Text)
	}
	title := strings.Join(append(about, strings.TrimSuffix(f.Name, path.Ext(f.Name))), "\n")
	var out []Entry
	var way []source.Block // the headings above
	for i := 0; i < len(blocks); {
		if blocks[i].Level > 0 {
			for len(way) > 0 && way[len(way)-1].Level >= blocks[i].Level {
				way = way[:len(way)-1]
			}
			way = append(way, blocks[i])
			i++
			continue
		}
		end := i
		for end < len(blocks) && blocks[end].Level == 0 {
			end++
		}
		section := headings(way)
		for _, cut := range cuts(lines, blocks[i:end]) {
			out = append(out, Entry{File: f.Name, Title: title, Section: section, Answer: cut.text, Lines: []int{cut.first, cut.last}, blocks: cut.blocks, links: mostlyLinks(cut.text)})
		}
		i = end
	}
	return out
}

// NewEntry returns an entry that comes from no file of documents: its source, what
// that is about, a heading, and its paragraphs.
func NewEntry(source, about, section string, parts ...string) Entry {
	e := Entry{File: source, Title: about, Section: section}
	var texts []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			texts = append(texts, p)
			e.blocks = append(e.blocks, span{text: p})
		}
	}
	e.Answer = strings.Join(texts, "\n\n")
	return e
}

func headings(way []source.Block) string {
	var out []string
	for _, b := range way {
		out = append(out, strings.Join(strings.Fields(b.Text), " "))
	}
	return strings.Join(out, " > ")
}

// described are the members of front matter that say what a document is about.
var described = regexp.MustCompile(`^(?:title|description|summary|keywords|sidebar_label)\s*[:=]\s*["']?(.*?)["']?\s*$`)

func frontMatter(lines []string) []string {
	if fence := strings.TrimSpace(lines[0]); fence != "---" && fence != "+++" {
		return nil
	}
	var out []string
	for _, l := range lines[1:] {
		l = strings.TrimSpace(l)
		if l == "---" || l == "+++" {
			return out
		}
		if m := described.FindStringSubmatch(l); m != nil {
			out = append(out, m[1])
		}
	}
	return nil
}

// A cut is a run of lines of a section.
type cut struct {
	first, last int
	text        string
	blocks      []span
}

// A span is a block of a passage, by its lines.
type span struct {
	first, last int
	text        string
}

// cuts divides the blocks of a section into passages.
func cuts(lines []string, blocks []source.Block) []cut { return joined(lines, spans(lines, blocks)) }

// joined joins spans to passages as long as they may be.
func joined(lines []string, all []span) []cut {
	var out []cut
	size := 0
	for _, s := range all {
		if len(out) == 0 || size+len(s.text) > maxPassage {
			out = append(out, cut{first: s.first})
			size = 0
		}
		c := &out[len(out)-1]
		c.last, c.blocks = s.last, append(c.blocks, s)
		size += len(s.text)
	}
	for i := range out {
		out[i].text = strings.TrimSpace(strings.Join(lines[out[i].first-1:out[i].last], ""))
	}
	return out
}

// spans are the blocks of a section; one that is longer than a passage is cut
// at its lines.
func spans(lines []string, blocks []source.Block) []span {
	var out []span
	for _, b := range blocks {
		from := b.Line
		size := 0
		for n := b.Line; n <= b.Last; n++ {
			if size > 0 && size+len(lines[n-1]) > maxPassage {
				out = append(out, newSpan(lines, from, n-1))
				from, size = n, 0
			}
			size += len(lines[n-1])
		}
		out = append(out, newSpan(lines, from, b.Last))
	}
	return out
}

func newSpan(lines []string, first, last int) span {
	return span{first, last, strings.TrimSpace(strings.Join(lines[first-1:last], ""))}
}

// link is a link of Markdown.
var link = regexp.MustCompile(`\[[^\]]*\]\([^)]*\)`)

// mostlyLinks reports whether a text is a list of links, such as a table of
// contents: it names what others say.
func mostlyLinks(text string) bool {
	rest := link.ReplaceAllString(text, "")
	return len(text)-len(rest) > 2*len(strings.Join(strings.Fields(rest), ""))
}
