package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
	"github.com/mainstay-mcp/mainstay/mcp"
)

type callOptions struct {
	base       string
	baseSet    bool
	noValidate bool
	dryRun     bool
	save       string
}

func newCallCmd(a *app) *cobra.Command {
	var o callOptions
	cmd := &cobra.Command{
		Use:   "call [SERVER] TOOL [k=v…]",
		Short: "Call a tool",
		Long: `Call a tool. Arguments are typed and checked by the tool's input schema before
anything is sent; see mcpctl help syntax.`,
		Example: `  mcpctl call :3000/mcp echo message=hi
  mcpctl call create_issue title="It breaks" labels[]=bug -- ./server
  mcpctl call :3000/mcp query --json @args.json limit=50
  mcpctl call :3000/mcp deploy env=prod --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.baseSet = cmd.Flags().Changed("json")
			a.events = true
			return a.call(cmd, args, o)
		},
	}
	cmd.Flags().StringVar(&o.base, "json", "", "an `object` to begin with: its text, @FILE, or - for standard input")
	cmd.Flags().BoolVar(&o.noValidate, "no-validate", false, "send the arguments as they are")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the request and send nothing")
	cmd.Flags().StringVar(&o.save, "save", "", "`folder` to write images and other files of the result to")
	return cmd
}

// call has two halves: what is typed is read before a server is started, what
// it means is decided by the tool's schema.
func (a *app) call(cmd *cobra.Command, args []string, o callOptions) error {
	t, rest, err := a.server(newLine(cmd, args))
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		f := usage("no tool: which one is to be called?")
		f.try = append(f.try, "mcpctl ls "+strings.TrimSpace(t.typed))
		if t.argv != nil {
			f.try = []string{"mcpctl ls -- " + strings.Join(mcperrors.RedactCommand(t.argv, a.secrets...), " ")}
		}
		return f
	}
	name := rest[0]
	base, operands, err := a.operands(rest[1:], o.base, o.baseSet)
	if err != nil {
		return err
	}
	if o.save != "" && !o.dryRun {
		if err := checkFolder(o.save); err != nil {
			return err
		}
	}
	show := a.newStatus()
	defer show.end()
	return a.with(cmd.Context(), t, func(ctx context.Context, c *connection) error {
		tool, err := a.tool(ctx, c, name)
		if err != nil {
			return &notCalled{err}
		}
		arguments, err := a.arguments(tool, base, operands, o.noValidate)
		if err != nil {
			return err
		}
		params := doc.NewObject()
		params.Set("name", doc.Text(name))
		params.Set("arguments", arguments)
		if o.dryRun {
			return a.dryRun(t, mcp.MethodToolsCall, params)
		}
		show.begin("calling " + name)
		raw, err := a.request(ctx, c, sentRequest{method: mcp.MethodToolsCall, tool: name, acts: true}, json.RawMessage(params.AppendJSON(nil)),
			client.WithProgress(func(p mcp.ProgressParams) { a.progress(show, p) }))
		show.end()
		if err != nil {
			return withTool(err, name)
		}
		return a.result(c, tool, raw, o)
	}, client.OnLog(func(_ context.Context, m mcp.LoggingMessageParams) { a.log(show, m) }))
}

// operands reads what was typed; @- and --json - read standard input.
func (a *app) operands(args []string, base string, baseSet bool) (*doc.Value, []operand.Operand, error) {
	files := &operand.Files{Stdin: a.in}
	if a.inTerminal {
		if a.flags.noInput {
			files.Stdin = nil
		}
		files.BeforeStdin = func() { fmt.Fprintln(a.stderr, "reading from the keyboard, end with Ctrl-D") }
	}
	var object *doc.Value
	var err error
	if baseSet {
		if object, err = operand.Base(base, files); err != nil {
			return nil, nil, err
		}
	}
	out := make([]operand.Operand, 0, len(args))
	for _, arg := range args {
		op, err := operand.Parse(arg, files)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, op)
	}
	return object, out, nil
}

// arguments types and checks what was typed. Everything that is wrong is told
// at once.
func (a *app) arguments(tool, base *doc.Value, operands []operand.Operand, noValidate bool) (*doc.Value, error) {
	root := tool.Get("inputSchema")
	input := schema.New(root)
	name := tool.Get("name").Str()
	arguments, mistyped, err := operand.Build(base, operands, input)
	if err != nil || noValidate {
		return arguments, err
	}
	var findings []schema.Finding
	judge, err := schema.NewJudge(root)
	if errors.Is(err, schema.ErrCannotJudge) {
		a.warn("%s: %v; sent unchecked", name, err)
		findings = mistyped
	} else {
		findings = merge(judge.Findings(arguments), mistyped)
	}
	if len(findings) > 0 {
		f := usage("%s %s", count(len(findings), "argument does not fit", "arguments do not fit"), name)
		f.findings, f.signature = findings, schema.Signature(name, input)
		f.note = "nothing was sent; --no-validate sends it as it is"
		return nil, f
	}
	a.warnUnknown(name, root, arguments)
	return arguments, nil
}

// merge joins two lists of findings; what the first says about a place wins.
func merge(first, second []schema.Finding) []schema.Finding {
	out := first
	for _, f := range second {
		known := false
		for _, have := range first {
			known = known || have.Pointer == f.Pointer
		}
		if !known {
			out = append(out, f)
		}
	}
	return out
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// warnUnknown tells of arguments that the schema allows and does not know: they
// are most often typing mistakes.
func (a *app) warnUnknown(name string, root, arguments *doc.Value) {
	declared := root.Get("properties")
	if len(declared.Members()) == 0 || root.Get("additionalProperties").Kind() == doc.Object || root.Get("patternProperties") != nil {
		return
	}
	var names []string
	for _, f := range schema.New(root).Fields() {
		names = append(names, f.Name)
	}
	for _, m := range arguments.Members() {
		if schema.New(root).Property(m.Name).Known() {
			continue
		}
		text := fmt.Sprintf("%s declares no argument %s", name, m.Name)
		if near := suggest.Nearest(m.Name, names); len(near) > 0 {
			text += "; did you mean " + near[0] + "?"
		}
		a.warn("%s", text)
	}
}

// withTool says which tool an error is about.
func withTool(err error, name string) error {
	var e *mcperrors.Error
	if errors.As(err, &e) && e.Tool == "" {
		e.Tool = name
	}
	return err
}
