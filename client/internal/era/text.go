package era

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// text describes a reply in a few words.
func (r *reply) text() string {
	switch {
	case r.means == meansDiscovered:
		return "revisions " + shortList(r.listed)
	case r.err != nil:
		return errorText(r.err)
	}
	return "a result that is not that of " + mcp.MethodDiscover
}

// initializeText describes the outcome of initialize in a few words.
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

// errorText describes an error of an attempt in a few words.
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
		out = append(out, "the program was killed ("+p.Signal+")")
	case p != nil && p.Exited:
		out = append(out, fmt.Sprintf("the program exited with status %d", p.Exit))
	case e.HTTP == nil:
		out = append(out, jsonrpc.Printable(e.Message, 100))
	}
	return strings.Join(out, ", ")
}

// revisionsIn returns the known revisions that the text of an error mentions.
func revisionsIn(rpc *jsonrpc.Error) []string {
	var out []string
	for _, v := range mcp.Versions() {
		if strings.Contains(rpc.Message, string(v)) || strings.Contains(string(rpc.Data), string(v)) {
			out = append(out, string(v))
		}
	}
	return out
}

// shortList formats the start of a server's list for people.
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
