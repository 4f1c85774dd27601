// Package agent runs the agents that answer a chat: the command-line program of
// a vendor, or a scripted one that needs nothing. Both speak stream-json, one
// JSON object a line, and both reach save_artifact by the mcp-config alone
// (tools.md §6.3, §6.4).
package agent

import (
	"context"
	"encoding/json"
)

// A Task is one turn of an agent.
type Task struct {
	// System is the system prompt; it may be empty. It carries the token.
	System string
	// Content is what the user wrote.
	Content string
}

// A Runner runs agents. Run calls event for every line the agent writes, in
// order, and returns when the agent has ended. It is safe for concurrent use.
type Runner interface {
	Run(ctx context.Context, t Task, event func(line json.RawMessage)) error
}

// Variable is the environment variable that holds the bearer token of the
// server for the agent's mcp-config; only servers that ask for one need it.
const Variable = "MAINSTAY_MCP_TOKEN"
