package mcp

import "encoding/json"

// DiscoverResult describes a server of the stateless era (schema
// DiscoverResult, since 2026-07-28). The parameters of the request are
// [RequestParams].
type DiscoverResult struct {
	// SupportedVersions are revisions in any order, known or not. Choose one with
	// [Newest].
	SupportedVersions []string
	Capabilities      ServerCapabilities
	// Instructions tell a model how to use the server.
	Instructions string
	// ServerInfo is a top-level member of older drafts, for display only; the
	// revision puts it in _meta. [DiscoverResult.Server] reads both.
	ServerInfo *Implementation
	ResultType ResultType
	TTLMs      *int64
	CacheScope CacheScope
	Meta       json.RawMessage
	Extra      Members
	zero       presence
}

func (v *DiscoverResult) fields(c *codec) {
	c.open(&v.Extra, &v.zero)
	strs(c, "supportedVersions", required, &v.SupportedVersions)
	val(c, "capabilities", written, &v.Capabilities)
	str(c, "instructions", optional, &v.Instructions)
	ptr(c, "serverInfo", &v.ServerInfo)
	str(c, "resultType", optional, &v.ResultType)
	c.lifetime(&v.TTLMs)
	c.scope(&v.CacheScope)
	c.raw("_meta", &v.Meta)
}

// Server returns how the server identifies itself: the _meta member, else the
// top-level one of older drafts, else a zero value. An unreadable one counts as
// absent, because nothing depends on it.
func (v *DiscoverResult) Server() Implementation {
	if raw, ok := MetaValue(v.Meta, MetaServerInfo); ok {
		var info Implementation
		if decodeCopy(raw, &info) == nil {
			return info
		}
	}
	if v.ServerInfo != nil {
		return *v.ServerInfo
	}
	return Implementation{}
}
