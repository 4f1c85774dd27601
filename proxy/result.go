package proxy

import (
	"encoding/json"

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
	meta := []byte(`{}`)
	_ = jsonrpc.Members(raw, func(name, value []byte) bool { // the client has read it
		switch string(name) {
		case "resultType":
			typed = true
		case "ttlMs", "cacheScope":
			timed = true
		case "_meta":
			meta = value
			return true
		default:
			out = appendMember(out, name, value)
			return true
		}
		if stateless {
			out = appendMember(out, name, value)
		}
		return true
	})
	named := up.named(meta)
	switch {
	case stateless && typed && len(named) == len(meta) && up.server() == mcp.EraStateless:
		return raw // nothing is missing
	case !stateless:
		if meta = without(meta, mcp.MetaServerInfo); len(meta) > len(`{}`) {
			out = appendMember(out, []byte("_meta"), meta)
		}
		return append(out, '}')
	case !typed:
		out = appendMember(out, []byte("resultType"), quoted(string(mcp.ResultComplete)))
	}
	if !timed && cacheable(r.Method) { // a session server says nothing about it
		out = appendMember(out, []byte("ttlMs"), []byte("0"))
		out = appendMember(out, []byte("cacheScope"), quoted("private"))
	}
	return append(appendMember(out, []byte("_meta"), named), '}')
}

// named returns _meta with the server's name, which each result of the stateless era should
// have.
func (up *upstream) named(meta []byte) []byte {
	out, there := []byte{'{'}, false
	_ = jsonrpc.Members(meta, func(name, value []byte) bool {
		there = there || string(name) == mcp.MetaServerInfo
		out = appendMember(out, name, value)
		return true
	})
	info := up.client.ServerInfo()
	raw, err := mcp.Marshal(&info)
	if there || info.Name == "" || err != nil {
		return meta
	}
	return append(appendMember(out, []byte(mcp.MetaServerInfo), raw), '}')
}
