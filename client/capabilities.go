package client

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/era"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithCapabilities replaces the capabilities that the client declares, exactly
// as given and in every revision. By default the client declares what its
// handlers support in the negotiated revision, which suits most programs.
func WithCapabilities(caps mcp.ClientCapabilities) Option {
	return optionFunc(func(c *config) { c.offer.Declared = &caps })
}

// WithExtensions declares extensions of the stateless era as settings objects
// by extension id, for example "com.example/search": {}. It adds to what other
// options declare. To see whether the server supports an extension, call
// HasCapability("extensions." + id).
func WithExtensions(extensions map[string]json.RawMessage) Option {
	return optionFunc(func(c *config) {
		for id, settings := range extensions {
			c.offer.Extend(id, settings)
		}
	})
}

// identity is what the client says of itself.
func (c *config) identity() era.Identity {
	return era.Identity{Info: c.info, Nameless: c.nameless, Capabilities: c.offer.Capabilities}
}
