package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

type rpcOptions struct {
	talk        talkFlags
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
		Long: `Send any request or notification. The parameters are one JSON object, or
operands as for call. Without a schema k=v is always a string; k:=JSON is sent
exactly.`,
		Example: `  mcpctl rpc :3000/mcp tools/list '{"cursor":"x"}' -o raw
  mcpctl rpc :3000/mcp no/such/method --expect-error -32601
  mcpctl rpc :3000/mcp notifications/roots/list_changed --notify`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.baseSet, o.expectSet = cmd.Flags().Changed("json"), cmd.Flags().Changed("expect-error")
			a.dial.Events = true
			return a.rpc(cmd, args, o)
		},
	}
	cmd.Flags().StringVar(&o.base, "json", "", "the `object` to start from: JSON text, @FILE, or - for standard input")
	cmd.Flags().BoolVar(&o.notify, "notify", false, "send a notification, which gets no answer")
	cmd.Flags().Int64Var(&o.expectError, "expect-error", 0, "succeed only if the answer is an error with this `code`")
	o.talk.register(cmd.Flags())
	return cmd
}

func (a *app) rpc(cmd *cobra.Command, args []string, o rpcOptions) error {
	t, rest, err := a.dial.Server(target.NewLine(cmd, args))
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return failure.Usage("no method given: name the method to send, such as tools/list")
	}
	if o.notify && o.expectSet {
		return failure.Usage("--notify and --expect-error exclude each other: a notification gets no answer")
	}
	params, err := a.rpcParams(rest[1:], o)
	if err != nil {
		return err
	}
	if err := o.talk.begin(a); err != nil {
		return err
	}
	method := rest[0]
	return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
		if o.notify {
			return c.Notify(ctx, method, params)
		}
		raw, err := a.dial.Request(ctx, c, connect.Sent{Method: method, Acts: true}, params)
		if o.expectSet {
			return a.expected(o.expectError, raw, err)
		}
		if err != nil {
			return err
		}
		switch a.console.Format {
		case console.Raw:
			return a.console.PrintRaw(raw)
		case console.NDJSON:
			return a.console.PrintEvent("result", raw)
		case console.JSON:
			return a.console.PrintJSON(raw)
		}
		return a.console.Print(visible.Text(string(console.Indent(raw))) + "\n")
	})
}

// rpcParams reads one JSON object or operands; nil omits params.
func (a *app) rpcParams(args []string, o rpcOptions) (any, error) {
	var positional *doc.Value
	if len(args) > 0 && strings.HasPrefix(strings.TrimSpace(args[0]), "{") && !o.baseSet {
		var err error
		if positional, err = operand.Base("PARAMS", args[0], a.files()); err != nil {
			return nil, err
		}
		args = args[1:]
	}
	base, operands, err := a.operands(args, o.base, o.baseSet)
	if err != nil {
		return nil, err
	}
	base = cmp.Or(base, positional)
	if base == nil && len(operands) == 0 {
		return nil, nil
	}
	built, _, err := operand.Build(base, operands, schema.Schema{})
	if err != nil {
		return nil, err
	}
	return json.RawMessage(built.AppendJSON(nil)), nil
}

// expected turns the answer into a test, which only an error with the code passes.
func (a *app) expected(code int64, raw json.RawMessage, err error) error {
	f := failure.New(failure.KindNegative, mcperrors.Answered, "expected error %d, got a result", code)
	var e *mcperrors.Error
	switch {
	case err == nil:
		f.Add("result", "%s", visible.Cut(string(console.Compact(raw)), 200))
		return f
	case !errors.As(err, &e) || e.RPC == nil:
		return err
	case e.RPC.Code != code:
		f.Message = fmt.Sprintf("expected error %d, got %s", code, explain.RPCCode(e.RPC.Code))
		f.Add("message", "%s", e.RPC.Message)
		return f
	}
	object := doc.NewObject()
	for _, m := range []struct {
		name  string
		value []byte
	}{{"code", console.Encode(e.RPC.Code)}, {"message", console.Encode(e.RPC.Message)}, {"data", e.RPC.Data}} {
		if v, err := doc.Parse(m.value); err == nil {
			object.Set(m.name, v)
		}
	}
	if a.console.Format == console.Human {
		return a.console.Print(visible.Text(string(console.Indent(object.AppendJSON(nil)))) + "\n")
	}
	return a.console.PrintJSON(object.AppendJSON(nil))
}
