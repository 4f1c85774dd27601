package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func newCallCmd(a *app) *cobra.Command {
	r := &calling{app: a}
	cmd := &cobra.Command{
		Use:   "call [SERVER] TOOL [k=v…]",
		Short: "Call a tool",
		Long: `Call a tool. The tool's input schema decides the types of the arguments, and
they are checked before anything is sent. See mcpctl help syntax. A result that
does not fit the tool's output schema is shown after a warning; with --strict
the run fails.

What the server asks meanwhile is answered at the terminal or by --answer,
--sampler and --root; see mcpctl help answers. A tool that the server marks
destructive is called after one question; -y answers it. --batch calls the tool
once for each line of a file.`,
		Example: `  mcpctl call :3000/mcp echo message=hi
  mcpctl call create_issue title="It breaks" labels[]=bug -- ./server
  mcpctl call :3000/mcp query --json @args.json limit=50
  mcpctl call :3000/mcp deploy env=prod --dry-run
  mcpctl call :3000/mcp resize --batch rows.ndjson --parallel 4`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.baseSet = cmd.Flags().Changed("json")
			return r.run(cmd, args)
		},
	}
	set := cmd.Flags()
	set.StringVar(&r.base, "json", "", "the `object` to start from: JSON text, @FILE, or - for standard input")
	set.BoolVar(&r.noValidate, "no-validate", false, "send the arguments unchecked")
	set.BoolVar(&r.strict, "strict", false, "fail if the result does not fit the tool's output schema")
	set.BoolVar(&r.dryRun, "dry-run", false, "show the request instead of sending it")
	set.StringVar(&r.save, "save", "", "write images and other files of the result to this `folder`")
	set.BoolVarP(&r.yes, "yes", "y", false, "call a tool that is marked destructive without a question")
	set.BoolVar(&r.detach, "detach", false, "start the tool as a task and print its id, for mcpctl task")
	set.StringVar(&r.batch, "batch", "", "call the tool for each line of this `file`, an object of arguments; - is standard input")
	set.IntVar(&r.parallel, "parallel", 1, "how many calls of --batch run at once")
	r.talk.register(set)
	return cmd
}

// calling is one run of the command.
type calling struct {
	app  *app
	talk talkFlags

	base       string
	baseSet    bool
	noValidate bool
	strict     bool
	dryRun     bool
	save       string
	yes        bool
	detach     bool
	batch      string
	parallel   int
}

// run has two halves: it reads the command line before it starts a server, and types the
// arguments when it has the tool's schema.
func (r *calling) run(cmd *cobra.Command, args []string) error {
	a := r.app
	a.dial.Events = true
	t, rest, err := a.dial.Server(target.NewLine(cmd, args))
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return a.noTool(t, "call")
	}
	if err := r.check(); err != nil {
		return err
	}
	name := rest[0]
	base, operands, err := a.operands(rest[1:], r.base, r.baseSet)
	if err != nil {
		return err
	}
	var rows []*doc.Value
	if r.batch != "" {
		a.dial.Heard = func(*doc.Value) {} // what is reported does not name its call
		if rows, err = readRows(a.files(), r.batch); err != nil {
			return err
		}
	}
	if err := r.talk.begin(a); err != nil {
		return err
	}
	a.dial.DryRun = r.dryRun
	return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
		tool, err := listing.Tool(ctx, a.dial, c, name)
		if err != nil {
			return &explain.NotCalled{Err: r.hidden(ctx, t, name, err)}
		}
		if r.batch != "" {
			return r.each(ctx, c, tool, rows, operands)
		}
		arguments, err := a.arguments(tool, base, operands, r.noValidate)
		if err != nil {
			return err
		}
		if r.dryRun {
			return a.dryRun(ctx, c, mcp.MethodToolsCall, callParams(name, arguments))
		}
		if err := a.consent(ctx, tool, r.yes); err != nil {
			return err
		}
		raw, err := r.send(ctx, c, tool, arguments)
		if err != nil || r.detach {
			return withTool(err, name)
		}
		return a.result(c, tool, raw, r.save, r.strict)
	})
}

// check rejects flags that contradict each other.
func (r *calling) check() error {
	switch {
	case r.parallel < 1 || r.parallel > mostParallel:
		return unsent("--parallel must be from 1 to %d, not %d", mostParallel, r.parallel)
	case r.parallel > 1 && r.batch == "":
		return unsent("--parallel is for --batch")
	case r.batch != "" && (r.dryRun || r.baseSet || r.save != "" || r.detach || r.strict || r.talk.logLevel != ""):
		return unsent("--batch goes without --json, --dry-run, --save, --strict, --detach and --log-level")
	case r.batch != "" && (r.app.console.Format == console.JSON || r.app.console.Format == console.Raw):
		return unsent("--batch prints a line of JSON for each call: leave -o %s out", r.app.console.Format)
	case r.save != "" && !r.dryRun:
		return checkFolder(r.save)
	}
	return nil
}

func callParams(name string, arguments *doc.Value) *doc.Value {
	params := doc.NewObject()
	params.Set("name", doc.Text(name))
	params.Set("arguments", arguments)
	return params
}

