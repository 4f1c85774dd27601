package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func newTaskCmd(a *app) *cobra.Command {
	t := &tasking{app: a}
	cmd := &cobra.Command{
		Use:   "task",
		Short: "List, follow and cancel tasks: calls in the background",
		Long: `List, follow and cancel tasks: calls of tools that a server runs in the
background. mcpctl call starts one where a tool runs only so, and follows it;
with --detach it prints the id of the task instead. Servers decide how long they
keep a task, and whether another connection finds it. A program that mcpctl
starts ends with its run.`,
		Example: `  mcpctl call :3000/mcp research topic=birds --detach
  mcpctl task ls :3000/mcp
  mcpctl task wait :3000/mcp 786512e2`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		t.command("ls [SERVER]", "List the tasks that a server keeps", 0, t.ls),
		t.command("get [SERVER] ID", "Show the state of a task", 1, t.get),
		t.command("wait [SERVER] ID", "Follow a task to its end, and print the result of the tool", 1, t.wait),
		t.command("cancel [SERVER] ID", "Cancel a task", 1, t.cancel),
	)
	return cmd
}

// tasking is one run of the command.
type tasking struct {
	app  *app
	talk talkFlags
	tool string
}

// command returns one of the commands of a task. It takes so many operands after the server.
func (t *tasking) command(use, short string, operands int, run func(ctx context.Context, c *connect.Connection, id string) error) *cobra.Command {
	word, _, _ := strings.Cut(use, " ")
	id := strings.Repeat(" 786512e2", operands)
	cmd := &cobra.Command{
		Use: use, Short: short,
		Example: "  mcpctl task " + word + " :3000/mcp" + id + "\n  mcpctl task " + word + " github" + id + " -o json\n  mcpctl task " + word + " -s https://api.example.com/mcp" + id,
		RunE: func(cmd *cobra.Command, args []string) error {
			server, rest, err := t.app.dial.Server(target.NewLine(cmd, args))
			switch {
			case err != nil:
				return err
			case len(rest) < operands:
				return unsent("no task given: name the id of the task")
			case len(rest) > operands:
				return unsent("unexpected operand %s", rest[operands])
			}
			if word == "wait" {
				t.app.dial.Events = true
				if err := t.talk.begin(t.app); err != nil {
					return err
				}
			}
			return t.app.dial.With(cmd.Context(), server, func(ctx context.Context, c *connect.Connection) error {
				return run(ctx, c, strings.Join(rest, ""))
			})
		},
	}
	if word == "wait" {
		t.talk.register(cmd.Flags())
		cmd.Flags().StringVar(&t.tool, "tool", "", "`name` of the tool that the task runs, for messages")
	}
	return cmd
}

// taskList is the list of tasks. Servers of revision 2025-11-25 have one.
var taskList = listing.List{Name: "tasks", Method: mcp.MethodTasksList, Member: "tasks", Capability: "tasks", ID: "taskId"}

func (t *tasking) ls(ctx context.Context, c *connect.Connection, _ string) error {
	a := t.app
	items, err := listing.Walk(ctx, a.dial, c, taskList, nil)
	if err != nil {
		return err
	}
	all := doc.NewObject()
	all.Set("tasks", doc.NewArray(items...))
	return printItems(a.console, all.AppendJSON(nil), items, func() error {
		rows := make([][]string, 0, len(items))
		for _, item := range items {
			rows = append(rows, []string{
				visible.Line(item.Get("taskId").Str()), visible.Line(item.Get("status").Str()),
				visible.Line(item.Get("createdAt").Str()), visible.Line(item.Get("statusMessage").Str()),
			})
		}
		return a.console.PrintTable(rows)
	})
}

func (t *tasking) get(ctx context.Context, c *connect.Connection, id string) error {
	return t.request(ctx, c, mcp.MethodTasksGet, id)
}

func (t *tasking) cancel(ctx context.Context, c *connect.Connection, id string) error {
	return t.request(ctx, c, mcp.MethodTasksCancel, id)
}

// request sends a request about a task and prints the state in the answer.
func (t *tasking) request(ctx context.Context, c *connect.Connection, method, id string) error {
	a := t.app
	raw, err := a.dial.Request(ctx, c, connect.Sent{Method: method, Acts: method == mcp.MethodTasksCancel}, console.Encode(map[string]string{"taskId": id}))
	if err != nil {
		return err
	}
	switch a.console.Format {
	case console.JSON:
		return a.console.PrintJSON(raw)
	case console.NDJSON, console.Raw:
		return a.console.PrintRaw(raw)
	}
	state, err := doc.Parse(raw)
	if err != nil {
		return c.Broken("the answer to %s is not valid: %v", method, err)
	}
	text := "the server has accepted it"
	if status := state.Get("status").Str(); status != "" {
		text = status
	}
	if message := state.Get("statusMessage").Str(); message != "" {
		text += ": " + message
	}
	text = id + "  " + text
	if ttl := cmp.Or(state.Get("ttl"), state.Get("ttlMs")); ttl.Kind() == doc.Number {
		text += fmt.Sprintf("  (kept for %s)", console.Typed(time.Duration(ttl.Float())*time.Millisecond))
	}
	return a.console.Print(visible.Line(text) + "\n")
}

func (t *tasking) wait(ctx context.Context, c *connect.Connection, id string) error {
	a := t.app
	task := c.ResumeTask(t.tool, id, a.dial.Times())
	var raw json.RawMessage
	err := a.dial.Record(connect.Sent{Method: mcp.MethodTasksGet, Tool: t.tool}, "waiting for task "+id, func() (err error) {
		raw, err = waitFor(ctx, task)
		return err
	})
	if err != nil {
		return err
	}
	tool := doc.NewObject()
	tool.Set("name", doc.Text(cmp.Or(t.tool, "of task "+id)))
	return a.result(c, tool, raw, "", false)
}

// startTask calls a tool as a task. Its arguments were checked before.
func startTask(ctx context.Context, d *connect.Dialer, c *connect.Connection, name string, arguments *doc.Value) (*client.Task, error) {
	return c.StartTool(ctx, name, json.RawMessage(arguments.AppendJSON(nil)), d.Times(), client.WithoutValidation())
}

// waitFor follows a task to its end, and returns the result of the tool.
func waitFor(ctx context.Context, task *client.Task) (json.RawMessage, error) {
	result, err := task.Wait(ctx)
	if err != nil {
		return nil, err
	}
	return mcp.Marshal(result)
}

// printTaskID prints the id of a task that goes on.
func printTaskID(c *console.Console, id string) error {
	if c.Format == console.Human {
		return c.Print(visible.Line(id) + "\n")
	}
	return c.PrintRaw(console.Encode(map[string]string{"taskId": id}))
}
