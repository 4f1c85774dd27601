package coe

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

// noArguments is the schema of the admin tools, which S1 only names.
var noArguments = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

func (s *server) clearTool() tool {
	return tool{
		name: "clearQueue", title: "Clear queue", schema: noArguments,
		description: "Remove every task from the plan. Tickets and observations stay.",
		pick:        only(version{form: numeric, writes: true, handle: s.admin((*plan.Tx).Clear)}),
	}
}

func (s *server) resetTool() tool {
	return tool{
		name: "resetPlan", title: "Reset plan", schema: noArguments,
		description: "Bring the plan back to what the server started with. Tickets and observations stay.",
		pick:        only(version{form: numeric, writes: true, handle: s.admin((*plan.Tx).Reset)}),
	}
}

type adminAnswer struct {
	Success bool `json:"success"`
	// Tasks is how many there are now.
	Tasks int `json:"tasks"`
}

func (s *server) admin(change func(*plan.Tx)) func(context.Context, *call) (any, error) {
	return func(ctx context.Context, c *call) (any, error) {
		if err := params.Read(c.Arguments).Err(); err != nil {
			return nil, err
		}
		answer := &adminAnswer{Success: true}
		err := s.change(ctx, c.Tool, func(p *plan.Tx, _ ledger.Tx) error {
			change(p)
			answer.Tasks = p.Counts().Total
			return nil
		})
		return answer, err
	}
}
