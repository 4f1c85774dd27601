package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mainstay-mcp/mainstay/client/internal/inbound"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/internal/tasks"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// runsTasks reports whether the server takes calls of tools as tasks: only
// revision 2025-11-25 has this.
func runsTasks(a *link.Agreement) bool {
	has := a.Capabilities.Tasks
	return has != nil && has.Requests != nil && has.Requests.Tools != nil && has.Requests.Tools.Call != nil &&
		a.Version == mcp.Version2025_11_25
}

func withoutTasks() *mcperrors.Error {
	return mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent,
		"tasks of the stateless era need the option WithTasks", nil)
}

// obeyTaskSupport makes the call ask for a task if the tool runs only as a task.
func (c *Client) obeyTaskSupport(ctx context.Context, cl *call) {
	if !cl.Known.Listed {
		tools := cl.Tools(ctx, c.catalog())
		cl.Known = tools.Last(cl.Tool)
	}
	if cl.Known.TaskSupport() == "required" {
		cl.AskForTask(cl.opts.ttl)
	}
}

// askTask makes the call ask for a task. It returns an error if the server or the tool does
// not support tasks.
func (c *Client) askTask(ctx context.Context, cl *call) error {
	agreed := c.core.Links.Agreed()
	refuse := func(format string, args ...any) error {
		return c.core.About(cl.Subject(), mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent, fmt.Sprintf(format, args...), nil))
	}
	switch {
	case agreed.Era == mcp.EraStateless && !c.cfg.offer.HasExtension(agreed.Version, mcp.ExtensionTasks):
		return c.core.About(cl.Subject(), withoutTasks())
	case agreed.Era == mcp.EraStateless:
		return c.core.Refusal(cl.Subject(), link.CheckDeclared(agreed, "extensions."+mcp.ExtensionTasks)) // the server decides
	case agreed.Version != mcp.Version2025_11_25:
		return refuse("revision %s has no tasks", agreed.Version)
	case !runsTasks(agreed):
		return refuse("the server does not run tools as tasks")
	}
	if !cl.Known.Listed {
		var err error
		tools := cl.Tools(ctx, c.catalog())
		if cl.Known, err = tools.Current(ctx, cl.Tool); err != nil {
			return err
		}
	}
	if support := cl.Known.TaskSupport(); support != "optional" && support != "required" {
		return refuse("the tool %s cannot be run as a task", jsonrpc.Printable(cl.Tool, 100))
	}
	cl.AskForTask(cl.opts.ttl)
	return nil
}

// taskOf returns the task of a call's result. A result without a task becomes a task that
// has ended. reports gets the progress of the task until it ends; nil for none.
func (c *Client) taskOf(cl *run.Call, reports *inbound.Progress, raw json.RawMessage) (*Task, error) {
	t := &Task{c: c, opts: cl.Options, known: cl.Known, progress: reports, follows: cl.Progress}
	if cl.Token {
		t.token = cl.ID
	}
	made := cl.Task&run.TaskMade != 0
	if !made && (cl.Task&run.TaskAsked == 0 || doc.Find(raw, "task") == nil) {
		t.task = c.follower().Answered(t.handle("", cl.Tool), raw)
		if reports != nil {
			c.inbound().Progress().Remove(reports)
		}
		return t, nil
	}
	id, state, err := tasks.ReadCreated(raw, made)
	if err != nil {
		return nil, c.core.Undecodable(cl.Subject(), err)
	}
	t.task = c.follower().Created(t.handle(id, cl.Tool), state)
	return t, nil
}
