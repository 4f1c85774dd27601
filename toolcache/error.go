package toolcache

import (
	"errors"
	"fmt"
)

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

// ErrRefused is what a [Fetch] or an [Ask] returns, wrapped or joined with what
// happened, when the server refused the caller's credentials: nothing that is
// kept stands in for the answer, now or later, until a fetch has succeeded.
var ErrRefused = errors.New("the server refused the credentials")

// ErrAbsent is what a [Fetch] or an [Ask] returns, wrapped or joined with what
// happened, when the server does not have what was asked for at all: no tools
// capability, no such method. It is the one error that is remembered, for 60 s
// or until [Cache.Invalidate], [Cache.Changed], [Cache.Forget] or [Cache.Clear].
var ErrAbsent = errors.New("the server does not have this list")

// errTooMany is the error of a list beyond maxTools.
var errTooMany = fmt.Errorf("the list has more than %d tools", maxTools)

// RefusedToolError says that the server lists the tool, and that its definition
// is not kept because its schemas are too large. The tools beside it are.
type RefusedToolError struct {
	Name string
	// Bytes is the size of its schemas, Limit how much is kept.
	Bytes, Limit int
}

func (e *RefusedToolError) Error() string {
	return fmt.Sprintf("the schemas of tool %q have %d bytes, more than the %d that are kept", e.Name, e.Bytes, e.Limit)
}
