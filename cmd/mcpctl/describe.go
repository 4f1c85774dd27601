package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

func newDescribeCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "describe [SERVER] TOOL",
		Short: "Show a tool's signature, arguments and an example call",
		Example: `  mcpctl describe :3000/mcp echo
  mcpctl describe echo -- npx -y @modelcontextprotocol/server-everything stdio
  mcpctl describe github create_issue -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := a.dial.Server(target.NewLine(cmd, args))
			if err != nil {
				return err
			}
			if len(rest) == 0 {
				return a.noTool(t, "describe")
			}
			if len(rest) != 1 {
				return failure.Usage("describe takes the name of one tool, not %d operands", len(rest))
			}
			return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
				tool, err := listing.Tool(ctx, a.dial, c, rest[0])
				if err != nil {
					return err
				}
				return a.describe(cmd, t, tool)
			})
		},
	}
}

func (a *app) describe(cmd *cobra.Command, t target.Target, tool *doc.Value) error {
	switch a.console.Format {
	case console.JSON:
		return a.console.PrintJSON(tool.AppendJSON(nil))
	case console.NDJSON:
		return a.console.PrintRaw(console.Compact(tool.AppendJSON(nil)))
	case console.Raw:
		return a.console.PrintRaw(tool.AppendJSON(nil))
	}
	s := a.console.OutStyle()
	var b strings.Builder
	b.WriteString(signatureLines(a.console, toolSignature(tool), ""))
	for _, key := range []string{"title", "description"} {
		if text := strings.TrimSpace(tool.Get(key).Str()); text != "" {
			b.WriteString("\n" + a.console.Wrapped(visible.Text(text), ""))
		}
	}
	input := schema.New(tool.Get("inputSchema"))
	if fields := input.Fields(); len(fields) > 0 {
		b.WriteString("\n" + s.Dim("arguments") + "\n")
		b.WriteString(console.Aligned(s, a.console.TableWidth(), "  ", []string{"NAME", "TYPE", "", "DESCRIPTION"}, fieldRows(fields)))
	}
	if out := schema.New(tool.Get("outputSchema")); out.Known() {
		if fields := out.Fields(); len(fields) > 0 {
			b.WriteString("\n" + s.Dim("result") + "\n")
			b.WriteString(console.Aligned(s, a.console.TableWidth(), "  ", []string{"NAME", "TYPE", "", "DESCRIPTION"}, fieldRows(fields)))
		}
	}
	if said := claims(tool); len(said) > 0 {
		b.WriteString("\n" + s.Dim("annotations (claimed by the server)") + "\n" + a.console.Wrapped(visible.Line(strings.Join(said, "; ")), "  "))
	}
	line, about := a.exampleLine(cmd, t, tool)
	b.WriteString("\n" + s.Dim(strings.TrimSuffix(a.console.Wrapped("example"+about, ""), "\n")) + "\n" + line)
	return a.console.Print(b.String())
}

func fieldRows(fields []schema.Field) [][]string {
	var rows [][]string
	for _, f := range fields {
		var about []string
		if text := console.OneLine(f.Schema.Word("description")); text != "" {
			about = append(about, text)
		}
		about = append(about, f.Schema.Limits()...)
		if d := f.Schema.Default(); d != nil {
			about = append(about, "default "+visible.Cut(d.String(), 60))
		}
		need := ""
		if f.Required {
			need = "required"
		}
		rows = append(rows, []string{f.Name, f.Schema.Type(), need, strings.Join(about, "; ")})
	}
	return rows
}

// claims describes the annotations of a tool. They are claims: a server does not
// have to keep them.
func claims(tool *doc.Value) []string {
	var out []string
	annotations := tool.Get("annotations")
	say := func(key, yes, no string) {
		v := annotations.Get(key)
		if v.Kind() != doc.Bool {
			return
		}
		if v.True() {
			out = append(out, yes)
		} else {
			out = append(out, no)
		}
	}
	say("readOnlyHint", "only reads", "changes data")
	if !annotations.Get("readOnlyHint").True() {
		say("destructiveHint", "may destroy data", "only adds data")
		say("idempotentHint", "safe to repeat", "not safe to repeat")
	}
	say("openWorldHint", "reaches external systems", "stays within the server")
	return out
}

// exampleLine returns a line to paste: it calls the tool on the same server, with
// the same flags and with arguments that the schema accepts. about tells whether the
// values are placeholders, which may mean nothing to the server.
func (a *app) exampleLine(cmd *cobra.Command, t target.Target, tool *doc.Value) (text, about string) {
	name := tool.Get("name").Str()
	root := tool.Get("inputSchema")
	args, placeholders, ok := example.Arguments(root)
	if !ok {
		return a.console.Wrapped("found no arguments that the input schema accepts; write them with --json", "  "), ""
	}
	words := []string{"mcpctl", "call"}
	words = append(words, flags.Typed(cmd)...)
	words = append(append(words, t.Words()...), name)
	words = append(words, operand.Format(args, schema.New(root))...)
	if t.Argv != nil && t.Entry == nil {
		words = append(append(words, "--"), t.Argv...)
	}
	if placeholders {
		about = " (from the schema; the values are placeholders)"
	}
	return commandLine(a.console, words), about
}

// commandLine is a command line to paste. Where a terminal is too narrow, the shell continues
// it on the next line.
func commandLine(c *console.Console, words []string) string {
	const continued = ` \`
	line, lines := " ", ""
	for i, word := range words {
		word = visible.Line(example.Quote([]string{word}))
		takes := visible.Width(line + " " + word)
		if i < len(words)-1 {
			takes += visible.Width(continued)
		}
		if c.OutTerminal && strings.TrimSpace(line) != "" && takes > c.Width {
			lines += line + continued + "\n"
			line = "   "
		}
		line += " " + word
	}
	return lines + line + "\n"
}
