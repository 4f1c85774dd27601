package coe

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/knowledge"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
)

// questionRecord is what was asked and how it was answered.
type questionRecord struct {
	// Asked are the arguments of the call.
	Asked      json.RawMessage `json:"asked"`
	Confidence float64         `json:"confidence"`
	Sure       bool            `json:"sure"`
	Answer     string          `json:"answer"`
	Source     *string         `json:"source"`
}

// keepQuestion writes the record of a question. It tries once: an answer neither
// waits for the database nor fails with it, for the question can be asked again.
func (s *server) keepQuestion(ctx context.Context, c *call, taskID string, found knowledge.Answer) {
	short := s.short(found, 0)
	body := questionRecord{Asked: c.Arguments, Confidence: found.Confidence, Sure: found.Sure(), Answer: short.Answer, Source: short.Source}
	var rec ledger.Record
	err := s.ledger.Attempt(ctx, c.Tool, func(l ledger.Tx) (err error) {
		rec, err = keep(ctx, l, c, ledger.Question, taskID, 3, body)
		return err
	})
	if err != nil {
		c.Warn(ctx, "coe_question_not_kept", slog.String("error", err.Error()))
		return
	}
	c.logKept(ctx, rec)
}
