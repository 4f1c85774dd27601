package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
)

func newInfoCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "info [SERVER]",
		Short: "Show a server's name, revision, capabilities and instructions",
		Example: `  mcpctl info https://api.example.com/mcp
  mcpctl info -- npx -y @modelcontextprotocol/server-everything stdio
  mcpctl info github -v`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := a.dial.Server(target.NewLine(cmd, args))
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return failure.Usage("info takes only a server: unexpected operand %s", rest[0])
			}
			return a.dial.With(cmd.Context(), t, func(_ context.Context, c *connect.Connection) error { return a.info(c) })
		},
	}
}

// info prints the server's answer to the handshake.
func (a *app) info(c *connect.Connection) error {
	raw := c.InitializeResult()
	if raw == nil {
		f := c.Broken("the server does not support server/discover, so there is nothing to show")
		f.Try = append(f.Try, "--era auto, which detects what the server supports")
		return f
	}
	switch a.console.Format {
	case console.JSON:
		return a.console.PrintJSON(raw)
	case console.NDJSON:
		return a.console.PrintRaw(console.Compact(raw))
	case console.Raw:
		return a.console.PrintRaw(raw)
	}
	rows := [][]string{}
	add := func(label, value string) {
		if value != "" {
			rows = append(rows, []string{label, value})
		}
	}
	server := c.ServerInfo()
	add("name", server.Name)
	add("title", server.Title)
	add("version", server.Version)
	add("about", server.Description)
	add("website", server.WebsiteURL)
	add("transport", c.Target.Transport())
	add("era", c.ProtocolVersion().Era().String())
	add("revision", string(c.ProtocolVersion()))
	add("era found", a.dial.Secrets.Safe(connect.EraFound(c.Negotiated())))
	result, err := doc.Parse(raw)
	if err != nil {
		return c.Broken("the answer to the handshake is not valid: %v", err)
	}
	add("capabilities", capabilities(result.Get("capabilities")))
	add("connected in", console.Rounded(c.Took).String())
	if !a.console.OutTerminal {
		add("instructions", c.Instructions())
		return a.console.PrintSeparated(rows)
	}
	text := console.Aligned(a.console.OutStyle(), a.console.Width, "", nil, rows)
	if c.Instructions() != "" {
		text += "\n" + a.console.Wrapped(strings.TrimRight(visible.Text(c.Instructions()), "\n"), "")
	}
	return a.console.Print(text)
}

// capabilities lists the declared capabilities, with the flags that are on:
// "tools (listChanged), logging".
func capabilities(declared *doc.Value) string {
	var out []string
	for _, m := range declared.Members() {
		var on []string
		for _, flag := range m.Value.Members() {
			if flag.Value.True() || flag.Value.Kind() == doc.Object {
				on = append(on, flag.Name)
			}
		}
		text := m.Name
		if len(on) > 0 {
			text += " (" + strings.Join(on, ", ") + ")"
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
