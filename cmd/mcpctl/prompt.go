package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func newPromptCmd(a *app) *cobra.Command {
	p := &prompting{app: a}
	cmd := &cobra.Command{
		Use:   "prompt [SERVER] NAME [k=v…]",
		Short: "Get a prompt",
		Long: `Get a prompt: its messages, each with its role. The arguments are text. They are
checked against the prompt's own list before it is asked for.`,
		Example: `  mcpctl prompt :3000/mcp review file=@main.go
  mcpctl prompt github summarize repo=me/x
  mcpctl prompt :3000/mcp review -o json --json @args.json`,
		RunE: func(cmd *cobra.Command, args []string) error { return p.run(cmd, args) },
	}
	cmd.Flags().StringVar(&p.base, "json", "", "the `object` to start from: JSON text, @FILE, or - for standard input")
	cmd.Flags().BoolVar(&p.noValidate, "no-validate", false, "send the arguments unchecked")
	p.talk.register(cmd.Flags())
	return cmd
}

// prompting is one run of the command.
type prompting struct {
	app        *app
	talk       talkFlags
	base       string
	noValidate bool
}

func (p *prompting) run(cmd *cobra.Command, args []string) error {
	a := p.app
	t, rest, err := a.dial.Server(target.NewLine(cmd, args))
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return unsent("no prompt given: name the prompt to get; mcpctl ls prompts lists them")
	}
	object, operands, err := a.operands(rest[1:], p.base, cmd.Flags().Changed("json"))
	if err != nil {
		return err
	}
	if err := p.talk.begin(a); err != nil {
		return err
	}
	return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
		prompt, err := listing.Prompt(ctx, a.dial, c, rest[0])
		if err != nil {
			return err
		}
		arguments, err := a.arguments(withSchema(prompt), object, operands, p.noValidate)
		if err != nil {
			return err
		}
		params := doc.NewObject()
		params.Set("name", doc.Text(rest[0]))
		if len(arguments.Members()) > 0 {
			params.Set("arguments", arguments)
		}
		raw, err := a.dial.Request(ctx, c, connect.Sent{Method: mcp.MethodPromptsGet}, json.RawMessage(params.AppendJSON(nil)))
		if err != nil {
			return err
		}
		result, err := doc.Parse(raw)
		if err != nil || result.Get("messages").Kind() != doc.Array {
			return c.Broken("the answer to %s has no list named messages", mcp.MethodPromptsGet)
		}
		messages := result.Get("messages").Items()
		return printItems(a.console, raw, messages, func() error { return a.console.Print(promptText(a.console.OutStyle(), messages)) })
	})
}

// withSchema gives a prompt the input schema that its list of arguments means, so that they are
// checked like those of a tool.
func withSchema(prompt *doc.Value) *doc.Value {
	properties, required, text := doc.NewObject(), doc.NewArray(), doc.NewObject()
	text.Set("type", doc.Text("string"))
	for _, argument := range prompt.Get("arguments").Items() {
		properties.Set(argument.Get("name").Str(), text)
		if argument.Get("required").True() {
			required.SetItem(len(required.Items()), argument.Get("name"))
		}
	}
	input := doc.NewObject()
	input.Set("type", doc.Text("object"))
	input.Set("properties", properties)
	input.Set("required", required)
	input.Set("additionalProperties", noOthers)
	out := doc.NewObject()
	out.Set("name", prompt.Get("name"))
	out.Set("inputSchema", input)
	return out
}

// noOthers is the JSON false: arguments that are not declared are refused.
var noOthers, _ = doc.Parse([]byte("false"))

// promptText is a conversation for people: each message below its role.
func promptText(s console.Style, messages []*doc.Value) string {
	parts := make([]string, 0, len(messages))
	for _, m := range messages {
		role := s.Bold(visible.Line(m.Get("role").Str()) + ":")
		parts = append(parts, role+"\n"+strings.TrimSuffix(blockText(m.Get("content")), "\n")+"\n")
	}
	return strings.Join(parts, "\n")
}
