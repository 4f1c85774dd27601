package client

import (
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/internal/era"
	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// ProbeStep is one request that was sent to open the conversation.
//
//	Method  string        // server/discover, initialize, or GET for the stream of HTTP+SSE
//	Version mcp.Version   // the requested revision, "" for none
//	Reply   string        // the outcome in a few words
//	Took    time.Duration // how long the request took
type ProbeStep = event.ProbeStep

// EraError is the cause of an error of Connect after more than one request:
// what was tried, and how each request ended. It unwraps to the cause of the
// error.
type EraError struct {
	Tried []ProbeStep
	Err   error
}

func (e *EraError) Error() string { return "tried " + stepsText(e.Tried) }

// Unwrap returns the cause.
func (e *EraError) Unwrap() error { return e.Err }

// stepsText returns steps as text for people.
func stepsText(tried []ProbeStep) string {
	out := make([]string, len(tried))
	for i, s := range tried {
		out[i] = s.Method
		if s.Version != "" {
			out[i] += " " + string(s.Version)
		}
		out[i] += " → " + s.Reply
	}
	return strings.Join(out, ", ")
}

// VersionError reports that server and client share no revision, or that the
// server does not speak the pinned one. It is the cause of an error of kind
// version.
type VersionError struct {
	// Requested is the revision the client asked for. Offered is the one the
	// server returned from initialize. Supported are those the client accepts.
	Requested, Offered mcp.Version
	Supported          []mcp.Version
	// Listed are the revisions that the server reports when it rejects one
	// without offering another. Offered is "" then.
	Listed []string
}

func (e *VersionError) Error() string {
	if e.Offered == "" {
		return fmt.Sprintf("no revision that both sides speak: the server speaks [%s], this client accepts %v",
			jsonrpc.Printable(strings.Join(e.Listed, " "), 200), e.Supported)
	}
	return fmt.Sprintf("the server answered with revision %q; this client accepts %v",
		jsonrpc.Printable(string(e.Offered), 40), e.Supported)
}

// Mismatch implements [era.Client].
func (*callSupport) Mismatch(m era.Mismatch) error {
	e := VersionError(m)
	return &e
}
