package link

import (
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Agreement is what client and server know of each other once the conversation
// is open. It is immutable.
type Agreement struct {
	Version mcp.Version
	Era     mcp.Era
	// Declared is false when the server was never asked for its capabilities:
	// nothing is gated then, and errors are mapped.
	Declared     bool
	Capabilities mcp.ServerCapabilities
	Instructions string
	// Doubt is what to add to errors of the server because it may be of another era, nil
	// for nothing. It is a pointer because an idle client has an agreement.
	Doubt *string
	// Raw is the server's answer; the other fields share its memory.
	Raw json.RawMessage
	// Meta is what _meta of every request holds in the stateless era: members,
	// without braces. nil in the session era.
	Meta []byte
}

// Nothing is the agreement before there is one.
var Nothing = &Agreement{}

// Server returns what the server calls itself. It is decoded on demand and not
// kept.
func (a *Agreement) Server() mcp.Implementation {
	raw := slices.Clone(a.Raw) // what is decoded shares its memory
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
