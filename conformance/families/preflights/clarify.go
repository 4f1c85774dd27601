package preflights

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/adr"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/decide"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/llm"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/question"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/session"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// clarification is the state of one session (S3 §3.1).
type clarification struct {
	root      string // of the repository, fixed by the first call
	named     bool   // the caller named it by its path
	intention string
	context   string
	forceADR  bool
	questions []question.Question // also the conditional ones
	answers   question.Answers
	missing   []string
	deferred  []string
	hint      string // informative only (S3-ADR-05)
	judged    *bool  // whether the language model wants an ADR; nil if it says nothing
	// fellBack says that the language model failed: the session goes on with
	// the mock, or every call would wait for it again.
	fellBack bool
}

// needsAnswers is case A.
type needsAnswers struct {
	Status    string              `json:"status"`
	SessionID string              `json:"session_id"`
	Questions []question.Question `json:"questions"`
	Progress  progress            `json:"progress"`
	warning
}

type progress struct {
	Asked    int `json:"asked_so_far"`
	Answered int `json:"answered"`
}

// completed is case B.
type completed struct {
	Status   string     `json:"status"`
	Created  []document `json:"artifacts_created"`
	Archived *document  `json:"archived,omitempty"`
	Summary  string     `json:"summary"`
	// Repository is where the files are, for a caller that did not name it by an
	// absolute repo_path.
	Repository string `json:"repository,omitempty"`
	warning
}

type document struct {
	Path string  `json:"path"`
	Type string  `json:"type"`
	UID  adr.UID `json:"uid,omitempty"`
}

// warning is present when the mock stood in for a language model.
type warning struct {
	Warning string `json:"warning,omitempty"`
	Message string `json:"message,omitempty"`
}

func (c *clarification) warning() warning {
	if !c.fellBack {
		return warning{}
	}
	return warning{"llm_fallback", "LLM unavailable, using deterministic mode"}
}

func (s *service) clarifyTool() family.Tool {
	return family.Tool{
		Name:  "require_clarification",
		Title: "Require clarification",
		Description: "Clarify a request before work on it starts. The first call returns questions and a session_id; call again with the same " +
			"user_intention, the session_id and answers by question id (the option \"Other (specify)\" needs its text in <id>__other). When all " +
			"is answered, the task is written to docs/CURRENT_TASK.md and, if the request shapes the architecture, a decision record to docs/adr.",
		InputSchema: clarifySchema,
		Handle: func(ctx context.Context, call *family.Call) (any, error) {
			out, err := s.clarify(ctx, call)
			if err != nil {
				return answered(call, err)
			}
			return out, nil
		},
	}
}

func (s *service) clarify(ctx context.Context, call *family.Call) (any, error) {
	in, err := parseInput(call.Arguments)
	if err != nil {
		return nil, err
	}
	call.Started(ctx, slog.Bool("new_session", in.sessionID == ""))
	turn, err := s.turn(ctx, call, in)
	if err != nil {
		return nil, err
	}
	defer func() { turn.Done(time.Now()) }()
	c := turn.Value
	c.forceADR = c.forceADR || in.forceADR
	if err := c.take(in); err != nil {
		var f *fault
		if in.sessionID == "" && errors.As(err, &f) {
			f.Details["session_id"] = turn.ID() // the session is there, and nobody else has its id
		}
		return nil, err
	}
	open, asked := c.open()
	if need := required(open); len(need) > 0 {
		call.Completed(slog.String("status", "needs_clarification"), slog.Int("questions", len(open)))
		return &needsAnswers{
			Status: "needs_clarification", SessionID: turn.ID(), Questions: open,
			Progress: progress{Asked: asked, Answered: asked - len(open)}, warning: c.warning(),
		}, nil
	}
	done, err := s.complete(ctx, call, c)
	if err != nil {
		return nil, err
	}
	turn.End()
	call.Completed(slog.String("status", "completed"), slog.Int("artifacts", len(done.Created)))
	return done, nil
}

// turn returns the session of the call: a new one, or the one it names.
func (s *service) turn(ctx context.Context, call *family.Call, in *input) (*session.Turn[*clarification], error) {
	if in.sessionID == "" {
		c, err := s.begin(ctx, call, in)
		if err != nil {
			return nil, err
		}
		id, err := s.newSessionID()
		if err != nil {
			return nil, err
		}
		return s.sessions.Create(id, c, time.Now()), nil
	}
	turn, err := s.sessions.Use(ctx, in.sessionID, time.Now())
	switch {
	case errors.Is(err, session.ErrExpired):
		return nil, failure(codeExpired, "The session has expired after 30 minutes without a call", "Restart the clarification without session_id", nil)
	case errors.Is(err, session.ErrNotFound):
		return nil, failure(codeNoSession, "There is no such session", "Start a new session without session_id", nil)
	case err != nil:
		return nil, err
	}
	s.ignored(ctx, call, in, turn.Value)
	return turn, nil
}

