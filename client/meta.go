package client

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/object"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithMeta adds a member to the _meta of what one call sends, on all its
// attempts. Keys have the form the protocol gives them, name or
// example.com/name, and those the protocol reserves are refused, but for the
// trace keys, whose values must be W3C's. A call with
// members of its own is not answered from the cache.
func WithMeta(key string, value any) CallOption {
	return callOptionFunc(func(o *callOptions) {
		if o.meta == nil {
			o.meta = map[string]any{}
		}
		o.meta[key] = value
	})
}

// addMeta adds the members that options set to those in the params.
func (q *request) addMeta() error {
	raw, err := jsonrpc.Marshal(q.opts.meta)
	if err != nil {
		return badOption(err)
	}
	if err := mcp.CheckMeta(raw); err != nil {
		return badOption(err)
	}
	q.meta = object.Append(append([]byte{'{'}, raw[1:len(raw)-1]...), q.meta)[1:]
	return nil
}

// checkMeta refuses members of _meta that are there twice: among the caller's,
// or the token that [WithProgress] brings.
func (q *request) checkMeta() error {
	all := object.Append([]byte{'{'}, q.meta)
	if q.opts.progress != nil {
		all = object.Append(all, []byte(`"`+mcp.MetaProgressToken+`":0`))
	}
	if err := jsonrpc.Members(append(all, '}'), func(_, _ []byte) bool { return true }); err != nil {
		return badOption(err)
	}
	return nil
}

// checkedMeta is what send does for a call with members of _meta.
func (q *request) checkedMeta() error {
	if q.opts.meta != nil {
		if err := q.addMeta(); err != nil {
			return err
		}
		q.opts.meta = nil // once
	}
	return q.checkMeta()
}

// hasToken reports whether the caller's members of _meta ask for progress.
func (q *request) hasToken() (has bool) {
	if q.meta == nil {
		return false
	}
	_ = jsonrpc.Members(append(object.Append([]byte{'{'}, q.meta), '}'), func(name, _ []byte) bool { // they were checked
		has = has || string(name) == mcp.MetaProgressToken
		return !has
	})
	return has
}

// metaOf returns the _meta of params, nil for none.
func metaOf(params json.RawMessage) (meta json.RawMessage) {
	_ = jsonrpc.Members(params, func(name, value []byte) bool { // they were checked
		if string(name) == "_meta" {
			meta = value
		}
		return meta == nil
	})
	return meta
}
