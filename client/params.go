package client

import (
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// unclosed returns an object without its closing brace, nil for none. It shares
// the memory of the object.
func unclosed(object json.RawMessage) []byte {
	for i := len(object) - 1; i >= 0; i-- {
		if object[i] == '}' {
			return object[:i:i]
		}
	}
	return nil
}

// openParams takes params apart: the object without its closing brace and
// without _meta, and the members of its _meta. Both share the memory of raw
// where they can. The keys of _meta must be the caller's to set (META-01 to
// META-03).
func openParams(raw json.RawMessage) (open, meta []byte, err error) {
	var value json.RawMessage
	if err := jsonrpc.Members(raw, func(name, v []byte) bool {
		if string(name) == "_meta" {
			value = v
		}
		return value == nil
	}); len(raw) > 0 && err != nil {
		return nil, nil, err
	}
	if value == nil {
		return unclosed(raw), nil, nil
	}
	if err := mcp.CheckMeta(value); err != nil {
		return nil, nil, badOption(err)
	}
	open = []byte{'{'}
	err = jsonrpc.Members(raw, func(name, v []byte) bool {
		if string(name) != "_meta" {
			if len(open) > 1 {
				open = append(open, ',')
			}
			open = append(jsonrpc.AppendString(open, string(name)), ':')
			open = append(open, v...)
		}
		return true
	})
	err2 := jsonrpc.Members(value, func(name, v []byte) bool {
		if len(meta) > 0 {
			meta = append(meta, ',')
		}
		meta = append(jsonrpc.AppendString(meta, string(name)), ':')
		meta = append(meta, v...)
		return true
	})
	if err == nil {
		err = err2
	}
	return open, meta, err
}

// seal returns the params of an attempt: the caller's, what the round adds, and
// _meta with what the era asks for (META-04), the progress token and the
// caller's keys. They are written behind cl.open, in its memory where there is
// room, so that a small call allocates nothing for them.
func (cl *call) seal() json.RawMessage {
	era := cl.link.Agreed.Meta
	hasMeta := era != nil || cl.meta != nil || cl.progress != nil || cl.token || cl.stamp != nil
	if cl.open == nil && cl.round == nil && !hasMeta {
		return nil
	}
	n := len(cl.open)
	out := cl.open
	if cl.kept {
		// The last attempt's may still be on their way, whatever was answered.
		out = slices.Clone(out)
	}
	if out == nil {
		out = append(out, '{')
		n = 1
	}
	out = slices.Grow(out, len(cl.round)+len(era)+len(cl.meta)+len(cl.stamp)+sealRoom)
	out = member(out, cl.round)
	if hasMeta {
		out = append(member(out, []byte(`"_meta":`)), '{')
		out = member(out, era)
		switch token := []byte(`"progressToken":`); {
		case cl.progress != nil:
			out = cl.progress.token.AppendJSON(member(out, token))
		case cl.token:
			out = cl.id.AppendJSON(member(out, token))
		}
		out = member(out, cl.stamp)
		out = append(member(out, cl.meta), '}')
	}
	cl.open = out[:n] // keeps the room for the next attempt
	out = append(out, '}')
	cl.kept = len(out) > maxParamBuffer
	return out
}

// tailRoom is about what seal adds to the params of a call that answers nothing:
// _meta with the capabilities of this client.
const tailRoom = 1 << 10

// sealRoom is what seal adds besides what it is given: punctuation and a token.
const sealRoom = 96

// member appends members to an object that is open, with a comma if others
// stand before them.
func member(object, members []byte) []byte {
	if len(members) == 0 {
		return object
	}
	if object[len(object)-1] != '{' {
		object = append(object, ',')
	}
	return append(object, members...)
}

// mirror is what headers repeat of an attempt, nil where none do.
func (cl *call) mirror() *transport.Mirror {
	if !cl.link.StatelessHTTP() {
		return nil
	}
	return &transport.Mirror{Version: string(cl.link.Agreed.Version), Name: cl.name, Params: cl.mirrored}
}
