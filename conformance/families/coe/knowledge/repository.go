package knowledge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/source"
)

// documents and code are the extensions of the files of a repository that are read.
var (
	documents = []string{".md", ".markdown", ".txt", ".rst", ".adoc"}
	code      = strings.Fields(`.go .py .js .mjs .cjs .ts .tsx .jsx .vue .svelte .java .kt .kts .scala .rb .rs .c .h .cc .cpp .hpp .cs .swift
		.php .pl .lua .ex .exs .erl .hs .clj .dart .r .jl .sh .bash .ps1 .sql .proto .graphql .html .css .scss .less .yaml .yml .toml .ini .cfg .conf
		.tf .gradle .mk`)
)

// LoadRepository reads the documents and the code of the folder at name as passages,
// within the limits of package source. Files that are no UTF-8 text, or too large, are
// left out and named in Skipped.
func LoadRepository(name string) (*Base, error) {
	files, err := source.ReadTexts(name, append(documents, code...)...)
	if err != nil {
		return nil, fmt.Errorf("repository: %w", err)
	}
	b := &Base{Skipped: files.Skipped}
	digest := sha256.New()
	for i := range files.Read {
		f := &files.Read[i]
		fmt.Fprintf(digest, "%s %d\n%s", f.Name, len(f.Data), f.Data)
		if f.Ext() == ".md" || f.Ext() == ".markdown" {
			b.Entries = append(b.Entries, passages(f)...)
		} else {
			b.Entries = append(b.Entries, pieces(f)...)
		}
		if len(b.Entries) > maxEntries {
			return nil, fmt.Errorf("repository: %w", f.Errorf(0, "more than %d passages up to this file; name a folder with less in it", maxEntries))
		}
	}
	b.Version = "sha256:" + hex.EncodeToString(digest.Sum(nil))[:12]
	return b, nil
}

// pieces cuts a file that has no headings at its empty lines. A comment stays with the
// lines that follow it.
func pieces(f *source.File) []Entry {
	lines := strings.SplitAfter(string(f.Data), "\n")
	var blocks []span
	from := 0
	for n := 1; n <= len(lines)+1; n++ {
		empty := n > len(lines) || strings.TrimSpace(lines[n-1]) == ""
		switch {
		case from == 0 && !empty:
			from = n
		case from > 0 && empty:
			blocks = append(blocks, newSpan(lines, from, n-1))
			from = 0
		}
	}
	isCode := slices.Contains(code, f.Ext())
	var out []Entry
	for _, c := range joined(lines, blocks) {
		e := Entry{File: f.Name, Title: f.Name, Answer: c.text, Lines: []int{c.first, c.last}, blocks: c.blocks, code: isCode}
		if isCode {
			e.blocks = comments(lines, c)
		}
		out = append(out, e)
	}
	return out
}

// comment is how a line of a comment begins, in whichever language.
var comment = regexp.MustCompile(`^\s*(?://|#|/\*|\*|--|;|<!--|"""|%)`)

// comments returns the comments of a piece of code, each with the line that it is
// about; the whole piece when it has none.
func comments(lines []string, c cut) []span {
	var out []span
	from := 0
	for n := c.first; n <= c.last; n++ {
		switch is := comment.MatchString(lines[n-1]); {
		case is && from == 0:
			from = n
		case !is && from > 0:
			out = append(out, newSpan(lines, from, n))
			from = 0
		}
	}
	if from > 0 {
		out = append(out, newSpan(lines, from, c.last))
	}
	if out == nil {
		return c.blocks
	}
	return out
}
