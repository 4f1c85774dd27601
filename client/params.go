package client

import (
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/internal/object"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// openParams takes params apart: the object without its closing brace and
// without _meta, and the members of its _meta. Both share the memory of raw
// where they can. The keys of _meta must be the caller's to set (META-01 to
// META-03).
func openParams(raw json.RawMessage) (open, meta []byte, err error) {
	if len(raw) == 0 {
		return nil, nil, nil
	}
	open, value, err := object.Cut(raw, "_meta")
	if value == nil || err != nil {
		return open, nil, err
	}
	if err := mcp.CheckMeta(value); err != nil {
		return nil, nil, badOption(err)
	}
	meta, err = object.Members(value)
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
	out = object.Append(out, cl.round)
	if hasMeta {
		out = append(object.Append(out, []byte(`"_meta":`)), '{')
		out = object.Append(out, era)
		switch token := []byte(`"progressToken":`); {
		case cl.progress != nil:
			out = cl.progress.Token().AppendJSON(object.Append(out, token))
		case cl.token:
			out = cl.id.AppendJSON(object.Append(out, token))
		}
		out = object.Append(out, cl.stamp)
		out = append(object.Append(out, cl.meta), '}')
	}
	cl.open = out[:n] // keeps the room for the next attempt
	out = append(out, '}')
	cl.kept = len(out) > maxParamBuffer
	return out
}

// frame makes the next request of a call: under a new number, with the params of
// this attempt and what headers repeat of them.
func (cl *call) frame() transport.Request {
	params := cl.seal()
	cl.attempts++
	return transport.Request{
		Request: jsonrpc.Request{ID: cl.id, Method: cl.method, Params: params}, Mirror: cl.mirror(),
	}
}

// tailRoom is about what seal adds to the params of a call that answers nothing:
// _meta with the capabilities of this client.
const tailRoom = 1 << 10

// sealRoom is what seal adds besides what it is given: punctuation and a token.
const sealRoom = 96

// mirror is what headers repeat of an attempt, nil where none do.
func (cl *call) mirror() *transport.Mirror {
	if !cl.link.StatelessHTTP() {
		return nil
	}
	return &transport.Mirror{Version: string(cl.link.Agreed.Version), Name: cl.name, Params: cl.mirrored}
}
