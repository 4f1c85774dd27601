package toolcache

import "errors"

// ErrUnknownTool is matched by every [*UnknownToolError].
var ErrUnknownTool = errors.New("unknown tool")

// UnknownToolError says that the server lists no tool of this name, and was
// asked a moment ago.
type UnknownToolError struct{ Name string }

// Error returns the text of AC-004.4.
func (e *UnknownToolError) Error() string { return "Unknown tool: " + e.Name }

// Unwrap lets errors.Is find [ErrUnknownTool].
func (e *UnknownToolError) Unwrap() error { return ErrUnknownTool }

// errAbandoned is what waiters get when a fetch ended its goroutine.
var errAbandoned = errors.New("the fetch of the tool list was abandoned")
