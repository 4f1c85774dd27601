package coe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/envelope"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/knowledge"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

const askName = "askQuestion"

func (s *server) askTool() tool {
	v10 := version{form: numeric, handle: s.ask10}
	v12 := version{form: enveloped, handle: s.ask12}
	return tool{
		name: askName, title: "Ask a question", readOnly: true,
		description: "Ask the answer team what the plan says. v1.0: question with optional context, answered with evidence and guidance. " +
			"v1.2: question, context_summary and task_id, answered in a sentence with a confidence of 0 to 100. The version is " +
			"chosen by the arguments, or by _meta.version. Token impact ~400-800. Call: /agent call MCP askQuestion {json_props}" +
			ofSample(s.opts.sampleAnswers(), "--coe-knowledge"),
		pick: func(c *call) (version, error) {
			later := false
			o := params.Loose(c.Arguments)
			for _, name := range []string{"context_summary", "task_id", "relevant_snippets", "confidence_level", "priority_level", "possible_options"} {
				later = later || o.Has(name)
			}
			return c.choose(later, v10, "1.0", v12, "1.2")
		},
	}
}

// choose picks one of two versions: the one that _meta.version names, else the
// one that the shape of the arguments speaks for (C-10, C-11).
func (c *call) choose(later bool, older version, olderName string, newer version, newerName string) (version, error) {
	picked := older
	if later {
		picked = newer
	}
	var meta struct {
		Version json.RawMessage `json:"version"`
	}
	// A _meta that does not decode is the server's to refuse.
	_ = json.Unmarshal(c.Origin.Meta, &meta)
	switch strings.TrimPrefix(strings.Trim(string(meta.Version), `"`), "v") {
	case olderName:
		return older, nil
	case newerName:
		return newer, nil
	case "", "null":
		return picked, nil
	}
	return picked, &params.Violation{
		Field: "_meta.version", Reason: params.Enum,
		Message: fmt.Sprintf("%s has versions %s and %s", c.Tool, olderName, newerName),
	}
}

// question reads a question. One that is no string, or is JSON that does not
// parse, is a malformed message to S1, in both versions (tools.md §3.4).
func question(o *params.Object, most int) (string, error) {
	raw := o.Raw("question")
	var text string
	malformed := raw != nil && json.Unmarshal(raw, &text) != nil
	if t := strings.TrimSpace(text); strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[") {
		malformed = !json.Valid([]byte(t))
	}
	if malformed {
		return "", envelope.New(envelope.InvalidParam, "Invalid parameter: question is malformed JSON").
			Detail("field", "question").Detail("reason", params.Format)
	}
	return o.Filled("question", most), nil
}

// checkTokens refuses a question that is too long together with its context.
// A token is about four characters (tools.md §3.4).
func (s *server) checkTokens(texts ...string) error {
	n := 0
	for _, t := range texts {
		n += utf8.RuneCountInString(t)
	}
	tokens, most := (n+3)/4, s.opts.TokenLimit*8/10
	if tokens <= most {
		return nil
	}
	return envelope.New(envelope.TokenLimitExceeded, "Question and context are too long: send a shorter context").
		Fallback().Detail("tokens", tokens).Detail("limit", most)
}

// consult asks the answer team, for as long as wait.
func (s *server) consult(ctx context.Context, c *call, q knowledge.Question, wait time.Duration) (knowledge.Answer, error) {
	if t := s.plan.View().Task(q.Task); t != nil {
		q.Subject = t.Title
	}
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	answer, err := s.team.Ask(bounded, q, c.delay)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return answer, envelope.New(envelope.Timeout, fmt.Sprintf(
			"The answer team did not answer within %s. Create ticket instead: createTicket keeps the question", wait)).Fallback().Cause(err)
	}
	return answer, err
}

// askAnswer is the answer of v1.0.
type askAnswer struct {
	Success              bool                 `json:"success"`
	Question             string               `json:"question"`
	AnswerFromPlan       string               `json:"answerFromPlan,omitempty"`
	Confidence           float64              `json:"confidence"`
	Evidence             *evidence            `json:"evidence,omitempty"`
	Guidance             *knowledge.Guidance  `json:"guidance,omitempty"`
	RelatedDesignChoices []string             `json:"relatedDesignChoices,omitempty"`
	RelatedDecisions     []knowledge.Decision `json:"relatedDecisions,omitempty"`
	Uncertainty          string               `json:"uncertainty,omitempty"`
}

