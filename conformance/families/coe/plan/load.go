package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/source"
)

// The longest title and the longest text of any other member, in characters.
const (
	maxTitle = 300
	maxText  = 20_000
)

// Load reads a plan from a JSON or Markdown file, or from all such files of a
// folder, in the order of their names. conformance/families/docs/reference.md describes both formats.
// An error names the file, the line, and what to do.
func Load(name string) (Seed, error) {
	files, err := source.Read(name, ".json", ".md", ".markdown")
	if err != nil {
		return Seed{}, fmt.Errorf("plan: %w", err)
	}
	var all []draft
	next := 0
	for i := range files.Read {
		f := &files.Read[i]
		var drafts []draft
		if f.Ext() == ".json" {
			var first int
			drafts, first, err = readJSON(f)
			next = max(next, first)
		} else {
			drafts, err = readMarkdown(f)
		}
		if err != nil {
			return Seed{}, fmt.Errorf("plan: %w", err)
		}
		all = append(all, drafts...)
	}
	seed, err := compile(all, next)
	if err != nil {
		return Seed{}, fmt.Errorf("plan: %w", err)
	}
	if len(seed.Tasks) == 0 {
		return Seed{}, fmt.Errorf("plan: %w", &source.Error{File: name, Problem: "no task in it; add one"})
	}
	return seed, nil
}

