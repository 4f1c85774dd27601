package run

import (
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TaskPart is what a call has to do with tasks. The zero value is nothing.
type TaskPart uint8

// The parts.
const (
	TaskAsked  TaskPart = 1 << iota // the call asks to become a task (2025-11-25)
	TaskMade                        // the server made it one (stateless era)
	TaskHandle                      // the caller wants the task, not its end
)

// AskForTask writes the wish for a task into the params. The server keeps the task
// for ttl, or as long as it likes if that is 0. Giving the call up sends no
// notification from then on.
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

// becomeTask takes a result of type "task": for tools/call, once the extension was
// declared; on other methods it is invalid. Examples have it on tasks/get too.
func (c *Call) becomeTask(offer *ask.Offer) bool {
	switch {
	case c.Method == mcp.MethodTasksGet:
		return true
	case c.Method == mcp.MethodToolsCall && offer.HasExtension(c.Link.Agreed.Version, mcp.ExtensionTasks):
		if c.Tool != "" { // not for Client.Call, which returns what comes
			c.Task |= TaskMade
		}
		return true
	}
	return false
}
