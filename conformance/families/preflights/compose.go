package preflights

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/adr"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/llm"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/question"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/task"
)

// record returns the ADR of the session.
func (c *clarification) record(uid adr.UID, latest *adr.Record, base adr.Snapshot, d *llm.Decision) *adr.Record {
	changes := base.Changes(d.Patch)
	rec := &adr.Record{
		UID: uid, Title: d.Title,
		Changes:      changes,
		Snapshot:     base.With(d.Patch, uid),
		Context:      join("\n\n", c.intention, c.context),
		Decision:     strings.Join(changes, "\n"),
		Rationale:    "The answers given in the clarification:\n\n" + c.transcript(),
		Alternatives: c.alternatives(),
		Consequences: consequences(base, d.Patch),
	}
	if latest != nil {
		rec.Previous = latest.UID
	}
	return rec
}

// transcript returns the questions with their answers, one a line.
func (c *clarification) transcript() string {
	var lines []string
	for _, q := range c.questions {
		if _, ok := c.answers[q.ID]; ok {
			lines = append(lines, fmt.Sprintf("%s %s", adr.Line(q.Text, 300), adr.Line(c.answers.Text(q.ID), 500)))
		}
	}
	return strings.Join(lines, "\n")
}

// alternatives are the options that were offered and not chosen; doing nothing
// always is one.
func (c *clarification) alternatives() []string {
	var lines []string
	for _, q := range c.questions {
		var left []string
		for _, o := range q.Options {
			if o != question.Other && !slices.Contains(c.answers[q.ID], o) {
				left = append(left, o)
			}
		}
		if len(left) > 0 && len(c.answers[q.ID]) > 0 {
			lines = append(lines, adr.Line(q.Text, 300)+" "+strings.Join(left, ", "))
		}
	}
	return append(lines, "Leaving the architecture as it is")
}

func consequences(base adr.Snapshot, p adr.Patch) string {
	var lines []string
	for _, category := range slices.Sorted(maps.Keys(p)) {
		for _, field := range slices.Sorted(maps.Keys(p[category])) {
			if old, ok := base[category][field]; ok && old.Text != p[category][field] {
				lines = append(lines, fmt.Sprintf("%s.%s was %s (ADR %s).", category, field, old.Text, old.Ref))
			}
		}
	}
	return strings.Join(append(lines, "Work in these categories follows this decision until a later ADR changes it."), "\n")
}

// forbidden is what no task may touch: records do not change, and the
// projection is generated.
var forbidden = []string{"docs/adr/**", "docs/archive/**", "docs/ARCHITECTURE_STATE.md"}

const anyNeeded = "Files that the objective needs"

// task returns the task of the session; rec is its ADR or nil.
func (c *clarification) task(uid adr.UID, rec *adr.Record) (*task.Task, error) {
	created, err := uid.Time()
	if err != nil {
		return nil, err
	}
	t := &task.Task{
		UID: uid, Created: created, Title: adr.Line(c.intention, 120), Objective: c.intention,
		Context: join("\n\n", c.context, c.transcript()), Forbidden: forbidden, Constraints: c.leftOpen(),
	}
	for _, q := range c.questions {
		answer := c.answers.Text(q.ID)
		switch {
		case answer == "":
		case strings.Contains(q.ID, "acceptance"):
			t.Acceptance = append(t.Acceptance, answer)
		case strings.Contains(q.ID, "constraint"):
			t.Constraints = append(t.Constraints, answer)
		}
	}
	if rec != nil {
		t.Related = rec.UID
		for _, change := range rec.Changes {
			t.Acceptance = append(t.Acceptance, "Implemented as decided: "+change)
		}
	}
	if len(t.Acceptance) == 0 {
		t.Acceptance = []string{"The objective is reached"}
	}
	t.Allow(paths(c.intention + " " + c.context)...)
	if len(t.Allowlist) == 0 {
		t.Allowlist = []string{anyNeeded}
	}
	return t, t.Check()
}

var filePath = regexp.MustCompile(`^[A-Za-z0-9_.@-]+(/[A-Za-z0-9_.@*-]+)*(/|\.[A-Za-z0-9]{1,5}|/\*\*)$`)

// paths returns the paths of the repository that text mentions: words with a
// slash that end like a file or a folder.
func paths(text string) []string {
	var found []string
	for word := range strings.FieldsSeq(text) {
		word = strings.Trim(word, "`'\"()[]<>,;:!?")
		word = strings.TrimSuffix(word, ".")
		if !strings.Contains(word, "/") || !filePath.MatchString(word) || strings.Contains(word, "..") {
			continue
		}
		if strings.HasSuffix(word, "/") {
			word += "**"
		}
		if word = path.Clean(word); !slices.Contains(found, word) && len(found) < 20 {
			found = append(found, word)
		}
	}
	return found
}

func join(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" }), sep)
}
