package run

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// MaxBuffer is the largest size of params whose memory can be reused when the call has returned:
// transports keep larger ones.
const MaxBuffer = 32 << 10

// sealRoom is the size of what Seal adds to its inputs: punctuation and a token.
const sealRoom = 96

// SetParams splits params into the object without its closing brace and without _meta, and the
// members of its _meta. Both share the memory of raw where possible. It returns an error for a
// key of _meta that the caller must not set.
func (c *Call) SetParams(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	open, meta, err := doc.Cut(raw, "_meta")
	if c.Params = open; meta == nil || err != nil {
		return err
	}
	if err := c.checkKeys(meta); err != nil {
		return outcome.InvalidArguments(err)
	}
	c.Meta, err = doc.MembersOf(meta)
	return err
}

// checkKeys returns an error for a key of _meta that the caller must not set: any that the
// protocol reserves, and in a verbatim call those that the client sets itself.
func (c *Call) checkKeys(meta json.RawMessage) (err error) {
	if !c.Verbatim {
		return mcp.CheckMeta(meta)
	}
	broken := jsonrpc.Members(meta, func(name, _ []byte) bool {
		switch key := string(name); key {
		case mcp.MetaProtocolVersion, mcp.MetaClientInfo, mcp.MetaClientCapabilities, mcp.MetaProgressToken:
			err = fmt.Errorf("_meta key %q is set by the client", key)
		case mcp.MetaLogLevel:
			c.OwnLevel = true
		}
		return err == nil
	})
	if broken != nil {
		return fmt.Errorf("_meta: %w", broken)
	}
	return err
}

// SetTarget reads the name or URI of the call from raw params, for headers and errors.
func (c *Call) SetTarget(params json.RawMessage) {
	member := "name"
	switch c.Method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
	case mcp.MethodResourcesRead:
		member = "uri"
	case mcp.MethodTasksGet, mcp.MethodTasksUpdate, mcp.MethodTasksCancel:
		member = "taskId"
	default:
		return
	}
	var value json.RawMessage
	_ = jsonrpc.Members(params, func(name, v []byte) bool { // the params were checked
		if string(name) == member {
			value = v
		}
		return value == nil
	})
	if jsonrpc.Unmarshal(value, &c.Name) == nil && c.Method == mcp.MethodToolsCall {
		c.Tool = c.Name
	}
}

// Arguments returns the arguments in the params of a tool call, nil for none.
func (c *Call) Arguments() json.RawMessage { return doc.Find(c.Params, "arguments") }

// Begin starts the next attempt of a call, over l.
func (c *Call) Begin(l *link.Link, id jsonrpc.ID) {
	c.Link, c.ID = l, id
	if c.Progress != nil {
		c.Progress.Sending(id)
	}
	if c.Follows != nil {
		c.Follows.Sending(id)
	}
}

// Seal returns the params of an attempt: the caller's params, the members of the round, and _meta
// with the members of the era, the progress token and the caller's members. They are written
// behind c.Params, in its memory if there is room, so that a small call allocates nothing for
// them.
func (c *Call) Seal() json.RawMessage {
	era := c.Link.Agreed.Meta
	if c.OwnLevel {
		era = withoutLevel(era)
	}
	hasMeta := era != nil || c.Meta != nil || c.Progress != nil || c.Token || c.Stamp != nil
	if c.Params == nil && c.Round == nil && !hasMeta {
		return nil
	}
	n := len(c.Params)
	out := c.Params
	if c.Kept {
		// A transport may still hold the params of the last attempt, even after its answer.
		out = slices.Clone(out)
	}
	if out == nil {
		out = append(out, '{')
		n = 1
	}
	out = slices.Grow(out, len(c.Round)+len(era)+len(c.Meta)+len(c.Stamp)+sealRoom)
	out = doc.AppendMembers(out, c.Round)
	if hasMeta {
		out = append(doc.AppendMembers(out, []byte(`"_meta":`)), '{')
		out = doc.AppendMembers(out, era)
		switch token := []byte(`"progressToken":`); {
		case c.Progress != nil:
			out = c.Progress.Token().AppendJSON(doc.AppendMembers(out, token))
		case c.Token:
			out = c.ID.AppendJSON(doc.AppendMembers(out, token))
		}
		out = doc.AppendMembers(out, c.Stamp)
		out = append(doc.AppendMembers(out, c.Meta), '}')
	}
	c.Params = out[:n] // keeps the capacity for the next attempt
	out = append(out, '}')
	c.Kept = len(out) > MaxBuffer
	return out
}

// withoutLevel returns members of _meta without the log level, nil for none.
func withoutLevel(members []byte) (rest []byte) {
	if members == nil {
		return nil
	}
	rest = []byte{'{'}
	_ = jsonrpc.Walk(append([]byte{'{'}, members...), func(name, value []byte) bool { // they are the client's own
		if string(name) != mcp.MetaLogLevel {
			rest = doc.AppendMembers(rest, doc.Pair(string(name), value))
		}
		return true
	})
	return rest[1:]
}

// Frame returns the next request of a call, with the next attempt number, the params of this
// attempt, and the parts that headers repeat.
func (c *Call) Frame() transport.Request {
	params := c.Seal()
	req := transport.Request{Request: jsonrpc.Request{ID: c.ID, Method: c.Method, Params: params}, Mirror: c.mirror(), Challenged: c.Challenged}
	if c.Attempts == 0 && (c.asked.IsZero() || time.Since(c.asked) < callerAge) {
		req.Caller = c.Caller
	}
	c.Attempts++
	return req
}

// callerAge limits how long a call may wait for its first request and still use the credentials
// from its start: tokens expire, and HeaderFunc never learns of a refusal.
const callerAge = 10 * time.Second

// mirror returns the parts of an attempt that headers repeat, nil for none.
func (c *Call) mirror() *transport.Mirror {
	if !c.Link.StatelessHTTP() {
		return nil
	}
	return &transport.Mirror{Version: string(c.Link.Agreed.Version), Name: c.Name, Params: c.Headers.Params}
}

// AddMeta adds members to the caller's members of _meta.
func (q *Request) AddMeta(members map[string]any) error {
	raw, err := jsonrpc.Marshal(members)
	if err != nil {
		return err
	}
	if err := mcp.CheckMeta(raw); err != nil {
		return err
	}
	q.Meta = doc.AppendMembers(append([]byte{'{'}, raw[1:len(raw)-1]...), q.Meta)[1:]
	return nil
}

// CheckMeta returns an error for duplicate members of _meta: two of the caller's, or a progress
// token if the call asks for progress.
func (q *Request) CheckMeta(progress bool) error {
	all := doc.AppendMembers([]byte{'{'}, q.Meta)
	if progress {
		all = doc.AppendMembers(all, []byte(`"`+mcp.MetaProgressToken+`":0`))
	}
	return jsonrpc.Members(append(all, '}'), func(_, _ []byte) bool { return true })
}

// HasToken reports whether the caller's members of _meta have a progress token.
func (q *Request) HasToken() (has bool) {
	if q.Meta == nil {
		return false
	}
	_ = jsonrpc.Members(append(doc.AppendMembers([]byte{'{'}, q.Meta), '}'), func(name, _ []byte) bool { // they were checked
		has = has || string(name) == mcp.MetaProgressToken
		return !has
	})
	return has
}
