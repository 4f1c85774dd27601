package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/source"
)

// entry is a task of a JSON plan. Beside the members of a task it takes those of
// its prompt that people write most, so that short plans stay short.
type entry struct {
	ID                 string     `json:"id"`
	Title              string     `json:"title"`
	Description        string     `json:"description"`
	Priority           string     `json:"priority"`
	Status             string     `json:"status"`
	Dependencies       []string   `json:"dependencies"`
	Related            []string   `json:"relatedTasks"`
	Prompt             *Prompt    `json:"superDetailedPrompt"`
	Reference          Reference  `json:"planReference"`
	EstimatedHours     float64    `json:"estimatedHours"`
	Created            *time.Time `json:"createdAt"`
	Context            string     `json:"context"`
	Requirements       []string   `json:"requirements"`
	AcceptanceCriteria []string   `json:"acceptanceCriteria"`
	Skills             []string   `json:"skillsRequired"`
	Complexity         string     `json:"complexityLevel"`
	Files              *Files     `json:"files"`
}

// readJSON reads {"plan", "version", "nextTask", "created", "tasks": […]}, or
// the list of tasks alone.
func readJSON(f *source.File) ([]draft, int, error) {
	var head struct {
		Plan     string    `json:"plan"`
		Version  string    `json:"version"`
		NextTask int       `json:"nextTask"`
		Created  time.Time `json:"created"`
	}
	list, err := f.List("tasks", &head)
	if err != nil {
		return nil, 0, err
	}
	if head.NextTask < 0 || head.NextTask > 1<<30 {
		return nil, 0, f.Errorf(1, `"nextTask" must be a number from 0 to %d`, 1<<30)
	}
	var out []draft
	for i := range list {
		var e entry
		if err := list[i].Decode(&e); err != nil {
			return nil, 0, err
		}
		d, err := e.draft(f, list[i].Line)
		if err != nil {
			return nil, 0, err
		}
		if d.Created.IsZero() {
			d.Created = head.Created
		}
		d.complete(cmp.Or(head.Plan, defaultPlan(f)), cmp.Or(head.Version, defaultVersion), "")
		out = append(out, d)
	}
	return out, head.NextTask, nil
}

func (e *entry) draft(f *source.File, line int) (draft, error) {
	d := draft{file: f, line: line, related: e.Related, after: e.Dependencies, Task: Task{
		ID: e.ID, Title: e.Title, Description: e.Description, Prompt: e.Prompt, Reference: e.Reference, EstimatedHours: e.EstimatedHours,
	}}
	if e.Created != nil {
		d.Created = *e.Created
	}
	var known bool
	if d.Priority, known = ParsePriority(cmp.Or(e.Priority, Medium.String())); !known {
		return d, d.errorf("priority %q; use one of %s", e.Priority, strings.Join(priorities, ", "))
	}
	if d.State, known = states[e.Status]; !known {
		return d, d.errorf("status %q; use pending, in-progress, paused, failed or done", e.Status)
	}
	if d.Prompt == nil {
		d.Prompt = &Prompt{}
	}
	p := d.Prompt
	p.Context, p.ComplexityLevel = cmp.Or(p.Context, e.Context), cmp.Or(p.ComplexityLevel, e.Complexity)
	p.Requirements, p.AcceptanceCriteria = append(p.Requirements, e.Requirements...), append(p.AcceptanceCriteria, e.AcceptanceCriteria...)
	p.SkillsRequired, p.Files = append(p.SkillsRequired, e.Skills...), cmp.Or(p.Files, e.Files)
	if p.Files != nil {
		for _, list := range []*[]string{&p.Files.ReadFrom, &p.Files.WriteTo, &p.Files.ReferencedIn} {
			if *list == nil {
				*list = []string{}
			}
		}
	}
	if p.ComplexityLevel != "" && !slices.Contains(complexities, p.ComplexityLevel) {
		return d, d.errorf("complexityLevel %q; use one of %s", p.ComplexityLevel, strings.Join(complexities, ", "))
	}
	return d, nil
}
