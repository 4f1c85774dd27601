package client

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// WithMeta adds a member to the _meta of all requests of one call. Keys have
// the protocol's form, name or example.com/name. Reserved keys are rejected,
// except the trace keys, whose values must be valid W3C trace context. A call
// with members of its own is not answered from the cache.
func WithMeta(key string, value any) CallOption {
	return callOptionFunc(func(o *callOptions) {
		if o.meta == nil {
			o.meta = map[string]any{}
		}
		o.meta[key] = value
	})
}

// metaOf returns the _meta of params, nil for none.
func metaOf(params json.RawMessage) (meta json.RawMessage) {
	_ = jsonrpc.Members(params, func(name, value []byte) bool { // the params are valid JSON
		if string(name) == "_meta" {
			meta = value
		}
		return meta == nil
	})
	return meta
}
