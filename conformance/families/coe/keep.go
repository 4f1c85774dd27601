package coe

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
)

// recordVersion is the form of the records' bodies: an object with the arguments
// of the call by their names.
const recordVersion = 1

// keep writes the record of what the call reported about a task. The call logs
// it with [call.logKept] once it is committed.
func keep(ctx context.Context, l ledger.Tx, c *call, kind ledger.Kind, taskID string, rank int, body any) (ledger.Record, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return ledger.Record{}, err
	}
	return l.AddRecord(ctx, ledger.Record{
		Kind: kind, Version: recordVersion, Tool: c.Tool, TaskID: taskID, Agent: c.agent(), Rank: rank, Body: raw, Created: c.now,
	})
}

// keepAlone writes a record that changes nothing of the plan, and logs it.
func (s *server) keepAlone(ctx context.Context, c *call, kind ledger.Kind, taskID string, rank int, body any) (rec ledger.Record, err error) {
	err = s.ledger.Write(ctx, c.Tool, func(l ledger.Tx) (err error) {
		rec, err = keep(ctx, l, c, kind, taskID, rank, body)
		return err
	})
	if err == nil {
		c.logKept(ctx, rec)
	}
	return rec, err
}

// The bounds of a record in the log: of one text, and of all of them.
const (
	logText   = 120
	logRecord = 1000
)

// logKept writes one line per record: its id, whose it is, and an excerpt
// without documents and without what looks like a key or a token.
func (c *call) logKept(ctx context.Context, rs ...ledger.Record) {
	for _, r := range rs {
		c.Log().LogAttrs(ctx, slog.LevelInfo, "coe_record_kept",
			slog.String("record_id", r.ID), slog.String("kind", string(r.Kind)), slog.String("agent_name", r.Agent),
			slog.String("about_task", r.TaskID), slog.String("excerpt", redact(sentence(facts(r.Body, true), logText, logRecord))))
	}
}

// given returns an argument that was there, or nil: a record tells 0 and false
// from nothing.
func given[T any](o *params.Object, name string, value T) *T {
	if !o.Has(name) || o.Null(name) {
		return nil
	}
	return &value
}

// rank turns a word of severity into a number: only for sorting (C-11).
func rank(severity string) int {
	switch severity {
	case "critical":
		return 1
	case "high":
		return 2
	}
	return 3
}
