package proxy

import (
	"encoding/json"
	"strings"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// agreement implements [backend].
func (g *group) agreement(agreed mcp.Version) json.RawMessage {
	out := appendMember([]byte{'{'}, []byte("protocolVersion"), quoted(string(agreed)))
	return g.describe(appendMember(out, []byte("serverInfo"), g.serverInfo()))
}

// discover answers server/discover.
func (g *group) discover() json.RawMessage {
	versions, _ := jsonrpc.Marshal(versionNames()) // of strings
	return g.describe(appendMember([]byte{'{'}, []byte("supportedVersions"), versions))
}

// serverInfo returns the description of the proxy.
func (g *group) serverInfo() []byte {
	names := make([]string, 0, len(g.members))
	for _, m := range g.members {
		names = append(names, m.Name)
	}
	raw, _ := mcp.Marshal(&mcp.Implementation{Name: "mainstay-proxy", Title: strings.Join(names, ", "), Version: client.Version}) // of strings
	return raw
}

// describe completes an object with the capabilities and the instructions of the servers.
func (g *group) describe(out []byte) json.RawMessage {
	capabilities, instructions := []byte(`{}`), ""
	for _, m := range g.members {
		own := m.early(opening(g.version))
		if up := m.current(); up != nil {
			own = up.describe([]byte{'{'})
		}
		if own == nil { // it may come with each of these
			capabilities = union(capabilities, []byte(`{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true}}`))
			continue
		}
		_ = jsonrpc.Members(own, func(name, value []byte) bool {
			switch string(name) {
			case "capabilities":
				capabilities = union(capabilities, value)
			case "instructions":
				var text string
				if jsonrpc.Unmarshal(value, &text) == nil && text != "" {
					instructions += "# " + m.Name + " (its names begin with " + m.prefix + separator + ")\n\n" + strings.TrimSpace(text) + "\n\n"
				}
			}
			return true
		})
	}
	// Lists change when servers come, whatever they declare.
	var methods []string
	_ = jsonrpc.Members(capabilities, func(name, _ []byte) bool {
		if method := "notifications/" + string(name) + "/list_changed"; listCapabilities[method] != "" {
			methods = append(methods, method)
			capabilities = union(capabilities, []byte(`{"`+string(name)+`":{"listChanged":true}}`))
		}
		return true
	})
	g.mu.Lock()
	g.lists = methods
	g.mu.Unlock()
	out = appendMember(out, []byte("capabilities"), capabilities)
	if instructions != "" {
		out = appendMember(out, []byte("instructions"), quoted(strings.TrimSpace(instructions)))
	}
	return append(out, '}')
}

// union returns an object with the members of two. Of a member that both have, objects are
// united and true comes before false; else it is that of a.
func union(a, b []byte) []byte {
	out := []byte{'{'}
	there := map[string]bool{}
	others := map[string][]byte{}
	_ = jsonrpc.Members(b, func(name, value []byte) bool {
		others[string(name)] = value
		return true
	})
	_ = jsonrpc.Members(a, func(name, value []byte) bool {
		there[string(name)] = true
		switch other := others[string(name)]; {
		case other == nil:
		case value[0] == '{' && other[0] == '{':
			value = union(value, other)
		case string(other) == "true":
			value = other
		}
		out = appendMember(out, name, value)
		return true
	})
	_ = jsonrpc.Members(b, func(name, value []byte) bool {
		if !there[string(name)] {
			out = appendMember(out, name, value)
		}
		return true
	})
	return append(out, '}')
}

// finish returns a result of the group itself as the host's era has it.
func (g *group) finish(r *request, result json.RawMessage) json.RawMessage {
	if g.version.Era() != mcp.EraStateless {
		return result
	}
	out, meta, timed := []byte{'{'}, []byte(`{}`), false
	_ = jsonrpc.Members(result, func(name, value []byte) bool { // the group has made it
		if string(name) == "_meta" {
			meta = value
			return true
		}
		timed = timed || string(name) == "ttlMs"
		out = appendMember(out, name, value)
		return true
	})
	out = appendMember(out, []byte("resultType"), quoted(string(mcp.ResultComplete)))
	if !timed && cacheable(r.Method) {
		out = withHints(out, 0, false)
	}
	return append(appendMember(out, []byte("_meta"), with(meta, mcp.MetaServerInfo, g.serverInfo())), '}')
}