// Digest identifies what a plan begins with: two seeds have the same digest when
// their tasks are the same, whatever file they come from. When the plan was
// written does not count.
func (s Seed) Digest() string {
	type content struct {
		Task
		Priority Priority
		State    State
		Hold     string
		Created  struct{} `json:"createdAt"`
	}
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, t := range s.Tasks {
		_ = enc.Encode(content{Task: t, Priority: t.Priority, State: t.State, Hold: t.Hold}) // a hash takes everything, and a task has numbers and texts
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// A draft is a task as a file has it: what it depends on may come later.
type draft struct {
	Task
	file *source.File
	line int
	// section is the heading of the plan that the task stands under.
	section string
	// related and after name tasks by id or title.
	related, after []string
}

func (d *draft) errorf(format string, args ...any) error {
	return d.file.Errorf(d.line, format, args...)
}

// taskID is what ids of tasks look like. Those of verifications are the plan's.
var taskID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

const (
	idPrefix     = "TASK-"
	verifyPrefix = "TASK-VERIFY-"
)

// compile checks the drafts of all files and makes a plan of them.
func compile(drafts []draft, next int) (Seed, error) {
	if len(drafts) > MaxTasks {
		return Seed{}, drafts[MaxTasks].errorf("more than %d tasks; split the plan", MaxTasks)
	}
	byID, byTitle := map[string]*draft{}, map[string][]*draft{}
	for i := range drafts {
		d := &drafts[i]
		if err := d.check(); err != nil {
			return Seed{}, err
		}
		d.Numbered = d.ID == ""
		d.ID = cmp.Or(d.ID, fmt.Sprintf(idPrefix+"%03d", i+1))
		if twin := byID[d.ID]; twin != nil {
			return Seed{}, d.errorf("task id %s is that of the task in line %d of %s; give this one an id of its own", d.ID, twin.line, twin.file.Path)
		}
		byID[d.ID] = d
		byTitle[folded(d.Title)] = append(byTitle[folded(d.Title)], d)
		if n, ok := number(d.ID); ok {
			next = max(next, n+1)
		}
		d.TicketID = "TICKET-" + strings.TrimPrefix(d.ID, idPrefix)
	}
	seed := Seed{NextTask: next}
	for i := range drafts {
		d := &drafts[i]
		var err error
		if d.Dependencies, err = d.resolve(d.after, byID, byTitle); err != nil {
			return Seed{}, err
		}
		if d.Related, err = d.resolve(d.related, byID, byTitle); err != nil {
			return Seed{}, err
		}
		if d.Created.IsZero() {
			d.Created = d.file.Modified
		}
		d.Created = d.Created.Add(time.Duration(i) * time.Minute) // the first in the file is the oldest
		seed.Tasks = append(seed.Tasks, d.Task)
	}
	if way := circle(seed.Tasks); way != nil {
		return Seed{}, byID[way[0]].errorf("tasks wait for each other: %s; remove one of these dependencies", strings.Join(way, " after "))
	}
	return seed, nil
}

// check refuses what the tools could not work with.
func (d *draft) check() error {
	switch {
	case strings.TrimSpace(d.Title) == "":
		return d.errorf("a task without a title; give it one")
	case utf8.RuneCountInString(d.Title) > maxTitle:
		return d.errorf("a title of more than %d characters; shorten it and put the rest into the description", maxTitle)
	case utf8.RuneCountInString(d.Description) > maxText:
		return d.errorf("a description of more than %d characters; shorten it or split the task", maxText)
	case d.ID != "" && !taskID.MatchString(d.ID):
		return d.errorf("task id %q; use at most 64 letters, digits, dots, hyphens and underscores", d.ID)
	case strings.HasPrefix(d.ID, verifyPrefix):
		return d.errorf("task id %s; ids with %s are for verifications, choose another one", d.ID, verifyPrefix)
	case d.EstimatedHours < 0 || d.EstimatedHours > MaxHours:
		return d.errorf("%g hours; give a number from 0 to %g", d.EstimatedHours, MaxHours)
	case strings.ContainsFunc(d.Title, unicode.IsControl):
		return d.errorf("a control character in the title; remove it")
	}
	return nil
}

// number returns the number of an id that tools might give, too.
func number(id string) (int, bool) {
	digits, ok := strings.CutPrefix(id, idPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0 && n < 1<<30
}

// resolve finds tasks by their ids or titles.
func (d *draft) resolve(names []string, byID map[string]*draft, byTitle map[string][]*draft) ([]string, error) {
	out := []string{}
	for _, name := range names {
		found := byID[name]
		if twins := byTitle[folded(name)]; found == nil && len(twins) == 1 {
			found = twins[0]
		} else if found == nil && len(twins) > 1 {
			return nil, d.errorf("%q is the title of %d tasks; name one by its id", name, len(twins))
		}
		switch {
		case found == nil:
			return nil, d.errorf("no task %q in the plan; name one by its id or title", name)
		case found == d:
			return nil, d.errorf("task %s names itself; remove that", d.ID)
		}
		if found.Numbered && name == found.ID {
			d.byPlace = append(d.byPlace, name)
		}
		if !slices.Contains(out, found.ID) {
			out = append(out, found.ID)
		}
	}
	return out, nil
}

func folded(title string) string { return strings.ToLower(strings.Join(strings.Fields(title), " ")) }

// circle returns tasks of which each waits for the next, and the last is the first: none
// of them could begin. It is nil when there are none.
func circle(tasks []Task) []string {
	const (
		open = 1 + iota
		done
	)
	byID, marks := map[string]*Task{}, map[string]int{}
	for i := range tasks {
		byID[tasks[i].ID] = &tasks[i]
	}
	var visit func(t *Task, way []string) []string
	visit = func(t *Task, way []string) []string {
		way = append(way, t.ID)
		switch marks[t.ID] {
		case done:
			return nil
		case open:
			return way[slices.Index(way, t.ID):]
		}
		marks[t.ID] = open
		for _, id := range t.Dependencies {
			if found := visit(byID[id], way); found != nil {
				return found
			}
		}
		marks[t.ID] = done
		return nil
	}
	for i := range tasks {
		if found := visit(&tasks[i], nil); found != nil {
			return found
		}
	}
	return nil
}

// complete fills in what a file may leave out: a prompt, and where the task
// comes from.
func (d *draft) complete(planID, version, section string) {
	d.Description = cmp.Or(d.Description, d.Title)
	if d.Reference.PlanID == "" {
		d.Reference.PlanID = planID
	}
	d.Reference.Version = cmp.Or(d.Reference.Version, version)
	if len(d.Reference.AffectedSections) == 0 && section != "" {
		d.Reference.AffectedSections = []string{section}
	}
	if d.Prompt == nil {
		d.Prompt = &Prompt{}
	}
	p := d.Prompt
	p.Description = cmp.Or(p.Description, d.Description)
	p.EstimatedHours = cmp.Or(p.EstimatedHours, d.EstimatedHours)
	p.ComplexityLevel = cmp.Or(p.ComplexityLevel, complexities[1])
	for _, list := range []*[]string{&p.Requirements, &p.AcceptanceCriteria, &p.SkillsRequired, &d.Reference.AffectedSections} {
		if *list == nil {
			*list = []string{}
		}
	}
	if p.DesignReferences == nil {
		p.DesignReferences = map[string]any{"fromPlan": strings.TrimSpace(d.file.Name + " " + section)}
	}
}

// complexities are the words of S1 for how hard a task is.
var complexities = []string{"easy", "medium", "hard", "expert"}

// states are the words with which a task may begin.
var states = map[string]State{
	"": Queued, "pending": Queued, "ready": Queued, "todo": Queued,
	"in-progress": InProgress, "in_progress": InProgress, "paused": Paused, "failed": Failed, "done": Done,
}

// defaultPlan is the name of a plan that gives none.
func defaultPlan(f *source.File) string {
	base := path.Base(f.Name)
	return strings.TrimSuffix(base, path.Ext(base))
}

const defaultVersion = "1"
