package knowledge

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/source"
)

// maxEntries bounds a base, maxText a text of an entry in JSON, in characters.
const (
	maxEntries = 200_000
	maxText    = 20_000
)

//go:embed knowledge.json
var shipped []byte

// A Base is what the answer team knows.
type Base struct {
	// Source is what is cited for entries that come from no file of their own.
	Source string
	// Version is that of the source: the one it gives, else the digest of its
	// files.
	Version string
	// Sample says that the base is the one built in, about the sample plan.
	Sample  bool
	Entries []Entry
	// Skipped are the symbolic links that were not followed, and the files of a
	// repository that were not read.
	Skipped []string
}

// An Entry is one thing that is known, or one that is left open.
type Entry struct {
	// Section is the heading in the file, or the name of a decision.
	Section string `json:"section"`
	// Keywords are words of questions, beside those of the texts.
	Keywords []string `json:"keywords"`
	Answer   string   `json:"answer"`
	Quote    string   `json:"quote"`
	// Lines are the first and the last line of the quote.
	Lines []int `json:"lines"`
	// Open entries have no answer: Uncertainty says why.
	Open        bool       `json:"open"`
	Uncertainty string     `json:"uncertainty"`
	Guidance    *Guidance  `json:"guidance"`
	Related     []string   `json:"related"`
	Decisions   []Decision `json:"decisions"`
	// File is the file the entry comes from; empty is the source of the base.
	File string `json:"file"`
	// Title says what the file is about.
	Title string `json:"-"`
	// Task is the id of the task of the plan that the entry is, and Version that of
	// the plan.
	Task    string `json:"-"`
	Version string `json:"-"`

	// blocks are the paragraphs of a passage.
	blocks []span
	// links says that the entry is mostly a list of links, code that it is code.
	links, code bool
}

// File is the file that an entry comes from.
func (b *Base) File(e *Entry) string { return cmp.Or(e.File, b.Source) }

// Cite names the file and the section of an entry.
func (b *Base) Cite(e *Entry) string {
	if e.Section == "" {
		return b.File(e)
	}
	return b.File(e) + "#" + e.Section
}

// Guidance is advice on how to follow a decision.
type Guidance struct {
	Implementation string            `json:"implementation,omitempty"`
	Animation      string            `json:"animation,omitempty"`
	Accessibility  string            `json:"accessibility,omitempty"`
	Examples       map[string]string `json:"examples,omitempty"`
}

// A Decision is a record of what was decided.
type Decision struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Decision string `json:"decision"`
	Date     string `json:"date"`
}

// Shipped returns the knowledge built in, about the sample plan.
func Shipped() *Base {
	f := source.File{Name: "knowledge.json", Path: "knowledge.json", Data: shipped}
	b := &Base{Sample: true}
	if err := b.readJSON(&f); err != nil { // the file is part of the program
		panic(err)
	}
	return b
}

// Load reads knowledge from a Markdown, text or JSON file, or from all such
// files of a folder. conformance/families/docs/reference.md describes the formats. An error names the
// file, the line, and what to do.
func Load(name string) (*Base, error) {
	files, err := source.Read(name, ".md", ".markdown", ".txt", ".json")
	if err != nil {
		return nil, fmt.Errorf("knowledge: %w", err)
	}
	b := &Base{Source: filepath.Base(name), Skipped: files.Skipped}
	digest := sha256.New()
	for i := range files.Read {
		f := &files.Read[i]
		fmt.Fprintf(digest, "%s %d\n%s", f.Name, len(f.Data), f.Data)
		if f.Ext() != ".json" {
			b.Entries = append(b.Entries, passages(f)...)
		} else if err := b.readJSON(f); err != nil {
			return nil, fmt.Errorf("knowledge: %w", err)
		}
		if len(b.Entries) > maxEntries {
			return nil, fmt.Errorf("knowledge: %w", f.Errorf(0, "more than %d passages up to this file; name a folder with less in it", maxEntries))
		}
	}
	if len(b.Entries) == 0 {
		return nil, fmt.Errorf("knowledge: %w", &source.Error{File: name, Problem: "no text in it; write a paragraph"})
	}
	b.Version = cmp.Or(b.Version, "sha256:"+hex.EncodeToString(digest.Sum(nil))[:12])
	return b, nil
}

// readJSON reads {"source", "version", "entries": […]}, or the list of entries
// alone.
func (b *Base) readJSON(f *source.File) error {
	var head struct {
		Source  string `json:"source"`
		Version string `json:"version"`
	}
	list, err := f.List("entries", &head)
	if err != nil {
		return err
	}
	b.Version = cmp.Or(b.Version, head.Version)
	if b.Source == "" { // the base built in
		b.Source = head.Source
	}
	for i := range list {
		var e Entry
		if err := list[i].Decode(&e); err != nil {
			return err
		}
		if err := e.check(); err != "" {
			return f.Errorf(list[i].Line, "%s", err)
		}
		if !b.Sample {
			e.File = cmp.Or(e.File, head.Source, f.Name)
			if len(e.Lines) == 0 {
				e.Lines = []int{list[i].Line, list[i].Line}
			}
		}
		b.Entries = append(b.Entries, e)
	}
	return nil
}

// check returns what is wrong with an entry of a JSON file, or "".
func (e *Entry) check() string {
	switch {
	case strings.TrimSpace(e.Section) == "":
		return `an entry without "section"; name what it is about`
	case !e.Open && strings.TrimSpace(e.Answer) == "":
		return `an entry without "answer"; write one, or set "open" and say in "uncertainty" why there is none`
	case e.Open && strings.TrimSpace(e.Uncertainty) == "":
		return `an open entry without "uncertainty"; say why there is no answer`
	case len(e.Lines) != 0 && (len(e.Lines) != 2 || e.Lines[0] < 1 || e.Lines[1] < e.Lines[0]):
		return `"lines" must be the first and the last line of the quote`
	case utf8.RuneCountInString(e.Answer+e.Quote+e.Uncertainty) > maxText:
		return fmt.Sprintf("texts of more than %d characters; split the entry", maxText)
	}
	return ""
}
