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

// ErrFetcherGone is what a [Fetch] returns, wrapped or joined with what happened,
// when it failed for a reason that is its owner's alone, such as a client that
// was closed: it says nothing about the server. The caller who brought that Fetch
// gets the error; callers who only shared it go on with their own. It is also the
// error of a Fetch that ended its goroutine.
var ErrFetcherGone = errors.New("the fetch of the tool list was abandoned")
