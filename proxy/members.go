package proxy

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// appendMember appends a member to an object that is open.
func appendMember(object, name, value []byte) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = append(jsonrpc.AppendString(object, string(name)), ':')
	return append(object, value...)
}

func quoted(s string) []byte { return jsonrpc.AppendString(nil, s) }

// without returns an object without one of its members.
func without(object []byte, key string) []byte {
	out := []byte{'{'}
	_ = jsonrpc.Members(object, func(name, value []byte) bool {
		if string(name) != key {
			out = appendMember(out, name, value)
		}
		return true
	})
	return append(out, '}')
}

// marked returns the params of a notification with the subscription id in _meta that the
// host knows, instead of the one of the server. nil has no members.
func marked(params, id json.RawMessage) json.RawMessage {
	out := remeta(params, func(meta []byte) []byte {
		if id == nil {
			return meta
		}
		return appendMember(meta, []byte(mcp.MetaSubscriptionID), id)
	}, func(key string) bool { return key != mcp.MetaSubscriptionID })
	if len(out) == len(`{}`) {
		return nil
	}
	return out
}

// remeta returns params with those members of _meta that keep chooses, and what add appends.
func remeta(params json.RawMessage, add func(meta []byte) []byte, keep func(key string) bool) json.RawMessage {
	out, meta := []byte{'{'}, []byte{'{'}
	_ = jsonrpc.Members(params, func(name, value []byte) bool { // they were read before
		if string(name) != "_meta" {
			out = appendMember(out, name, value)
			return true
		}
		_ = jsonrpc.Members(value, func(name, value []byte) bool {
			if keep(string(name)) {
				meta = appendMember(meta, name, value)
			}
			return true
		})
		return true
	})
	if meta = add(meta); len(meta) > 1 {
		out = appendMember(out, []byte("_meta"), append(meta, '}'))
	}
	return append(out, '}')
}

// canonical returns a JSON value with the members of objects in order.
func canonical(raw json.RawMessage) (string, error) {
	var v any
	if err := jsonrpc.Unmarshal(raw, &v); err != nil {
		return "", err
	}
	sorted, err := json.Marshal(v)
	return string(sorted), err
}
