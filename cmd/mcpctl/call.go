package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
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
	strict     bool
	dryRun     bool
	save       string
}

func newCallCmd(a *app) *cobra.Command {
	var o callOptions
	cmd := &cobra.Command{
		Use:   "call [SERVER] TOOL [k=v…]",
		Short: "Call a tool",
		Long: `Call a tool. The tool's input schema decides the types of the arguments, and they
are checked before anything is sent. See mcpctl help syntax. A result that does not
fit the tool's output schema is shown after a warning; with --strict the run fails.`,
		Example: `  mcpctl call :3000/mcp echo message=hi
  mcpctl call create_issue title="It breaks" labels[]=bug -- ./server
  mcpctl call :3000/mcp query --json @args.json limit=50
  mcpctl call :3000/mcp deploy env=prod --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.baseSet = cmd.Flags().Changed("json")
			a.dial.Events = true
			return a.call(cmd, args, o)
		},
	}
	cmd.Flags().StringVar(&o.base, "json", "", "the `object` to start from: JSON text, @FILE, or - for standard input")
	cmd.Flags().BoolVar(&o.noValidate, "no-validate", false, "send the arguments unchecked")
	cmd.Flags().BoolVar(&o.strict, "strict", false, "fail if the result does not fit the tool's output schema")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the request instead of sending it")
	cmd.Flags().StringVar(&o.save, "save", "", "write images and other files of the result to this `folder`")
	return cmd
}

// call has two halves: it reads the command line before it starts a server, and
// types the arguments when it has the tool's schema.
func (a *app) call(cmd *cobra.Command, args []string, o callOptions) error {
	t, rest, err := a.dial.Server(target.NewLine(cmd, args))
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return a.noTool(t, "call")
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
	a.dial.DryRun = o.dryRun
	return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
		tool, err := listing.Tool(ctx, a.dial, c, name)
		if err != nil {
			return &explain.NotCalled{Err: err}
		}
		arguments, err := a.arguments(tool, base, operands, o.noValidate)
		if err != nil {
			return err
		}
		params := doc.NewObject()
		params.Set("name", doc.Text(name))
		params.Set("arguments", arguments)
		if o.dryRun {
			return a.dryRun(ctx, c, mcp.MethodToolsCall, params)
		}
		raw, err := a.dial.Request(ctx, c, connect.Sent{Method: mcp.MethodToolsCall, Tool: name, Acts: true}, json.RawMessage(params.AppendJSON(nil)))
		if err != nil {
			return withTool(err, name)
		}
		return a.result(c, tool, raw, o)
	})
}

// noTool is the failure of a command that needs a tool and was given none.
func (a *app) noTool(t target.Target, purpose string) *failure.Failure {
	f := failure.Usage("no tool given: name the tool to %s", purpose)
	f.Try = append(f.Try, "mcpctl ls "+t.Typed)
	if t.Typed == "" {
		f.Try = []string{"mcpctl ls -- " + strings.Join(a.dial.Secrets.Command(t.Argv), " ")}
	}
	return f
}

var errNoInput = errors.New("standard input is a terminal, and --no-input forbids reading it")

// operands reads the operands; @- and --json - read standard input.
func (a *app) operands(args []string, base string, baseSet bool) (*doc.Value, []operand.Operand, error) {
	files := &operand.Files{Stdin: a.console.In}
	if a.console.InTerminal {
		if a.flags.NoInput {
			files.Stdin, files.NoStdin = nil, errNoInput
		}
		files.BeforeStdin = func() { a.console.Note("reading standard input; end it with Ctrl-D") }
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

// arguments types and checks the operands. Its failure lists every problem.
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
		a.console.Warn("%s: %v; the arguments are sent unchecked", name, err)
		findings = mistyped
	} else {
		findings = merge(judge.Findings(arguments), mistyped)
	}
	if len(findings) > 0 {
		f := failure.Usage("%s %s", count(len(findings), "argument does not fit", "arguments do not fit"), name)
		f.Findings, f.Signature = findings, schema.Signature(name, input)
		f.Note = "nothing was sent; --no-validate sends the arguments unchecked"
		return nil, f
	}
	a.warnUnknown(name, root, arguments)
	return arguments, nil
}

// merge joins two lists of findings; for the same place the first list wins.
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

// warnUnknown warns about arguments that the schema allows but does not declare:
// most of them are typing mistakes.
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
		a.console.Warn("%s", text)
	}
}

// withTool adds the name of the tool to an error.
func withTool(err error, name string) error {
	var e *mcperrors.Error
	if errors.As(err, &e) && e.Tool == "" {
		e.Tool = name
	}
	return err
}
