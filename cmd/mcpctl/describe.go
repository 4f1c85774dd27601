package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
)

func newDescribeCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "describe [SERVER] TOOL",
		Short: "One tool: its signature, arguments, claims, and a line that calls it",
		Example: `  mcpctl describe :3000/mcp echo
  mcpctl describe echo -- npx -y @modelcontextprotocol/server-everything stdio`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := a.server(newLine(cmd, args))
			if err != nil {
				return err
			}
			if len(rest) != 1 {
				return usage("describe takes the name of one tool, got %d operands", len(rest))
			}
			return a.with(cmd.Context(), t, func(ctx context.Context, c *connection) error {
				tool, err := a.tool(ctx, c, rest[0])
				if err != nil {
					return err
				}
				return a.describe(cmd, t, tool)
			})
		},
	}
}

// tool finds a tool in the server's list. A name that is not there is told with
// those that are near; nothing is ever called instead.
func (a *app) tool(ctx context.Context, c *connection, name string) (*doc.Value, error) {
	notFound := fail(kindNotFound, mcperrors.NotSent, "no tool %s", name)
	notFound.note = "nothing was sent"
	if !c.may("tools") {
		notFound.add("server", "%s declares no tools", serverName(c))
		return nil, notFound
	}
	items, err := a.walk(ctx, c, listings[0], nil)
	if err != nil {
		return nil, err
	}
	tool, names := find(items, "name", name)
	if tool != nil {
		return tool, nil
	}
	if near := suggest.Nearest(name, names); len(near) > 0 {
		notFound.message += "; did you mean " + strings.Join(near, ", ") + "?"
	} else {
		notFound.add("tools", "%s", short(strings.Join(names, ", "), 200))
	}
	return nil, notFound
}

func (a *app) describe(cmd *cobra.Command, t target, tool *doc.Value) error {
	switch a.flags.output {
	case formatJSON:
		return a.printJSON(tool.AppendJSON(nil))
	case formatNDJSON:
		return a.printRaw(compact(tool.AppendJSON(nil)))
	case formatRaw:
		return a.printRaw(tool.AppendJSON(nil))
	}
	s := a.style(a.outTerminal)
	var b strings.Builder
	b.WriteString(s.bold(visible.Line(toolSignature(tool))) + "\n")
	for _, key := range []string{"title", "description"} {
		if text := strings.TrimSpace(tool.Get(key).Str()); text != "" {
			b.WriteString("\n" + visible.Text(text) + "\n")
		}
	}
	input := schema.New(tool.Get("inputSchema"))
	if fields := input.Fields(); len(fields) > 0 {
		b.WriteString("\n" + s.dim("arguments") + "\n")
		b.WriteString(aligned(s, a.tableWidth(), "  ", []string{"NAME", "TYPE", "", "DESCRIPTION"}, fieldRows(fields)))
	}
	if out := schema.New(tool.Get("outputSchema")); out.Known() {
		if fields := out.Fields(); len(fields) > 0 {
			b.WriteString("\n" + s.dim("result") + "\n")
			b.WriteString(aligned(s, a.tableWidth(), "  ", []string{"NAME", "TYPE", "", "DESCRIPTION"}, fieldRows(fields)))
		}
	}
	if said := claims(tool); len(said) > 0 {
		b.WriteString("\n" + s.dim("the server claims") + "\n  " + visible.Line(strings.Join(said, "; ")) + "\n")
	}
	line, about := a.exampleLine(cmd, t, tool)
	b.WriteString("\n" + s.dim("example"+about) + "\n" + line)
	return a.say(b.String())
}

// tableWidth is the width of a table: nothing is cut in a pipe.
func (a *app) tableWidth() int {
	if a.outTerminal {
		return a.width
	}
	return 1 << 16
}

func fieldRows(fields []schema.Field) [][]string {
	var rows [][]string
	for _, f := range fields {
		var about []string
		if text := oneLine(f.Schema.Word("description")); text != "" {
			about = append(about, text)
		}
		about = append(about, f.Schema.Limits()...)
		if d := f.Schema.Default(); d != nil {
			about = append(about, "default "+short(d.String(), 60))
		}
		need := ""
		if f.Required {
			need = "required"
		}
		rows = append(rows, []string{f.Name, f.Schema.Type(), need, strings.Join(about, "; ")})
	}
	return rows
}

// claims says in words what the server's annotations say. They are claims:
// nothing makes a server keep them.
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
	say("readOnlyHint", "only reads", "changes things")
	if !annotations.Get("readOnlyHint").True() {
		say("destructiveHint", "may destroy", "only adds")
		say("idempotentHint", "safe to repeat", "not safe to repeat")
	}
	say("openWorldHint", "talks to the outside", "stays inside")
	return out
}

// exampleLine is a line that, pasted, calls the tool with arguments its schema
// accepts, on the same server with the same flags. about says what to think of
// them: a value that fits may still be one that the server does not know.
func (a *app) exampleLine(cmd *cobra.Command, t target, tool *doc.Value) (text, about string) {
	name := tool.Get("name").Str()
	root := tool.Get("inputSchema")
	args, placeholders, ok := example.Arguments(root)
	if !ok {
		return "  no arguments were found that the input schema accepts; write them with --json\n", ""
	}
	words := []string{"mcpctl", "call"}
	words = append(words, typedFlags(cmd)...)
	words = append(append(words, t.words()...), name)
	words = append(words, operand.Format(args, schema.New(root))...)
	if t.argv != nil {
		words = append(append(words, "--"), t.argv...)
	}
	if placeholders {
		about = " (built from the schema; values are placeholders)"
	}
	return "  " + visible.Line(example.Quote(words)) + "\n", about
}
