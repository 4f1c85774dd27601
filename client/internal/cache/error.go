package cache

import (
	"errors"
	"fmt"
)

// ErrUnknownTool matches every [*UnknownToolError].
var ErrUnknownTool = errors.New("unknown tool")

// UnknownToolError means that the server does not list a tool with this name. The list was just
// refreshed.
type UnknownToolError struct{ Name string }

// Error returns the fixed text for an unknown tool.
func (e *UnknownToolError) Error() string { return "Unknown tool: " + e.Name }

// Unwrap lets errors.Is find [ErrUnknownTool].
func (e *UnknownToolError) Unwrap() error { return ErrUnknownTool }

// ErrFetcherGone means that a [Fetch] failed for a reason that affects only its owner, such as a
// closed client. The Fetch returns it, wrapped or joined with that reason. The caller that passed
// the Fetch gets the error; callers that shared it continue with their own Fetch. It is also the
// error of a Fetch that calls [runtime.Goexit].
var ErrFetcherGone = errors.New("the fetch of the tool list was abandoned")

// ErrRefused means that the server refused the credentials of the caller. A
// [Fetch] or an [Ask] returns it, wrapped or joined with the error of the
// server. Until a fetch succeeds, the cache returns no stale answer instead.
var ErrRefused = errors.New("the server refused the credentials")

// ErrAbsent means that the server does not have the list at all, because it lacks the capability
// or the method. A [Fetch] or an [Ask] returns it, wrapped or joined with the error of the
// server. It is the only error that is cached: for 60 s, or until Invalidate, Changed, Forget or
// Clear.
var ErrAbsent = errors.New("the server does not have this list")

// errTooMany is the error of a list with more than maxTools tools.
var errTooMany = fmt.Errorf("the list has more than %d tools", maxTools)

// RefusedToolError means that the server lists the tool, but its schemas are
// too large to keep. Other tools of the list are not affected.
type RefusedToolError struct {
	Name string
	// Bytes is the size of the schemas. Limit is the greatest size that the cache
	// keeps.
	Bytes, Limit int
}

func (e *RefusedToolError) Error() string {
	return fmt.Sprintf("the schemas of tool %q have %d bytes, more than the %d that are kept", e.Name, e.Bytes, e.Limit)
}
