package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

type rpcOptions struct {
	base        string
	baseSet     bool
	notify      bool
	expectError int64
	expectSet   bool
}

func newRPCCmd(a *app) *cobra.Command {
	var o rpcOptions
	cmd := &cobra.Command{
		Use:   "rpc [SERVER] METHOD [PARAMS | k=v…]",
		Short: "Send any request or notification",
		Long: `Send any request or notification. The parameters are one JSON object, or operands
as for call, typed as strings since no schema describes them; k:=JSON is exact.`,
		Example: `  mcpctl rpc :3000/mcp tools/list '{"cursor":"x"}' -o raw
  mcpctl rpc :3000/mcp no/such/method --expect-error -32601
  mcpctl rpc :3000/mcp notifications/roots/list_changed --notify`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.baseSet, o.expectSet = cmd.Flags().Changed("json"), cmd.Flags().Changed("expect-error")
			a.events = true
			return a.rpc(cmd, args, o)
		},
	}
	cmd.Flags().StringVar(&o.base, "json", "", "an `object` to begin with: its text, @FILE, or - for standard input")
	cmd.Flags().BoolVar(&o.notify, "notify", false, "send a notification, which has no answer")
	cmd.Flags().Int64Var(&o.expectError, "expect-error", 0, "succeed only if the answer is an error with this `code`")
	return cmd
}

func (a *app) rpc(cmd *cobra.Command, args []string, o rpcOptions) error {
	t, rest, err := a.server(newLine(cmd, args))
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return usage("no method: which one is to be called?")
	}
	if o.notify && o.expectSet {
		return usage("a notification has no answer that --expect-error could look at")
	}
	params, err := a.rpcParams(rest[1:], o)
	if err != nil {
		return err
	}
	method := rest[0]
	return a.with(cmd.Context(), t, func(ctx context.Context, c *connection) error {
		if o.notify {
			return c.Notify(ctx, method, params)
		}
		raw, err := a.request(ctx, c, sentRequest{method: method, acts: true}, params)
		if o.expectSet {
			return a.expected(o.expectError, raw, err)
		}
		if err != nil {
			return err
		}
		switch a.flags.output {
		case formatRaw:
			return a.printRaw(raw)
		case formatNDJSON:
			return a.printEvent("result", raw)
		case formatJSON:
			return a.printJSON(raw)
		}
		return a.say(visible.Text(string(indented(raw))) + "\n")
	})
}

// rpcParams reads one JSON object or operands; nil leaves params out.
func (a *app) rpcParams(args []string, o rpcOptions) (any, error) {
	if len(args) > 0 && strings.HasPrefix(strings.TrimSpace(args[0]), "{") && !o.baseSet {
		o.base, o.baseSet, args = args[0], true, args[1:]
	}
	base, operands, err := a.operands(args, o.base, o.baseSet)
	if err != nil {
		return nil, err
	}
	if base == nil && len(operands) == 0 {
		return nil, nil
	}
	built, _, err := operand.Build(base, operands, schema.Schema{})
	if err != nil {
		return nil, err
	}
	return json.RawMessage(built.AppendJSON(nil)), nil
}

// expected turns an answer into a test: only an error with the code is good.
func (a *app) expected(code int64, raw json.RawMessage, err error) error {
	f := fail(kindNegative, mcperrors.Answered, "expected error %d, got a result", code)
	var e *mcperrors.Error
	switch {
	case err == nil:
		f.add("result", "%s", short(string(compact(raw)), 200))
		return f
	case !errors.As(err, &e) || e.RPC == nil:
		return err
	case e.RPC.Code != code:
		f.message = fmt.Sprintf("expected error %d, got %s", code, rpcCode(e.RPC.Code))
		f.add("message", "%s", e.RPC.Message)
		return f
	}
	object := doc.NewObject()
	for _, m := range []struct {
		name  string
		value []byte
	}{{"code", encoded(e.RPC.Code)}, {"message", encoded(e.RPC.Message)}, {"data", e.RPC.Data}} {
		if v, err := doc.Parse(m.value); err == nil {
			object.Set(m.name, v)
		}
	}
	if a.flags.output == formatHuman {
		return a.say(visible.Text(string(indented(object.AppendJSON(nil)))) + "\n")
	}
	return a.printJSON(object.AppendJSON(nil))
}
