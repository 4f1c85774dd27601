package trial

import (
	"encoding/json"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/clientdriver"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// What a program around a client is given.
type (
	// Task is the task of one scenario.
	Task = clientdriver.Task
	// Step is a step of a task.
	Step = clientdriver.Step
	// Login is how the client should log in.
	Login = clientdriver.Login
	// Answers are the user's answers.
	Answers = clientdriver.Answers
)

// Words of a task.
const (
	Connect    = clientdriver.StepConnect
	Close      = clientdriver.StepClose
	FlowSecret = clientdriver.FlowSecret
	FlowKey    = clientdriver.FlowKey
)

// Call returns a step that calls a tool with arguments, which are JSON.
func Call(tool, arguments string) Step {
	return Step{Call: mcp.MethodToolsCall, Name: tool, Arguments: json.RawMessage(arguments)}
}

// ListTools returns a step that walks the list of tools.
func ListTools() Step { return Step{Call: mcp.MethodToolsList} }

// Within returns the step with a timeout.
func Within(d time.Duration, s Step) Step {
	s.DeadlineMs = int(d.Milliseconds())
	return s
}
