package coe

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/knowledge"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

// answers returns what questions are answered from: the documents, the tasks of a plan
// that was loaded, and the files of a repository. The sample replaces documents
// only where nothing of the user's is loaded.
func (o *Options) answers() *knowledge.Base {
	if o.samplePlan && o.Repository == nil {
		return o.Knowledge // the sample, or documents alone
	}
	base := &knowledge.Base{}
	if !o.Knowledge.Sample {
		*base = *o.Knowledge
	}
	base.Entries = append([]knowledge.Entry(nil), base.Entries...)
	if !o.samplePlan {
		base.Entries = append(base.Entries, taskPassages(o.Seed)...)
	}
	if o.Repository != nil {
		base.Entries = append(base.Entries, o.Repository.Entries...)
		base.Version = cmp.Or(base.Version, o.Repository.Version)
	}
	return base
}

// sampleAnswers reports whether questions are answered from the sample.
func (o *Options) sampleAnswers() bool {
	return o.samplePlan && o.Repository == nil && o.Knowledge.Sample
}

// taskPassages returns the tasks of a plan as passages.
func taskPassages(seed *plan.Seed) []knowledge.Entry {
	titles := map[string]string{}
	for _, t := range seed.Tasks {
		titles[t.ID] = t.Title
	}
	var out []knowledge.Entry
	for _, t := range seed.Tasks {
		about := strings.Join(append([]string{t.Reference.PlanID}, t.Reference.AffectedSections...), "\n")
		e := knowledge.NewEntry(taskRoot+t.ID, about, t.ID+": "+t.Title, taskParts(&t, titles)...)
		e.Task, e.Version = t.ID, t.Reference.Version
		out = append(out, e)
	}
	return out
}

// taskParts returns the text of a task, in the words of questions about it.
func taskParts(t *plan.Task, titles map[string]string) []string {
	var parts []string
	add := func(label string, items []string) {
		if len(items) > 0 {
			parts = append(parts, label+":\n- "+strings.Join(items, "\n- "))
		}
	}
	if t.Description != t.Title {
		parts = append(parts, t.Description)
	}
	if p := t.Prompt; p != nil {
		if p.Description != t.Description && p.Description != t.Title {
			parts = append(parts, p.Description)
		}
		parts = append(parts, p.Context)
		add("Requirements", p.Requirements)
		add("Acceptance criteria", p.AcceptanceCriteria)
		if p.Files != nil {
			add("Files to change", p.Files.WriteTo)
			add("Files to read", p.Files.ReadFrom)
		}
		add("Skills required", p.SkillsRequired)
	}
	var first []string
	for _, id := range t.Dependencies {
		first = append(first, id+": "+titles[id])
	}
	add("Depends on", first)
	if t.EstimatedHours > 0 {
		parts = append(parts, fmt.Sprintf("Estimate: the task takes %g hours.", t.EstimatedHours))
	}
	return append(parts, "Priority: "+t.Priority.String()+".")
}
