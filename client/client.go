package client

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/client/internal/catalog"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/era"
	"github.com/mainstay-mcp/mainstay/client/internal/inbound"
	"github.com/mainstay-mcp/mainstay/client/internal/lists"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/internal/tasks"
	"github.com/mainstay-mcp/mainstay/client/internal/watch"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Version is the version of this module. Clients report it to servers unless
// [WithClientInfo] sets another.
const Version = "0.1.0"

// Client is an open connection to one server. Its methods are safe for
// concurrent use. Close it when done.
type Client struct {
	cfg   *config
	at    string // the address of the server
	core  core.Core
	calls run.Runner

	scope      lists.Scope                // which callers may share cached results
	negotiated atomic.Pointer[Negotiated] // nil before Connect returns

	listed core.Lazy[lists.Cache]     // see lists
	tools  core.Lazy[catalog.Catalog] // see catalog

	subscriptions core.Lazy[watch.Watcher]
	tasks         core.Lazy[tasks.Follower] // see follower

	incoming core.Lazy[inbound.Inbound] // see inbound

	finding atomic.Pointer[era.Finder] // set while the first conversation is opened
	probing atomic.Bool                // set while messages of the server are dropped

	closing core.Lazy[closing]
}

// lists returns the lists and other results that the server lets the client keep.
func (c *Client) lists() *lists.Cache {
	return c.listed.Make(func() *lists.Cache {
		kept := c.cfg.cache
		if kept == nil {
			kept, _ = cache.New(c.cfg.cacheSettings(c.cfg.logger.With("server", c.core.Server))) // newConfig has checked them
		}
		return lists.New(&c.core, lists.Config{
			Scope: c.scope, Kept: kept, Declared: c.cfg.offer.Capabilities, MaxTime: c.calls.Set.Wait.Max,
		})
	})
}

// catalog returns the client's knowledge of the server's tools.
func (c *Client) catalog() *catalog.Catalog {
	return c.tools.Make(func() *catalog.Catalog {
		cfg := catalog.Config{
			Lists: c.lists(), Arguments: catalog.Check(cmp.Or(c.cfg.validation.Arguments, ValidateStrict)),
			Results:   catalog.Check(cmp.Or(c.cfg.validation.Results, ValidateWarn)),
			DropNulls: c.cfg.validation.DropNulls, Eager: !c.cfg.noPreload, Pins: c.cfg.caching.Pins, Block: c.cfg.caching.BlockDrift,
			Page: c.toolPages(), Drift: c.cfg.handlers.Event != nil,
		}
		return catalog.New(&c.core, cfg)
	})
}

// ServerInfo returns how the server identifies itself. Use it for display and
// logs only: it is unverified.
func (c *Client) ServerInfo() mcp.Implementation { return c.core.Links.Agreed().Server() }

// ProtocolVersion returns the negotiated revision.
func (c *Client) ProtocolVersion() mcp.Version { return c.core.Links.Agreed().Version }

// Negotiated returns how the client last found the era of the conversation.
func (c *Client) Negotiated() Negotiated { return *c.negotiated.Load() }

// Capabilities returns the capabilities that the server declared.
func (c *Client) Capabilities() mcp.ServerCapabilities { return c.core.Links.Agreed().Capabilities }

// Instructions returns the server's instructions for using it; untrusted.
func (c *Client) Instructions() string { return c.core.Links.Agreed().Instructions }

// InitializeResult returns the server's result of initialize, or of
// server/discover in the stateless era, unchanged.
func (c *Client) InitializeResult() json.RawMessage { return slices.Clone(c.core.Links.Agreed().Raw) }

// HasCapability reports whether the server declared a capability: "tools",
// "tools.listChanged", "resources.subscribe", "experimental.x". An empty
// object counts as declared. Before the handshake it returns false.
func (c *Client) HasCapability(name string) bool { return c.core.Links.Agreed().Capabilities.Has(name) }
