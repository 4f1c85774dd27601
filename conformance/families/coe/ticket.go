package coe

import (
	"context"
	"errors"
	"log/slog"
	"strconv"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/envelope"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
)

func (s *server) ticketTool() tool {
	return tool{
		name: "createTicket", title: "Create ticket",
		description: "Create a ticket for a person or another agent: a question, an investigation or a bug. Investigations close by " +
			"themselves when their task is done. Call: /agent call MCP createTicket {json_props}",
		pick: only(version{form: enveloped, writes: true, handle: s.ticket}),
	}
}

type ticketAnswer struct {
	Success bool       `json:"success"`
	Ticket  ticketView `json:"ticket"`
}

type ticketView struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Status    string `json:"status"`
	CreatedAt string `json:"created_at"`
}

func (s *server) ticket(ctx context.Context, c *call) (any, error) {
	o := params.Read(c.Arguments, "title", "description", "priority", "task_id", "type")
	o.Need("title")
	t := ledger.Ticket{
		Title: o.Filled("title", 200), Description: o.Text("description", 0), Priority: o.Int("priority", 1, 3, 0),
		TaskID: optionalID(o), Type: "question", Agent: c.agent(), Created: c.now,
	}
	if o.Has("type") {
		t.Type = o.Enum("type", "question", ledger.Investigation, "bug")
	}
	if err := o.Err(); err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("type", t.Type))
	written, kept, err := s.ledger.CreateTicket(ctx, c.Tool, t)
	if errors.Is(err, ledger.ErrUnavailable) {
		if kept {
			c.Warn(ctx, "ticket_kept_in_memory")
			return nil, unavailable("The database is unavailable"+because(err)+". The ticket is kept in memory and will be written when it is back; "+
				"the same request again does not make a second one").Cause(err).Detail("stored", "memory")
		}
		return nil, unavailable("The database is unavailable"+because(err)+", and no more tickets can be kept in memory").Cause(err).Detail("stored", "nowhere")
	}
	if err != nil {
		return nil, err
	}
	id := ticketID(written)
	c.Log().LogAttrs(ctx, slog.LevelInfo, "coe_ticket_kept", slog.String("ticket_id", id), slog.String("agent_name", t.Agent),
		slog.String("about_task", t.TaskID), slog.String("excerpt", redact(sentence(ticketFacts(t), logText, logRecord))))
	c.Completed(slog.String("ticket_id", id))
	return &ticketAnswer{Success: true, Ticket: ticketView{id, written.Title, "open", envelope.Timestamp(written.Created)}}, nil
}

// ticketFacts are the members of a ticket for the log.
func ticketFacts(t ledger.Ticket) []fact {
	return []fact{{"title", t.Title}, {"type", t.Type}, {"priority", strconv.Itoa(t.Priority)}, {"description", t.Description}}
}
