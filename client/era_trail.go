package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// EraAttempt is one request that was made to open the conversation.
type EraAttempt struct {
	// Method is server/discover, initialize, or GET for the stream of an
	// HTTP+SSE server.
	Method string
	// Version is the revision that was asked for, "" where none is.
	Version mcp.Version
	// Reply is what came of it, in a few words.
	Reply string
	// Took is how long that took.
	Took time.Duration
}

// EraError is the cause of an error of Connect that more than one request led
// to: all that was tried, and how each ended. Its own cause is that of the
// error.
type EraError struct {
	Tried []EraAttempt
	Err   error
}

func (e *EraError) Error() string { return "tried " + trail(e.Tried) }

// Unwrap returns the cause.
func (e *EraError) Unwrap() error { return e.Err }

func (n *negotiation) note(method string, version mcp.Version, reply string, took time.Duration) {
	n.chosen.Tried = append(n.chosen.Tried, EraAttempt{Method: method, Version: version, Reply: reply, Took: took})
}

// explain adds what was tried to an error, where that is more than the error
// says itself.
func (n *negotiation) explain(err error) error {
	var e *mcperrors.Error
	if len(n.chosen.Tried) < 2 || !errors.As(err, &e) {
		return err
	}
	cause := &EraError{Tried: n.chosen.Tried, Err: e.Cause}
	e.Cause = cause
	e.Message += "; " + cause.Error()
	return e
}

func (e EraChosen) trail() string { return trail(e.Tried) }

// trail is a list of attempts for people.
func trail(tried []EraAttempt) string {
	out := make([]string, len(tried))
	for i, a := range tried {
		out[i] = a.Method
		if a.Version != "" {
			out[i] += " " + string(a.Version)
		}
		out[i] += " → " + a.Reply
	}
	return strings.Join(out, ", ")
}

// text is a reply in a few words.
func (r *reply) text() string {
	switch {
	case r.says == saysDiscovered:
		return fmt.Sprintf("revisions %s", shortList(r.listed))
	case r.err != nil:
		return errorText(r.err)
	}
	return "a result that is not that of " + mcp.MethodDiscover
}

func initializeText(raw json.RawMessage, err error) string {
	if err != nil {
		return errorText(err)
	}
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if jsonrpc.Unmarshal(raw, &result) != nil || result.ProtocolVersion == "" {
		return "a result without a revision"
	}
	return "revision " + jsonrpc.Printable(result.ProtocolVersion, 40)
}

// errorText is an error of an attempt in a few words.
func errorText(err error) string {
	var e *mcperrors.Error
	if !errors.As(err, &e) {
		return jsonrpc.Printable(err.Error(), 100)
	}
	var out []string
	if e.HTTP != nil {
		out = append(out, fmt.Sprintf("status %d", e.HTTP.Status))
	}
	switch p := e.Process; {
	case e.RPC != nil:
		out = append(out, fmt.Sprintf("error %d %q", e.RPC.Code, jsonrpc.Printable(e.RPC.Message, 80)))
	case p != nil && p.Exited && p.Signal != "":
		out = append(out, "the program was ended by the signal "+p.Signal)
	case p != nil && p.Exited:
		out = append(out, fmt.Sprintf("the program ended with status %d", p.Exit))
	case e.HTTP == nil:
		out = append(out, jsonrpc.Printable(e.Message, 100))
	}
	return strings.Join(out, ", ")
}

// revisionsIn returns what has the form of a revision in the words of an error
// (DISC-17).
func revisionsIn(rpc *jsonrpc.Error) []string {
	var out []string
	for _, v := range mcp.Versions() {
		if strings.Contains(rpc.Message, string(v)) || strings.Contains(string(rpc.Data), string(v)) {
			out = append(out, string(v))
		}
	}
	return out
}

// shortList is a list of a server for people, who need not see all of it.
func shortList(listed []string) string {
	const shown = 10
	cut := min(len(listed), shown)
	out := make([]string, cut)
	for i, v := range listed[:cut] {
		out[i] = jsonrpc.Printable(v, 40)
	}
	text := "[" + strings.Join(out, " ") + "]"
	if len(listed) > shown {
		text += fmt.Sprintf(" and %d more", len(listed)-shown)
	}
	return text
}
