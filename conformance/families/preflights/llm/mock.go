package llm

import (
	"context"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/adr"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/question"
)

// Mock is the deterministic provider: the same request gives the same
// questions with the same ids in the same order, and no network is touched.
type Mock struct{}

// The questions of requests that belong to no topic.
var (
	askAcceptance = question.Question{ID: "acceptance_criteria", Type: question.FreeText, Text: "How can we tell that it is done?"}
	askDecision   = question.Question{ID: "decision", Type: question.FreeText, Text: "What has been decided, in one sentence?"}
	askLimits     = question.Question{ID: "constraints", Type: question.FreeText, Text: "Which constraints must hold?", Optional: true}
)

// Questions implements [Provider].
func (Mock) Questions(_ context.Context, req Request) (Clarification, error) {
	if !req.ADR {
		return Clarification{
			Questions:    []question.Question{askAcceptance},
			MissingInfo:  []string{askAcceptance.ID},
			DecisionHint: "task",
		}, nil
	}
	c := Clarification{DecisionHint: "adr"}
	found := topicsOf(req.Intention)
	if len(found) == 0 {
		c.Questions = []question.Question{askDecision, askLimits}
		c.MissingInfo = []string{askDecision.ID}
		return c, nil
	}
	// All that must be asked comes before what may be.
	var optional []question.Question
	room := question.Max
	for _, t := range found {
		c.MissingInfo = append(c.MissingInfo, t.key)
		need := t.required()
		if need > room {
			c.Deferred = append(c.Deferred, t.key)
			continue
		}
		room -= need
		for _, q := range t.questions {
			if held := req.Decided[q.category][q.field]; held != "" {
				q.Text += " Decided so far: " + adr.Line(held, 100) + "."
			}
			if q.Optional {
				optional = append(optional, q.Question)
			} else {
				c.Questions = append(c.Questions, q.Question)
			}
		}
	}
	c.Questions = append(c.Questions, optional[:min(room, len(optional))]...)
	return c, nil
}

// Extract implements [Provider].
func (Mock) Extract(_ context.Context, req Request) (Decision, error) {
	patch := adr.Patch{}
	for _, t := range topics {
		for _, q := range t.questions {
			text := req.Answers.Text(q.ID)
			category, field := q.category, q.field
			if q.categoryFrom != "" {
				category = req.Answers.Text(q.categoryFrom)
			}
			if text == "" || category == "" {
				continue
			}
			if patch[category] == nil {
				patch[category] = map[string]string{}
			}
			patch[category][field] = text
		}
	}
	if len(patch) == 0 {
		return generic(req)
	}
	patch = patch.Clean()
	if len(patch) == 0 {
		return Decision{}, ErrNothing
	}
	return Decision{Title: title(patch), Patch: patch}, nil
}

// generic records a decision on something that is no topic, under a field named by
// the request: only the same request again replaces it.
func generic(req Request) (Decision, error) {
	text := req.Answers.Text(askDecision.ID)
	if text == "" {
		text = req.Answers.Text(askAcceptance.ID)
	}
	if text == "" { // another provider asked, and has failed since
		text = spoken(req)
	}
	patch := adr.Patch{adr.Other: {adr.FieldOf(req.Intention): text}}.Clean()
	if len(patch) == 0 {
		return Decision{}, ErrNothing
	}
	return Decision{Title: adr.Line(req.Intention, 80), Patch: patch}, nil
}

// spoken returns the answers to questions that are not those of the mock.
func spoken(req Request) string {
	var parts []string
	for _, q := range req.Questions {
		if answer := req.Answers.Text(q.ID); answer != "" && q.ID != askLimits.ID {
			parts = append(parts, answer)
		}
	}
	return strings.Join(parts, "; ")
}

// title names a decision by the categories it is about; what is in Other is
// named by its fields.
func title(patch adr.Patch) string {
	var names []string
	for _, category := range adr.Categories() {
		if category != adr.Other && len(patch[category]) > 0 {
			names = append(names, category)
		}
	}
	for field := range patch[adr.Other] {
		names = append(names, strings.ReplaceAll(field, "_", " "))
	}
	slices.Sort(names)
	return strings.Join(names, " and ")
}