type evidence struct {
	Source      string `json:"source"`
	PlanVersion string `json:"planVersion"`
	Section     string `json:"section"`
	ExactQuote  string `json:"exactQuote,omitempty"`
	LineNumbers []int  `json:"lineNumbers,omitempty"`
	// SampleData says that the answer is about the sample, not about a plan of
	// the user's.
	SampleData bool `json:"sampleData,omitempty"`
}

func (s *server) ask10(ctx context.Context, c *call) (any, error) {
	o := params.Read(c.Arguments, "question", "context", "currentTaskId", "searchInPlan", "includeRelatedDecisions")
	o.Need("question")
	asked, err := question(o, 0)
	if err != nil {
		return nil, err
	}
	background, about := readContext(o, s.plan.View())
	task, hint := "", o.Text("searchInPlan", 0)
	if o.Has("currentTaskId") {
		task = o.ID("currentTaskId")
	}
	decisions := o.Bool("includeRelatedDecisions", true)
	if err := o.Err(); err != nil {
		return nil, err
	}
	c.Started(ctx, slog.Int("question_length", len(asked)))
	if task != "" && s.plan.View().Task(task) == nil {
		return nil, taskNotFound("Current task not found", task)
	}
	if err := s.checkTokens(asked, background); err != nil {
		return nil, err
	}
	found, err := s.consult(ctx, c, knowledge.Question{Text: asked, Context: about.words, Task: cmp.Or(task, about.task), Hint: hint}, s.opts.AnswerTimeout)
	if err != nil {
		return nil, err
	}
	c.Completed(slog.Float64("confidence", found.Confidence))
	s.keepQuestion(ctx, c, task, found)
	answer := &askAnswer{Success: true, Question: asked, Confidence: found.Confidence}
	if !found.Sure() {
		answer.Uncertainty, answer.Guidance = doubt(s.team.Index.Base, found)
		return answer, nil
	}
	e, base := found.Entry, s.team.Index.Base
	answer.AnswerFromPlan, answer.Guidance, answer.RelatedDesignChoices = e.Answer, e.Guidance, e.Related
	answer.Evidence = &evidence{base.File(e), cmp.Or(e.Version, base.Version), cmp.Or(e.Section, base.File(e)), found.Quote, found.Lines, base.Sample}
	if decisions {
		answer.RelatedDecisions = e.Decisions
	}
	return answer, nil
}

// background is what a question is asked in.
type background struct{ words, task string }

// readContext reads the context of a question: a string, or an object as in S1's own
// test. It also returns the whole as it was sent.
func readContext(o *params.Object, v *plan.View) (sent string, about background) {
	raw := o.Raw("context")
	if len(raw) > 0 && raw[0] == '{' {
		return string(raw), bundled(raw, v)
	}
	sent = o.Text("context", 0)
	return sent, background{words: sent}
}

// bundled reads a context that is an object: its values are the words, and one that is
// the id of a task is the task at hand.
func bundled(raw json.RawMessage, v *plan.View) background {
	var b background
	var words []string
	for _, f := range facts(raw, false) {
		if v.Task(f.value) != nil {
			b.task = cmp.Or(b.task, f.value)
		} else {
			words = append(words, f.value)
		}
	}
	b.words = strings.Join(words, "\n")
	return b
}

// doubt says why there is no answer, and what comes near.
func doubt(base *knowledge.Base, a knowledge.Answer) (string, *knowledge.Guidance) {
	who := "the documents"
	if base.Sample {
		who = "the sample plan (--coe-knowledge loads yours)"
	}
	switch {
	case a.Entry == nil:
		return "Nothing about this is in " + who + ".", nil
	case a.Entry.Open:
		return a.Entry.Uncertainty, a.Entry.Guidance
	case a.Doubt != "" && a.Near():
		return "This may not be the answer: " + a.Doubt + ". It comes from " + base.Cite(a.Entry) + "; a person can be asked with createTicket.",
			&knowledge.Guidance{Implementation: a.Entry.Answer}
	case a.Near():
		return "This may not be the answer. It comes from " + base.Cite(a.Entry) + ".", &knowledge.Guidance{Implementation: a.Entry.Answer}
	}
	return "Nothing in " + who + " answers this. The nearest is " + base.Cite(a.Entry) + ".",
		&knowledge.Guidance{Implementation: "Read " + base.Cite(a.Entry) + ", or ask with its words."}
}

