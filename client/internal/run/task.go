package run

import (
	"strconv"
	"time"
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
// notification from then on (UTIL-03).
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
