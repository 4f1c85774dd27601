package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithCapabilities sets what the client offers servers, word for word and in
// every revision. The default is what the registered handlers imply in the
// revision that is spoken, which is what most programs want.
func WithCapabilities(caps mcp.ClientCapabilities) Option {
	return optionFunc(func(c *config) { c.capabilities = &caps })
}

// WithExtensions offers extensions of the stateless era, settings objects by
// extension id: "com.example/search": {}. It adds to what other options offer
// . Whether the server has one too says [Client.HasCapability] with
// "extensions." before the id.
func WithExtensions(extensions map[string]json.RawMessage) Option {
	return optionFunc(func(c *config) {
		for id, settings := range extensions {
			c.offer(id, settings)
		}
	})
}

// offer makes an extension one that the client declares.
func (c *config) offer(id string, settings json.RawMessage) {
	if c.extensions == nil {
		c.extensions = map[string]json.RawMessage{}
	}
	c.extensions[id] = settings
}

func (c *config) checkExtensions() error {
	for id, settings := range c.extensions {
		if err := mcp.CheckMetaKey(id); err != nil || !strings.Contains(id, "/") {
			return errors.Join(fmt.Errorf("extension %q: the id needs the form of com.example/name", id), err)
		}
		if _, err := jsonrpc.AppendValue(nil, settings); err != nil || firstByte(settings) != '{' {
			return errors.Join(fmt.Errorf("extension %q: the settings must be a JSON object", id), err)
		}
	}
	return nil
}

// capabilities is what the client offers in a revision: what there are handlers
// for, in the words of that revision (LC-13, DISC-10).
func (c *Client) capabilities(v mcp.Version) mcp.ClientCapabilities {
	if c.cfg.capabilities != nil {
		return *c.cfg.capabilities
	}
	var caps mcp.ClientCapabilities
	stateless := v.Era() == mcp.EraStateless
	if c.cfg.roots != nil {
		caps.Roots = &mcp.ListChangedCapability{ListChanged: !stateless} // ROOT-02
	}
	rich := v.AtLeast(mcp.Version2025_11_25)
	if c.cfg.onSampling != nil {
		caps.Sampling = &mcp.SamplingCapability{}
		if rich {
			caps.Sampling.Tools = capability(c.cfg.samplingTools)
			caps.Sampling.Context = capability(c.cfg.samplingContext)
		}
	}
	switch {
	case rich && (c.cfg.onForm != nil || c.cfg.onURL != nil):
		caps.Elicitation = &mcp.ElicitationCapability{Form: capability(c.cfg.onForm != nil), URL: capability(c.cfg.onURL != nil)}
	case v.AtLeast(mcp.Version2025_06_18) && c.cfg.onForm != nil:
		caps.Elicitation = &mcp.ElicitationCapability{} // forms are all there is
	}
	if stateless {
		caps.Extensions = maps.Clone(c.cfg.extensions)
	}
	return caps
}

func capability(offered bool) *mcp.EmptyCapability {
	if offered {
		return &mcp.EmptyCapability{}
	}
	return nil
}
