package coe

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/envelope"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/knowledge"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
)

const immediateName = "getImmediateAnswer"

func (s *server) immediateTool() tool {
	return tool{
		name: immediateName, title: "Get immediate answer", readOnly: true,
		description: "Ask an urgent question and wait for the answer, at most max_wait_seconds (1 to 120, default 30). " +
			"Name a task, a record or a ticket by its id to learn what was reported on it. " +
			"Token impact ~500-1200. Call: /agent call MCP getImmediateAnswer {json_props}" +
			ofSample(s.opts.sampleAnswers(), "--coe-knowledge"),
		pick: only(version{form: enveloped, handle: s.immediate}),
	}
}

type immediateAnswer struct {
	Answer  string  `json:"answer"`
	Source  *string `json:"source"`
	Timeout bool    `json:"timeout"`
	// SampleData says that the answer is about the sample.
	SampleData bool `json:"sample_data,omitempty"`
}

// lateAnswer is the envelope of a timeout together with the members of an
// answer: S1 asks for both (C-19).
type lateAnswer struct {
	envelope.Envelope
	immediateAnswer
}

func (s *server) immediate(ctx context.Context, c *call) (any, error) {
	o := params.Read(c.Arguments, "query", "context_bundle", "max_wait_seconds")
	o.Need("query")
	query := o.Filled("query", 400)
	o.Any("context_bundle")
	var about background
	if raw := o.Raw("context_bundle"); len(raw) > 0 && raw[0] == '{' {
		about = bundled(raw, s.plan.View())
	}
	wait := o.Int("max_wait_seconds", 1, 120, 30)
	if err := o.Err(); err != nil {
		return nil, err
	}
	c.Started(ctx, slog.Int("max_wait_seconds", wait))
	found, err := s.consult(ctx, c, knowledge.Question{Text: query, Context: about.words, Task: about.task}, time.Duration(wait)*time.Second)
	var late *envelope.Failure
	if errors.As(err, &late) {
		late.With = func(e envelope.Envelope) any { return lateAnswer{e, immediateAnswer{Timeout: true}} }
		return nil, late.Once()
	}
	if err != nil {
		return nil, err
	}
	s.keepQuestion(ctx, c, "", found)
	short := s.short(found, 0)
	if err := s.history.addReports(ctx, query, found.Sure(), short); err != nil {
		return nil, err
	}
	return &immediateAnswer{Answer: short.Answer, Source: short.Source, SampleData: short.SampleData}, nil
}
