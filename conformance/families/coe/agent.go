package coe

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/agent"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/knowledge"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

func (s *server) agentTool() tool {
	return tool{
		name: "callCOEAgent", title: "Call COE agent",
		description: "Let an agent of the orchestrator do something: plan (args.task), verify (args.code, optional args.task) or ask " +
			"(args.question). A task is named by its id or title. The result is a string; that of verify begins with PASS or FAIL and " +
			"has a line for each acceptance criterion. A question that names a task, a record or a ticket by its id is answered with " +
			"what was reported on it, too.",
		pick: only(version{form: plain, writes: true, handle: s.callAgent}),
	}
}

// agentUsage is the valid list that a wrong call gets (S1-AGENT-02).
const agentUsage = "plan (args.task), verify (args.code, optional args.task), ask (args.question)"

func (s *server) callAgent(ctx context.Context, c *call) (any, error) {
	o := params.Read(c.Arguments, "command", "args")
	o.Need("command", "args")
	command := o.Enum("command", "plan", "verify", "ask")
	args := o.Any("args")
	switch command {
	case "plan":
		args.Need("task")
	case "verify":
		args.Need("code")
	case "ask":
		args.Need("question")
	}
	task, code, question := args.Filled("task", 0), args.Filled("code", 0), args.Filled("question", 0)
	if err := o.Err(); err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("command", command))
	r := agent.Request{Command: command, Text: task, Code: code}
	if command == "ask" {
		r.Text = question
	} else if t := meant(s.plan.View(), task); t != nil {
		r.Task = described(s.plan.View(), t)
	}
	text, err := s.agentAnswer(ctx, c, r)
	if err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	return c.bare(text, string(quoted)), nil
}

// agentAnswer asks the provider, and the rules where there is none or it fails. The
// answer then names the rules.
func (s *server) agentAnswer(ctx context.Context, c *call, r agent.Request) (string, error) {
	builtIn, err := s.builtIn(ctx, &r)
	if err != nil || s.opts.Agent == nil {
		return builtIn, err
	}
	text, err := agent.Ask(ctx, s.opts.Agent, r)
	if err == nil {
		return text, nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	c.Warn(ctx, "coe_agent_fallback", slog.String("error", err.Error()))
	return builtIn + "\n\n(The agent of --coe-agent failed; the built-in rules answered.)", nil
}

// builtIn answers by rules, and completes the request with what the documents say.
func (s *server) builtIn(ctx context.Context, r *agent.Request) (string, error) {
	switch r.Command {
	case "plan":
		return planFor(ctx, s.team.Index, r)
	case "verify":
		return agent.Verify(*r), nil
	}
	found, err := s.team.Ask(ctx, knowledge.Question{Text: r.Text}, 0)
	if err != nil {
		return "", err
	}
	short := s.short(found, 0)
	if err := s.history.addReports(ctx, r.Text, found.Sure(), short); err != nil {
		return "", err
	}
	text := short.Answer
	if short.Source != nil {
		text += "\n\nSource: " + *short.Source
	}
	if short.SampleData {
		text += " (sample data)"
	}
	r.Advice = []string{text}
	return text, nil
}

// planFor writes the steps of a task, with what the documents have decided about it.
func planFor(ctx context.Context, index *knowledge.Index, r *agent.Request) (string, error) {
	about := r.Text
	if r.Task != nil {
		about = r.Task.Title
	}
	found, err := index.Search(ctx, knowledge.Question{Text: about})
	if err != nil {
		return "", err
	}
	base := index.Base
	switch e := found.Entry; {
	case e != nil && r.Task != nil && e.Task == r.Task.ID:
		// The task itself is no advice about it.
	case found.Sure():
		r.Advice = append(r.Advice, "Follow "+base.Cite(e)+": "+e.Answer)
		if e.Guidance != nil && e.Guidance.Implementation != "" {
			r.Advice = append(r.Advice, e.Guidance.Implementation)
		}
	case e != nil && e.Open:
		r.Advice = append(r.Advice, "Decide what the plan leaves open in "+base.Cite(e)+": "+e.Uncertainty)
	case found.Near():
		r.Advice = append(r.Advice, "Look whether "+base.Cite(e)+" applies: "+e.Answer)
	case r.Task == nil:
		r.Advice = append(r.Advice, "Ask with askQuestion what is expected, or a person with createTicket: nothing that was loaded mentions this")
	}
	return agent.Plan(*r), nil
}

// meant returns the task of the plan that a text names by its id or its title, or nil.
func meant(view *plan.View, text string) *plan.Task {
	text = strings.TrimSpace(text)
	if t := view.Task(text); t != nil {
		return t
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n,;:()\"'", r) }) {
		if t := view.Task(strings.Trim(word, ".!?")); t != nil {
			return t
		}
	}
	for _, t := range view.Queue(plan.FilterAll, plan.Holder{}) {
		if strings.EqualFold(t.Title, text) {
			return t
		}
	}
	return nil
}

// described returns a task as agents read it.
func described(view *plan.View, t *plan.Task) *agent.Task {
	out := &agent.Task{ID: t.ID, Title: t.Title, Description: t.Description}
	for _, id := range view.BlockedBy(t) {
		d := view.Task(id)
		out.Open = append(out.Open, fmt.Sprintf("%s: %s (%s)", d.ID, d.Title, view.Status(d)))
	}
	if p := t.Prompt; p != nil {
		out.Requirements, out.Criteria = p.Requirements, p.AcceptanceCriteria
		if p.Files != nil {
			out.Read, out.Change = p.Files.ReadFrom, p.Files.WriteTo
		}
	}
	return out
}
