package link

import (
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Agreement is what client and server negotiated. It is immutable.
type Agreement struct {
	Version mcp.Version
	Era     mcp.Era
	// Declared is false if the server was never asked for its capabilities: then the client sends
	// requests without a check, and maps the errors.
	Declared     bool
	Capabilities mcp.ServerCapabilities
	Instructions string
	// Doubt is a note to add to errors of the server because it may be of the other era; nil for
	// none. It is a pointer to keep an idle client small.
	Doubt *string
	// Raw is the server's answer; the other fields share its memory.
	Raw json.RawMessage
	// Meta has the members of _meta that every request carries in the stateless era, without
	// braces. It is nil in the session era.
	Meta []byte
}

// Nothing is the agreement before the handshake.
var Nothing = &Agreement{}

// Server returns how the server identifies itself. It is decoded on demand and not kept.
func (a *Agreement) Server() mcp.Implementation {
	raw := slices.Clone(a.Raw) // the decoded value shares its memory
	switch a.Era {
	case mcp.EraSession:
		var res mcp.InitializeResult
		_ = mcp.Unmarshal(raw, &res) // it was decoded before
		return res.ServerInfo
	case mcp.EraStateless:
		var res mcp.DiscoverResult
		if a.Declared {
			_ = mcp.Unmarshal(raw, &res)
		}
		return res.Server()
	case mcp.EraUnknown:
	}
	return mcp.Implementation{}
}
