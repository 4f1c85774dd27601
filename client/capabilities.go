package client

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/era"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithCapabilities replaces what the client declares to servers, word for word and
// in every revision. The default is what the registered handlers imply in the
// revision that is spoken, which is what most programs want.
func WithCapabilities(caps mcp.ClientCapabilities) Option {
	return optionFunc(func(c *config) { c.offer.Declared = &caps })
}

// WithExtensions declares extensions of the stateless era, settings objects by
// extension id: "com.example/search": {}. It adds to what other options declare.
// To see whether the server supports an extension, call
// HasCapability("extensions." + id).
func WithExtensions(extensions map[string]json.RawMessage) Option {
	return optionFunc(func(c *config) {
		for id, settings := range extensions {
			c.offer.Extend(id, settings)
		}
	})
}

// requestMeta encodes what every request of a stateless revision says of this
// client: once, since it does not change.
func (c *Client) requestMeta(version mcp.Version) ([]byte, error) {
	var info *mcp.Implementation
	if !c.cfg.nameless {
		info = &c.cfg.info
	}
	return era.Meta(version, c.cfg.offer.Capabilities(version), info, c.stampedLevel())
}
