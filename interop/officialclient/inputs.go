package main

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// filled answers every form with these fields; the client adds the defaults of
// those that are missing.
func filled(fields map[string]any) client.Option {
	return client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
		return client.AcceptForm(fields)
	})
}

// elicitationDefaults has a user who fills nothing in.
func elicitationDefaults(ctx context.Context, c *client.Client, _ json.RawMessage) error {
	return called(ctx, c, "test_client_elicitation_defaults", map[string]any{})
}

// requestState makes calls that the server answers with questions, some with a
// state to send back, and some that have nothing to do with them.
func requestState(ctx context.Context, c *client.Client, _ json.RawMessage) error {
	for _, tool := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
		if err := called(ctx, c, tool, map[string]any{}); err != nil {
			return err
		}
	}
	return nil
}
