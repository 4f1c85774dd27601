// Package task holds CURRENT_TASK.md: what is to be done now, and where
// (tools.md §5.1). It reads and writes no files.
package task

import (
	"errors"
	"path"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/adr"
)

// A Task is one task for an agent.
type Task struct {
	UID     adr.UID
	Created time.Time
	Related adr.UID // the ADR it belongs to; may be empty

	Title       string
	Objective   string
	Context     string
	Allowlist   []string // at least one; none of them is forbidden
	Forbidden   []string
	Constraints []string
	Acceptance  []string // at least one
}

const (
	maxTitle = 120
	maxItem  = 1000
	none     = "None"
)

// Check returns why t cannot be written, or nil.
func (t *Task) Check() error {
	switch {
	case !t.UID.Valid():
		return errors.New("a task needs a UID")
	case adr.Line(t.Title, maxTitle) == "":
		return errors.New("a task needs a title")
	case len(t.Allowlist) == 0:
		return errors.New("a task needs an entry in its allowlist")
	case len(t.Acceptance) == 0:
		return errors.New("a task needs an acceptance criterion")
	}
	for _, allowed := range t.Allowlist {
		for _, forbidden := range t.Forbidden {
			if overlap(allowed, forbidden) {
				return errors.New("the allowlist of a task meets what it forbids")
			}
		}
	}
	return nil
}

// Allow adds the paths that meet nothing forbidden to the allowlist.
func (t *Task) Allow(paths ...string) {
	for _, p := range paths {
		free := true
		for _, forbidden := range t.Forbidden {
			free = free && !overlap(p, forbidden)
		}
		if free {
			t.Allowlist = append(t.Allowlist, p)
		}
	}
}

// overlap reports whether two paths, either of which may end in /**, share a
// file.
func overlap(a, b string) bool {
	a, b = path.Clean(strings.TrimSuffix(a, "/**")), path.Clean(strings.TrimSuffix(b, "/**"))
	return a == b || a == "." || b == "." || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// Format returns the text of t.
func (t *Task) Format() string {
	related := none
	if t.Related != "" {
		related = string(t.Related)
	}
	var b strings.Builder
	b.WriteString("<!--\nUID: " + string(t.UID) + "\nCreated: " + t.Created.UTC().Format(time.RFC3339) +
		"\nRelated ADR: " + related + "\n-->\n\n# " + adr.Line(t.Title, maxTitle) + "\n")
	section := func(name, text string) {
		if text == "" {
			text = none
		}
		b.WriteString("\n## " + name + "\n\n" + text + "\n")
	}
	section("Objective", adr.Block(t.Objective))
	section("Context", adr.Block(t.Context))
	section("Allowlist", list("- ", t.Allowlist))
	section("Forbidden", list("- ", t.Forbidden))
	section("Technical Constraints", list("- ", t.Constraints))
	section("Acceptance Criteria", list("- [ ] ", t.Acceptance))
	return b.String()
}

func list(mark string, items []string) string {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = mark + adr.Line(item, maxItem)
	}
	return strings.Join(lines, "\n")
}

// Identity is what must be readable in CURRENT_TASK.md so that it can be
// archived. The rest is free: the file is there to be edited.
type Identity struct {
	UID   adr.UID
	Title string
}

// ParseIdentity reads the identity of a task from its text.
func ParseIdentity(text string) (Identity, error) {
	var id Identity
	rest, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimPrefix(text, "\uFEFF"), " \t\r\n"), "<!--")
	if !ok {
		return id, errors.New("the comment with the UID is missing")
	}
	header, body, ok := strings.Cut(rest, "-->")
	if !ok {
		return id, errors.New("the comment with the UID has no end")
	}
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "UID" && id.UID == "" {
			id.UID = adr.UID(strings.TrimSpace(value))
		}
	}
	if !id.UID.Valid() {
		return Identity{}, errors.New("the UID is missing or malformed")
	}
	for line := range strings.Lines(body) {
		if title, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
			id.Title = adr.Line(title, maxTitle)
			return id, nil
		}
	}
	return Identity{}, errors.New("the title is missing")
}
