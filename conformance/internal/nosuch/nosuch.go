// Package nosuch has names that no server has.
package nosuch

import (
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Names no server has.
const (
	Method = "com.example.mainstay/no-such-method"
	Tool   = "mainstay-no-such-tool"
)

// Version is a revision nobody ever published.
const Version mcp.Version = "1999-01-01"

// Task is an id that no server gives.
const Task = "mainstay-no-such-task"