// hidden explains why a server has no tool: it may show it only to clients that declare more than
// this run does.
func (r *calling) hidden(ctx context.Context, t target.Target, name string, err error) error {
	var f *failure.Failure
	if !errors.As(err, &f) || f.Kind != failure.KindNotFound || !r.app.dial.Hides(ctx, t, func(ctx context.Context, c *connect.Connection) error {
		_, err := listing.Tool(ctx, r.app.dial, c, name)
		return err
	}) {
		return err
	}
	out := failure.New(failure.KindInputRequired, mcperrors.NotSent, "%s is only there for clients that have a model or share folders", name)
	out.Note = failure.NoteNothingSent
	out.Try = append(out.Try, "the same command with --sampler COMMAND", "the same command with --root FOLDER")
	return out
}

// consent asks before a tool that the server marks destructive is called, unless yes is set.
func (a *app) consent(ctx context.Context, tool *doc.Value, yes bool) error {
	name, about := tool.Get("name").Str(), tool.Get("annotations")
	if yes || !about.Get("destructiveHint").True() || about.Get("readOnlyHint").True() {
		return nil
	}
	refused := failure.New(failure.KindInputRequired, mcperrors.NotSent, "%s is marked destructive, and nobody agreed to call it", name)
	refused.Note = failure.NoteNotCalled
	c := a.console
	if !c.Asks() || a.flags.NoInput {
		refused.Try = append(refused.Try, "the same command with -y")
		return refused
	}
	c.Note(visible.Line(name) + " is marked destructive: it may delete or overwrite something. Call it? [y/N]")
	yes, err := c.Yes(ctx)
	if err == nil && !yes {
		err = refused
	}
	return err
}

// send calls the tool, as a task if it runs only as one.
func (r *calling) send(ctx context.Context, c *connect.Connection, tool, arguments *doc.Value) (json.RawMessage, error) {
	name := tool.Get("name").Str()
	if r.detach || onlyAsTask(c, tool) {
		return r.sendTask(ctx, c, name, arguments)
	}
	return r.app.dial.Request(ctx, c, connect.Sent{Method: mcp.MethodToolsCall, Tool: name, Acts: true},
		json.RawMessage(callParams(name, arguments).AppendJSON(nil)), r.again(tool)...)
}

// again returns the option of --retry for a tool that does no harm when it runs twice. The client has
// not seen the tool.
func (r *calling) again(tool *doc.Value) []client.CallOption {
	if r.app.dial.Retries == 0 || !runsTwice(tool) {
		return nil
	}
	return []client.CallOption{client.WithRetryPolicy(client.RetryAlways)}
}

// runsTwice reports whether a tool does no harm when it runs twice, by its annotations.
func runsTwice(tool *doc.Value) bool {
	var about mcp.ToolAnnotations
	return tool.Get("annotations") != nil && mcp.Unmarshal(tool.Get("annotations").AppendJSON(nil), &about) == nil && about.Idempotent()
}

// onlyAsTask reports whether a tool runs only as a task that the client asks for.
func onlyAsTask(c *connect.Connection, tool *doc.Value) bool {
	return tool.Get("execution").Get("taskSupport").Str() == "required" && c.ProtocolVersion() == mcp.Version2025_11_25
}

// sendTask calls the tool as a task, and follows it unless --detach is set.
func (r *calling) sendTask(ctx context.Context, c *connect.Connection, name string, arguments *doc.Value) (raw json.RawMessage, err error) {
	a := r.app
	sent := connect.Sent{Method: mcp.MethodToolsCall, Tool: name, Acts: true}
	err = a.dial.Record(sent, "calling "+name+" as a task", func() error {
		task, err := startTask(ctx, a.dial, c, name, arguments)
		if err != nil {
			return err
		}
		if r.detach && task.ID() != "" {
			return printTaskID(a.console, task.ID())
		}
		a.console.Step("the server runs %s as task %s", name, task.ID())
		raw, err = waitFor(ctx, task)
		return err
	})
	if err == nil && r.detach && raw != nil {
		a.console.Warn("the server answered %s at once, without a task", name)
		r.detach = false
	}
	return raw, err
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

// files reads the files that a command line names, and standard input.
func (a *app) files() *operand.Files {
	files := &operand.Files{Stdin: a.console.In}
	if a.console.InTerminal {
		if a.flags.NoInput {
			files.Stdin, files.NoStdin = nil, errNoInput
		}
		files.BeforeStdin = func() { a.console.Note("reading standard input; end it with Ctrl-D") }
	}
	return files
}

// operands reads the operands; @- and --json - read standard input.
func (a *app) operands(args []string, base string, baseSet bool) (*doc.Value, []operand.Operand, error) {
	files := a.files()
	var object *doc.Value
	var err error
	if baseSet {
		if object, err = operand.Base("--json", base, files); err != nil {
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
	if err != nil || noValidate || len(mistyped) == 0 && len(arguments.Members()) == 0 && schema.TakesNone(root) {
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
	for _, m := range mistyped {
		name := strings.TrimPrefix(m.Pointer, "/")
		if i := slices.IndexFunc(findings, func(f schema.Finding) bool { return f.Pointer == m.Pointer }); !strings.Contains(name, "/") && input.Property(name).TakesArray() {
			findings[i].Message += "; write " + name + "[]=… once for each item"
		}
	}
	if len(findings) > 0 {
		f := failure.Usage("%s %s", console.Count(len(findings), "argument does not fit", "arguments do not fit"), name)
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