// ignored logs what a later call says otherwise than the first: what the
// session has holds (C-37).
func (s *service) ignored(ctx context.Context, call *family.Call, in *input, c *clarification) {
	if in.intention != c.intention {
		call.Warn(ctx, "user_intention_ignored", slog.String("reason", "the session has one already"))
	}
	if in.repoPath == "" {
		return
	}
	if root, err := s.place.root(in.repoPath); err != nil || root != c.root {
		call.Warn(ctx, "repo_path_ignored", slog.String("reason", "the session belongs to another repository"))
	}
}

// begin makes the state of a new session and asks what must be asked.
func (s *service) begin(ctx context.Context, call *family.Call, in *input) (*clarification, error) {
	root, err := s.place.root(in.repoPath)
	if err != nil {
		return nil, err
	}
	c := &clarification{root: root, named: filepath.IsAbs(in.repoPath), intention: in.intention, context: in.context, forceADR: in.forceADR, answers: question.Answers{}}
	// A broken ADR is no reason to ask nothing: it is reported when a new one
	// would build on it.
	state, err := readState(root)
	if err != nil {
		call.Warn(ctx, "architecture_unreadable", slog.String("error", err.Error()))
		state = &architecture{}
	}
	req := c.request(c.verdict(state).ADR)
	req.Decided = state.texts()
	asked, cause, err := s.model.Questions(ctx, req, false)
	if err != nil {
		return nil, err
	}
	s.fellBack(ctx, call, c, cause)
	c.questions, c.missing, c.deferred, c.hint = asked.Questions, asked.MissingInfo, asked.Deferred, asked.DecisionHint
	c.judged = asked.NeedsADR
	return c, nil
}

func (s *service) fellBack(ctx context.Context, call *family.Call, c *clarification, cause error) {
	if cause == nil {
		return
	}
	c.fellBack = true
	call.Warn(ctx, "llm_fallback", slog.String("error", cause.Error()))
}

func (c *clarification) request(needsADR bool) llm.Request {
	return llm.Request{Intention: c.intention, Context: c.context, ADR: needsADR, Questions: c.questions, Answers: c.answers}
}

// verdict says whether the session ends with an ADR, as the architecture is now.
func (c *clarification) verdict(state *architecture) decide.Verdict {
	return decide.Decide(decide.Request{
		Intention: c.intention, Context: c.context, ForceADR: c.forceADR, Judged: c.judged, Known: state.words(),
	})
}

// take merges the answers of a call into the session: all of them, or none
// when one does not fit. Keys that are no question are ignored (S3-CLAR-07).
func (c *clarification) take(in *input) error {
	fresh := question.Answers{}
	for i := range c.questions {
		q := &c.questions[i]
		if q.Conditional() {
			continue
		}
		answer, err := q.Read(in.answers)
		var bad *question.BadAnswer
		if errors.As(err, &bad) {
			return failure(codeValidation, "An answer does not fit its question", "Answer "+bad.QuestionID+" as its question says and call again with the same session_id",
				map[string]any{"question_id": bad.QuestionID, "reason": bad.Reason})
		}
		if answer != nil {
			fresh[q.ID] = answer
		}
	}
	for id, answer := range fresh {
		c.answers[id] = answer
	}
	c.settle()
	return nil
}

// settle answers the conditional questions, which no client ever sees, from
// what the request itself says. What it does not say stays open and is written
// into the task.
func (c *clarification) settle() {
	said := strings.ToLower(c.intention + "\n" + c.context)
	for _, q := range c.questions {
		if !q.Conditional() {
			continue
		}
		delete(c.answers, q.ID)
		if !c.applies(q) {
			continue
		}
		for _, option := range q.Options {
			if option != question.Other && strings.Contains(said, strings.ToLower(option)) {
				c.answers[q.ID] = append(c.answers[q.ID], option)
			}
		}
	}
}

func (c *clarification) applies(q question.Question) bool {
	for _, a := range c.answers[q.DependsOn] {
		if a == q.Equals {
			return true
		}
	}
	return false
}

// open returns the visible questions without an answer and how many visible
// ones there are.
func (c *clarification) open() (open []question.Question, asked int) {
	open = []question.Question{}
	for _, q := range c.questions {
		if q.Conditional() {
			continue
		}
		asked++
		if _, ok := c.answers[q.ID]; !ok {
			open = append(open, q)
		}
	}
	return open, asked
}

func required(open []question.Question) []question.Question {
	var need []question.Question
	for _, q := range open {
		if !q.Optional {
			need = append(need, q)
		}
	}
	return need
}

// leftOpen returns what the session could not settle, as lines for the task.
func (c *clarification) leftOpen() []string {
	var lines []string
	for _, q := range c.questions {
		if _, ok := c.answers[q.ID]; !ok && q.Conditional() && c.applies(q) {
			lines = append(lines, "Open: "+q.Text)
		}
	}
	for _, key := range c.deferred {
		lines = append(lines, fmt.Sprintf("Open: %s (clarify in a session of its own)", key))
	}
	return lines
}
