package proxy

import (
	"encoding/json"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// result returns the result of a server as a host of the other era knows it.
func (up *upstream) result(r *request, raw json.RawMessage) json.RawMessage {
	stateless := up.version.Era() == mcp.EraStateless
	if !stateless && up.server() == mcp.EraSession {
		return raw
	}
	out := []byte{'{'}
	typed, timed := false, false
	_ = jsonrpc.Members(raw, func(name, value []byte) bool { // the client has read it
		switch string(name) {
		case "resultType":
			typed = true
		case "ttlMs", "cacheScope":
			timed = true
		default:
			out = appendMember(out, name, value)
			return true
		}
		if stateless {
			out = appendMember(out, name, value)
		}
		return true
	})
	switch {
	case !stateless:
		return append(out, '}')
	case typed && up.server() == mcp.EraStateless:
		return raw
	case !typed:
		out = appendMember(out, []byte("resultType"), quoted(string(mcp.ResultComplete)))
	}
	if !timed && cacheable(r.Method) { // a session server says nothing about it
		out = appendMember(out, []byte("ttlMs"), []byte("0"))
		out = appendMember(out, []byte("cacheScope"), quoted("private"))
	}
	return append(out, '}')
}

// cacheable reports whether results of a method say how long they may be kept.
func cacheable(method string) bool {
	return strings.HasSuffix(method, "/list") || method == mcp.MethodResourcesRead || method == mcp.MethodDiscover
}