// shortAnswer is the answer of v1.2.
type shortAnswer struct {
	Answer          string  `json:"answer"`
	Source          *string `json:"source"`
	Confidence      int     `json:"confidence"`
	FollowUpNeeded  bool    `json:"follow_up_needed"`
	EscalatedToUser bool    `json:"escalated_to_user"`
	SampleData      bool    `json:"sample_data,omitempty"`
}

// The limits of a question v1.2, in characters.
const (
	maxQuestion = 300
	maxSnippets = 2000
)

func (s *server) ask12(ctx context.Context, c *call) (any, error) {
	o := params.Read(c.Arguments, "question", "context_summary", "current_file", "relevant_snippets", "task_id", "confidence_level",
		"priority_level", "possible_options")
	o.Need("question", "context_summary", "task_id")
	asked, err := question(o, maxQuestion)
	if err != nil {
		return nil, err
	}
	summary := o.Text("context_summary", 0)
	texts := []string{asked, summary}
	if !o.Null("current_file") {
		o.Path("current_file")
	}
	texts = append(texts, readSnippets(o)...)
	task := o.ID("task_id")
	o.Int("confidence_level", 0, 100, 0)
	priority := o.Int("priority_level", 1, 3, 2)
	var options []string
	if !o.Null("possible_options") {
		options = o.Texts("possible_options")
	}
	if err := o.Err(); err != nil {
		return nil, err
	}
	c.Started(ctx, slog.Int("question_length", len(asked)), slog.Int("priority_level", priority))
	if t := s.plan.View().Task(task); t == nil || t.State == plan.Done {
		return nil, envelope.New(envelope.InvalidState, "There is no active task with this id").Detail("field", "task_id")
	}
	if err := s.checkTokens(append(texts, options...)...); err != nil {
		return nil, err
	}
	found, err := s.consult(ctx, c, knowledge.Question{Text: asked, Context: summary, Task: task}, s.opts.AnswerTimeout)
	if err != nil {
		return nil, err
	}
	c.Completed(slog.Float64("confidence", found.Confidence))
	s.keepQuestion(ctx, c, task, found)
	answer := s.short(found, priority)
	if answer.EscalatedToUser { // the record of the question has its text
		c.Warn(ctx, "coe_question_escalated", slog.Float64("confidence", found.Confidence))
	}
	return answer, nil
}

// readSnippets reads the snippets of a question and returns their content.
func readSnippets(o *params.Object) []string {
	var texts []string
	total := 0
	for _, snippet := range o.Objects("relevant_snippets", "file", "content") {
		snippet.Need("file", "content")
		snippet.Path("file")
		text := snippet.Text("content", maxSnippets)
		total += utf8.RuneCountInString(text)
		texts = append(texts, text)
	}
	if total > maxSnippets {
		o.Fail("relevant_snippets", params.Length, "relevant_snippets must be at most %d characters together", maxSnippets)
	}
	return texts
}

// short puts an answer into a text. One that is not sure needs a follow-up. The
// question goes to the user when it blocks everything, and when the user's documents
// leave the decision open, have nothing that comes near, or lack a part of what was
// asked. What the sample lacks is no question for a user.
func (s *server) short(found knowledge.Answer, priority int) *shortAnswer {
	base := s.team.Index.Base
	answer := &shortAnswer{Confidence: int(math.Round(100 * found.Confidence))}
	if found.Sure() || found.Near() {
		source := base.Cite(found.Entry)
		answer.Answer, answer.Source, answer.SampleData = found.Entry.Answer, &source, base.Sample
	}
	if found.Sure() {
		return answer
	}
	text, _ := doubt(base, found)
	answer.Answer = strings.TrimSpace(text + "\n\n" + answer.Answer)
	answer.FollowUpNeeded, answer.EscalatedToUser = true, priority == 1 || !base.Sample && (found.Doubt != "" || !found.Near())
	return answer
}
