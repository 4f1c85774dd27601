package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func newInfoCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "info [SERVER]",
		Short: "Who is this: identity, revision, capabilities, instructions",
		Example: `  mcpctl info https://api.example.com/mcp
  mcpctl info -- npx -y @modelcontextprotocol/server-everything stdio`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := a.server(newLine(cmd, args))
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return usage("info takes no operand after the server, got %s", rest[0])
			}
			return a.with(cmd.Context(), t, func(_ context.Context, c *connection) error { return a.info(c) })
		},
	}
}

// info shows the server's answer to the handshake.
func (a *app) info(c *connection) error {
	raw := c.InitializeResult()
	if raw == nil {
		f := a.broken(c, "the server does not know server/discover: nothing is known of it")
		f.try = append(f.try, "--era auto finds out what it speaks")
		return f
	}
	switch a.flags.output {
	case formatJSON:
		return a.printJSON(raw)
	case formatNDJSON:
		return a.printRaw(compact(raw))
	case formatRaw:
		return a.printRaw(raw)
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
	add("transport", c.server.transport())
	add("era", eraWord(c.ProtocolVersion().Era()))
	add("revision", string(c.ProtocolVersion()))
	add("era found", a.safe(eraFound(c.Negotiated())))
	result, err := doc.Parse(raw)
	if err != nil {
		return a.broken(c, "the answer to the handshake cannot be read: %v", err)
	}
	add("capabilities", capabilities(result.Get("capabilities")))
	add("connected in", age(c.took).String())
	if !a.outTerminal {
		add("instructions", c.Instructions())
		return a.tsv(rows)
	}
	text := aligned(a.style(true), 1<<16, "", nil, rows)
	if c.Instructions() != "" {
		text += "\n" + strings.TrimRight(visible.Text(c.Instructions()), "\n") + "\n"
	}
	return a.say(text)
}

// eraWord is the word --era takes.
func eraWord(era mcp.Era) string {
	if era == mcp.EraSession {
		return "legacy"
	}
	return "modern"
}

func (t target) transport() string {
	if t.argv != nil {
		return "stdio"
	}
	return "http"
}

// capabilities lists what is declared, with the flags that are on:
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
