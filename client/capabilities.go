package client

import (
	"github.com/mainstay-mcp/mainstay/client/internal/era"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithCapabilities adds to the capabilities that the client declares. Each member of caps
// that is set replaces the one that the client would declare otherwise, which is what its
// handlers support in the negotiated revision. Settings of Experimental and Extensions add to
// each other. caps is declared in every revision.
//
// Most programs need it only for experimental features and extensions:
//
//	client.WithCapabilities(mcp.ClientCapabilities{
//		Extensions: map[string]json.RawMessage{"com.example/search": json.RawMessage(`{}`)},
//	})
//
// To see whether the server supports an extension, call HasCapability("extensions." + id).
func WithCapabilities(caps mcp.ClientCapabilities) Option {
	return optionFunc(func(c *config) { c.offer.Declare(caps) })
}

// identity returns how the client identifies itself.
func (c *config) identity() era.Identity {
	return era.Identity{Info: c.info, Nameless: c.nameless, Capabilities: c.offer.Capabilities}
}
