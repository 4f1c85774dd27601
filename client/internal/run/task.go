package run

import (
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TaskPart is how a call uses tasks. The zero value means not at all.
type TaskPart uint8

// The bits of TaskPart.
const (
	TaskAsked  TaskPart = 1 << iota // the call asks to run as a task (2025-11-25)
	TaskMade                        // the server runs the call as a task (stateless era)
	TaskHandle                      // the caller wants the task, not its result
)

// AskForTask adds a request for a task to the params. The server keeps the task for ttl, or as
// long as it chooses if ttl is 0. From then on, abandoning the call sends no notification.
func (c *Call) AskForTask(ttl time.Duration) {
	c.Task |= TaskAsked
	c.Uncancelled = true
	c.Params = append(c.Params, `,"task":{`...)
	if ttl > 0 {
		c.Params = append(c.Params, `"ttl":`...)
		c.Params = strconv.AppendInt(c.Params, max(1, ttl.Milliseconds()), 10)
	}
	c.Params = append(c.Params, '}')
}

// acceptTask accepts a result of type "task": for tools/call, if the extension was declared, and
// for tasks/get, whose examples have it. For other methods it is invalid.
func (c *Call) acceptTask(offer *ask.Offer) bool {
	switch {
	case c.Method == mcp.MethodTasksGet:
		return true
	case c.Method == mcp.MethodToolsCall && offer.HasExtension(c.Link.Agreed.Version, mcp.ExtensionTasks):
		if c.Tool != "" { // Client.Call returns the task result itself
			c.Task |= TaskMade
		}
		return true
	}
	return false
}
