package client

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// refusalHolds reports whether what -32020, -32021 or -32022 says can be true of
// the request that it answers. A code alone proves nothing: servers hand on what
// their tools throw, and a tool may have heard it from a server of its own.
func (c *Client) refusalHolds(l *link.Link, answer transport.Answer) bool {
	if l.Agreed.Era != mcp.EraStateless {
		return false // codes of the server's own
	}
	headers := l.Traits.Exchanges
	if headers && !refusedByStatus(answer) {
		return false
	}
	switch answer.Error.Code {
	case mcp.CodeHeaderMismatch:
		return headers
	case mcp.CodeMissingRequiredClientCapability:
		return c.lacksCapability(l.Agreed.Version, answer.Error)
	case mcp.CodeUnsupportedProtocolVersion:
		return refusesVersion(l.Agreed.Version, answer.Error)
	}
	return false
}

// refusedByStatus reports whether an answer came with the status that refusals
// have over HTTP, and alone: an event stream may have had messages of a tool
// before it (HTTP-33).
func refusedByStatus(answer transport.Answer) bool {
	h := answer.HTTP
	return h != nil && h.Status == http.StatusBadRequest && !strings.Contains(strings.ToLower(h.ContentType), "text/event-stream")
}

// lacksCapability reports whether -32021 names a capability that this client did
// not state.
func (c *Client) lacksCapability(version mcp.Version, rpc *jsonrpc.Error) (lacks bool) {
	stated := c.cfg.offer.Capabilities(version)
	if e := stated.Elicitation; e != nil && e.Form == nil && e.URL == nil { // LC-13
		stated.Elicitation = &mcp.ElicitationCapability{Form: &mcp.EmptyCapability{}}
	}
	eachCapability(rpc.Data, func(path string) bool {
		lacks = !stated.Has(path)
		return !lacks
	})
	return lacks
}

// refusesVersion reports whether -32022 refuses the revision that was sent: it
// lists others only, and does not speak of another request.
func refusesVersion(sent mcp.Version, rpc *jsonrpc.Error) bool {
	var data mcp.UnsupportedVersionData
	if mcp.Unmarshal(slices.Clone(rpc.Data), &data) != nil || len(data.Supported) == 0 {
		return false
	}
	return !slices.Contains(data.Supported, string(sent)) && (data.Requested == "" || data.Requested == string(sent))
}
