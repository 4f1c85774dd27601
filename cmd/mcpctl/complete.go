package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func newCompleteCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "complete [SERVER] PROMPT|TEMPLATE ARGUMENT[=START] [k=v…]",
		Short: "Complete an argument of a prompt or of a URI template",
		Long: `Complete an argument of a prompt or of a URI template: the values that the
server offers, one a line. START is what has been typed so far. The other
operands are the arguments that are chosen already.`,
		Example: `  mcpctl complete :3000/mcp review language
  mcpctl complete :3000/mcp 'file:///{path}' path=src/
  mcpctl complete :3000/mcp deploy region=eu account=prod`,
		RunE: a.complete,
	}
}

func (a *app) complete(cmd *cobra.Command, args []string) error {
	t, rest, err := uriLine(a.dial, cmd, args)
	if err != nil {
		return err
	}
	if len(rest) < 2 {
		return unsent("name a prompt or a URI template, and the argument to complete")
	}
	of, words := rest[0], rest[1:]
	if !strings.Contains(words[0], "=") {
		words[0] += "="
	}
	_, operands, err := a.operands(words, "", false)
	if err != nil {
		return err
	}
	values, err := texts(operands)
	if err != nil {
		return err
	}
	if len(values) == 0 {
		return unsent("no argument to complete given")
	}
	template := withScheme.MatchString(of) || strings.Contains(of, "{")
	if template {
		variables, _ := operand.Variables(of)
		if err := checkName("the template", "variable", values[0].name, variables); err != nil {
			return err
		}
	}
	return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
		// The first two revisions have the request, but no capability for it.
		if c.ProtocolVersion().AtLeast(mcp.Version2025_03_26) && !c.May("completions") {
			return undeclared(c, "completions")
		}
		ref := map[string]string{"type": mcp.RefResource, "uri": of}
		if !template {
			prompt, err := listing.Prompt(ctx, a.dial, c, of)
			if err != nil {
				return err
			}
			var names []string
			for _, argument := range prompt.Get("arguments").Items() {
				names = append(names, argument.Get("name").Str())
			}
			if err := checkName("the prompt "+of, "argument", values[0].name, names); err != nil {
				return err
			}
			ref = map[string]string{"type": mcp.RefPrompt, "name": of}
		}
		params := map[string]any{"ref": ref, "argument": map[string]string{"name": values[0].name, "value": values[0].text}}
		if chosen := values[1:]; len(chosen) > 0 {
			if !c.ProtocolVersion().AtLeast(mcp.Version2025_06_18) {
				a.console.Warn("revision %s does not carry the arguments that are chosen already", c.ProtocolVersion())
			} else {
				arguments := map[string]string{}
				for _, v := range chosen {
					arguments[v.name] = v.text
				}
				params["context"] = map[string]any{"arguments": arguments}
			}
		}
		raw, err := a.dial.Request(ctx, c, connect.Sent{Method: mcp.MethodCompletionComplete}, console.Encode(params))
		if err != nil {
			return err
		}
		result, err := doc.Parse(raw)
		completion := result.Get("completion")
		if err != nil || completion.Get("values").Kind() != doc.Array {
			return c.Broken("the answer to %s has no list of values", mcp.MethodCompletionComplete)
		}
		offered := completion.Get("values").Items()
		if completion.Get("hasMore").True() && !a.console.Quiet {
			a.console.Note("the server has more values: type more of " + values[0].name)
		}
		return printItems(a.console, raw, offered, func() error {
			var b strings.Builder
			for _, value := range offered {
				b.WriteString(visible.Line(value.Str()) + "\n")
			}
			return a.console.Print(b.String())
		})
	})
}
