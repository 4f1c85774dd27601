package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/object"
	"github.com/mainstay-mcp/mainstay/client/internal/progress"
	"github.com/mainstay-mcp/mainstay/client/internal/tasks"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// taskPart is what a call has to do with tasks. The zero value is nothing.
type taskPart uint8

const (
	taskAsked  taskPart = 1 << iota // the call asks to become a task (2025-11-25)
	taskMade                        // the server made it one (stateless era)
	taskHandle                      // the caller wants the task, not its end
)

// runsTasks reports whether the server takes calls of tools as tasks: only
// revision 2025-11-25 has this (TASK-01).
func runsTasks(a *link.Agreement) bool {
	has := a.Capabilities.Tasks
	return has != nil && has.Requests != nil && has.Requests.Tools != nil && has.Requests.Tools.Call != nil &&
		a.Version == mcp.Version2025_11_25
}

// offersTasks reports whether this client declares the extension in a revision.
func (c *Client) offersTasks(v mcp.Version) bool {
	return c.cfg.offer.HasExtension(v, mcp.ExtensionTasks)
}

func withoutTasks() *mcperrors.Error {
	return mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent,
		"tasks of the stateless era need the option WithTasks", nil)
}

// obeyTaskSupport makes a call of a tool that can only be run as a task one
// (TOOL-14).
func (c *Client) obeyTaskSupport(ctx context.Context, cl *call) {
	if !cl.listed {
		if tool, _, ok := c.cache().Lookup(c.cacheKey(ctx), cl.tool); ok {
			cl.knows(tool)
		}
	}
	if cl.execution != nil && cl.execution.TaskSupport == "required" {
		cl.becomeTask()
	}
}

// askTask makes a call ask to become a task, or refuses where it cannot.
func (c *Client) askTask(ctx context.Context, cl *call) error {
	agreed := c.live.Agreed()
	refuse := func(format string, args ...any) error {
		return c.about(cl.subject(), mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent, fmt.Sprintf(format, args...), nil))
	}
	switch {
	case agreed.Era == mcp.EraStateless && !c.offersTasks(agreed.Version):
		return c.about(cl.subject(), withoutTasks())
	case agreed.Era == mcp.EraStateless:
		return c.require(cl.subject(), "extensions."+mcp.ExtensionTasks) // the server decides
	case agreed.Version != mcp.Version2025_11_25:
		return refuse("revision %s has no tasks", agreed.Version)
	case !runsTasks(agreed):
		return refuse("the server does not run tools as tasks")
	}
	if !cl.listed {
		tool, err := c.cachedTool(ctx, cl.tool)
		if err != nil {
			return err
		}
		cl.knows(tool)
	}
	if cl.execution == nil || (cl.execution.TaskSupport != "optional" && cl.execution.TaskSupport != "required") {
		return refuse("the tool %s cannot be run as a task", jsonrpc.Printable(cl.tool, 100))
	}
	cl.becomeTask()
	return nil
}

// becomeTask writes the wish into the params. Once it is there, giving the call
// up is not told by a notification (UTIL-03).
func (cl *call) becomeTask() {
	cl.task |= taskAsked
	cl.uncancelled = true
	cl.open = append(cl.open, `,"task":{`...)
	if cl.opts.ttl > 0 {
		cl.open = append(cl.open, `"ttl":`...)
		cl.open = strconv.AppendInt(cl.open, max(1, cl.opts.ttl.Milliseconds()), 10)
	}
	cl.open = append(cl.open, '}')
}

// becameTask takes a result of type "task": for tools/call, once the extension
// was declared; on other methods it is invalid (TASK-07). Examples have it on
// tasks/get too (TASK-13).
func (c *Client) becameTask(cl *call) bool {
	switch {
	case cl.method == mcp.MethodTasksGet:
		return true
	case cl.method == mcp.MethodToolsCall && c.offersTasks(cl.link.Agreed.Version):
		if cl.tool != "" { // not for Client.Call, which returns what comes
			cl.task |= taskMade
		}
		return true
	}
	return false
}

// whole returns the result of a call that the server answered: of one that became
// a task once that has ended (TASK-14).
func (c *Client) whole(ctx context.Context, cl *call, raw json.RawMessage) (json.RawMessage, error) {
	if cl.task == 0 || cl.task&taskHandle != 0 {
		return raw, nil
	}
	t, err := c.taskOf(cl, nil, raw) // progress is the call's own
	if err != nil {
		return nil, err
	}
	left, bounded := c.span(cl).Left()
	if bounded {
		left = max(left, 1)
	}
	return t.task.Wait(ctx, left)
}

// taskOf makes the task of a call's result. A result without a task is a task that
// has ended. reports are those of the task until it ends, nil for none.
func (c *Client) taskOf(cl *call, reports *progress.Call, raw json.RawMessage) (*Task, error) {
	t := &Task{c: c, opts: cl.opts, output: cl.output, listed: cl.listed, progress: reports, follows: cl.progress}
	if cl.token {
		t.token = cl.id
	}
	made := cl.task&taskMade != 0
	if !made && (cl.task&taskAsked == 0 || !object.Has(raw, "task")) {
		t.task = c.follower().Answered(t.handle("", cl.tool), raw)
		if reports != nil {
			c.progressTable().Remove(reports)
		}
		return t, nil
	}
	id, state, err := tasks.ReadCreated(raw, made)
	if err != nil {
		return nil, c.undecodable(cl.subject(), err)
	}
	t.task = c.follower().Created(t.handle(id, cl.tool), state)
	return t, nil
}
