package coe

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/knowledge"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
)

func (s *server) agentTool() tool {
	return tool{
		name: "callCOEAgent", title: "Call COE agent",
		description: "Let an agent of the orchestrator do something: plan (args.task), verify (args.code, optional args.task) or ask " +
			"(args.question). The result is a string; that of verify begins with PASS or FAIL. A question that names a task, a record " +
			"or a ticket by its id is answered with what was reported on it, too.",
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
	var text string
	switch command {
	case "plan":
		var err error
		if text, err = s.planFor(ctx, task); err != nil {
			return nil, err
		}
	case "verify":
		text = verdictOn(code)
	default:
		found, err := s.team.Ask(ctx, knowledge.Question{Text: question}, 0)
		if err != nil {
			return nil, err
		}
		short := s.short(found, 0)
		if err := s.history.addReports(ctx, question, found.Sure(), short); err != nil {
			return nil, err
		}
		text = short.Answer
		if short.Source != nil {
			text += "\n\nSource: " + *short.Source
		}
		if short.SampleData {
			text += " (sample data)"
		}
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	return c.bare(text, string(quoted)), nil
}

// planFor writes the steps of a task, with what the plan has decided about it.
// A planning agent would refine it; the reference server has no model to ask.
func (s *server) planFor(ctx context.Context, task string) (string, error) {
	found, err := s.team.Index.Search(ctx, knowledge.Question{Text: task})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Plan for %q:\n", excerpt(strings.TrimSpace(task)))
	step := 0
	add := func(format string, args ...any) {
		step++
		fmt.Fprintf(&b, "%d. %s\n", step, fmt.Sprintf(format, args...))
	}
	base := s.team.Index.Base
	switch e := found.Entry; {
	case found.Sure():
		add("Follow %s: %s", base.Cite(e), e.Answer)
		if e.Guidance != nil && e.Guidance.Implementation != "" {
			add("%s", e.Guidance.Implementation)
		}
	case e != nil && e.Open:
		add("Decide what the plan leaves open in %s: %s", base.Cite(e), e.Uncertainty)
	case found.Near():
		add("Look whether %s applies: %s", base.Cite(e), e.Answer)
	default:
		add("Ask with askQuestion what is expected, or a person with createTicket: nothing that was loaded mentions this")
	}
	add("Write a failing test for each acceptance criterion, and code until it passes")
	add("Report with reportTaskDone, with the test results")
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// verdictOn checks what can be checked of any language: that something is
// there, that brackets match and that nothing is left to do.
func verdictOn(code string) string {
	if open := unmatched(code); open != "" {
		return "FAIL - unbalanced " + open
	}
	for _, mark := range []string{"TODO", "FIXME", "XXX"} {
		if strings.Contains(code, mark) {
			return "FAIL - unfinished: the code contains " + mark
		}
	}
	return "PASS - brackets match and nothing is marked as unfinished"
}

// unmatched returns the first bracket without a partner, or "". Brackets in
// strings count too: a finding for a person to look at, no parser.
func unmatched(code string) string {
	partner := map[rune]rune{')': '(', ']': '[', '}': '{'}
	var open []rune
	for _, r := range code {
		switch r {
		case '(', '[', '{':
			open = append(open, r)
		case ')', ']', '}':
			if len(open) == 0 || open[len(open)-1] != partner[r] {
				return string(r)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return string(open[len(open)-1])
	}
	return ""
}
