package server

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/server/front"
)

// The revisions, oldest first. The last one is of the stateless era.
const (
	version20241105 = "2024-11-05"
	version20250326 = "2025-03-26"
	version20250618 = "2025-06-18" // the first with structuredContent
	version20251125 = "2025-11-25"
	version20260728 = "2026-07-28"
)

// versions returns the revisions that are served, newest first.
func versions() []string {
	return []string{version20260728, version20251125, version20250618, version20250326, version20241105}
}

// negotiated returns the revision that a client which asked for version by
// `initialize` gets: its own, if there are sessions in it, else the newest that
// has them.
func negotiated(version string) string {
	if front.EraOf(version) == front.EraSession && slices.Contains(versions(), version) {
		return version
	}
	return version20251125
}

// stateless reports whether req is of the stateless era. Its session then knows
// the revision from the request itself; `server/discover` comes before that.
func stateless(req mcp.Request) bool {
	session, ok := req.GetSession().(*mcp.ServerSession)
	if !ok {
		return false
	}
	if _, discover := req.(*mcp.ServerRequest[*mcp.DiscoverParams]); discover {
		return true
	}
	p := session.InitializeParams()
	return p != nil && front.EraOf(p.ProtocolVersion) == front.EraStateless
}
