package plan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/source"
)

// A Markdown plan has its tasks in one of two forms. A heading with an id, or
// with "Task:" before its text, makes a task of its section, and the checklist in
// it are its acceptance criteria. In a file without such headings each item of a
// checklist is a task.
var (
	headingID   = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_]*-[0-9]+)(?:\s*[:.–—]\s*|\s+-\s+|\s+)(\S.*)$`)
	headingWord = regexp.MustCompile(`(?i)^task\s*[:–—]\s*(\S.*)$`)
)

func isTaskHeading(text string) bool {
	return headingID.MatchString(text) || headingWord.MatchString(text)
}

// reader goes through the blocks of a Markdown file.
type reader struct {
	file          *source.File
	plan, version string
	// sections says that the tasks are headings.
	sections bool
	drafts   []draft
	// heading is the last one that is no task.
	heading string
	// level is that of the task whose section goes on; 0 is outside of tasks.
	level int
	// part is the last heading in that section, such as "Requirements".
	part string
}

func readMarkdown(f *source.File) ([]draft, error) {
	r := reader{file: f, plan: defaultPlan(f), version: defaultVersion}
	blocks := f.Markdown()
	r.sections = slices.ContainsFunc(blocks, func(b source.Block) bool { return b.Level > 0 && isTaskHeading(b.Text) })
	for i, b := range blocks {
		var err error
		switch {
		case b.Level == 1 && i == 0 && !isTaskHeading(b.Text):
			r.plan = b.Text
		case b.Level > 0:
			err = r.under(b)
		case r.level > 0:
			err = r.inTask(b)
		case r.sections:
		default:
			err = r.checklist(b)
		}
		if err != nil {
			return nil, err
		}
		if len(r.drafts) == 0 && b.Level == 0 {
			r.findVersion(b.Text)
		}
	}
	if len(r.drafts) == 0 {
		return nil, f.Errorf(1, `no task; write a list of "- [ ] Title", or headings such as "## TASK-001: Title"`)
	}
	for i := range r.drafts {
		d := &r.drafts[i]
		d.complete(r.plan, r.version, d.section)
	}
	return r.drafts, nil
}

// under reads a heading: a task, a part of one, or a part of the plan.
func (r *reader) under(b source.Block) error {
	switch {
	case r.sections && isTaskHeading(b.Text):
		r.level, r.part = b.Level, ""
		return r.begin(b.Text, b.Line, false)
	case r.level > 0 && b.Level > r.level:
		r.part = b.Text
	default:
		r.level, r.heading = 0, b.Text
	}
	return nil
}

// begin adds a task.
func (r *reader) begin(name string, line int, done bool) error {
	d := draft{file: r.file, line: line, section: r.heading, Task: Task{Priority: Medium, Prompt: &Prompt{}}}
	if done {
		d.State = Done
	}
	if m := headingWord.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	if m := headingID.FindStringSubmatch(name); m != nil {
		d.ID, name = m[1], m[2]
	}
	var err error
	if d.Title, err = d.inParens(name); err != nil {
		return err
	}
	r.drafts = append(r.drafts, d)
	return d.check()
}

// checklist reads the tasks of a list.
func (r *reader) checklist(b source.Block) error {
	for _, it := range b.Items {
		if !it.Task {
			continue
		}
		title, rest, _ := strings.Cut(it.Text, "\n")
		if err := r.begin(title, it.Line, it.Done); err != nil {
			return err
		}
		d := &r.drafts[len(r.drafts)-1]
		if err := d.lines(rest, it.Line+1); err != nil {
			return err
		}
		for _, detail := range it.Items {
			if err := d.detail(detail, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// inTask reads a block of a task's section.
func (r *reader) inTask(b source.Block) error {
	d := &r.drafts[len(r.drafts)-1]
	if b.Items == nil {
		if title, ok := strings.CutSuffix(b.Text, ":"); ok && !strings.Contains(title, "\n") {
			r.part = title // "Acceptance criteria:" before a list
			return nil
		}
		return d.lines(b.Text, b.Line)
	}
	for _, it := range b.Items {
		if err := d.detail(it, r.part); err != nil {
			return err
		}
	}
	return nil
}

// detail reads an item of a list in a task. part is what the list is about.
func (d *draft) detail(it source.Item, part string) error {
	switch title, isTitle := strings.CutSuffix(it.Text, ":"); {
	case isTitle && len(it.Items) > 0:
		part = title
	case it.Task:
		d.Prompt.AcceptanceCriteria = append(d.Prompt.AcceptanceCriteria, it.Text)
	default:
		known, err := d.set(part+": "+it.Text, it.Line)
		if err != nil {
			return err
		}
		if !known {
			if err := d.lines(it.Text, it.Line); err != nil {
				return err
			}
		}
	}
	for _, below := range it.Items {
		if err := d.detail(below, part); err != nil {
			return err
		}
	}
	return nil
}

// lines reads a text: attributes, a line each, and what describes the task.
func (d *draft) lines(text string, line int) error {
	for i, l := range strings.Split(text, "\n") {
		known, err := d.set(l, line+i)
		if err != nil {
			return err
		}
		if !known && strings.TrimSpace(l) != "" {
			d.Description = strings.TrimSpace(d.Description + "\n" + strings.TrimSpace(l))
		}
	}
	return nil
}

// findVersion looks for the version of the plan before its first task.
func (r *reader) findVersion(text string) {
	for line := range strings.Lines(text) {
		if key, value, ok := attribute(line); ok && key == "version" {
			r.version = value
		}
	}
}
