package front

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// A Backend is the server behind the front: what it serves, and what it is
// asked besides MCP. Its methods are called from many goroutines.
type Backend interface {
	// Versions are the revisions that are served.
	Versions() []string
	// Serves reports whether method exists in the era. A request for any other
	// is answered by the front, a notification of any other is dropped by it.
	Serves(era Era, method string) bool
	// Session returns the revision of an HTTP session, and whether there is
	// such a session.
	Session(id string) (version string, ok bool)
	// Forget says that an HTTP session has been ended by its client.
	Forget(id string)
	// Open reserves the place of a new HTTP session for a client at address. The
	// key of the place goes to the handler of initialize, see [SlotOf]; done says
	// that the request has been answered. ok is false when there is no room.
	Open(address string) (key string, done func(), ok bool)
	// Enter marks an HTTP session as in use until leave is called. An unused
	// session may be ended at any time.
	Enter(id string) (leave func())
	// IsDirect reports whether method is a tool that may be called as a method of its own,
	// without a handshake.
	IsDirect(method string) bool
	// Direct runs such a call. Exactly one of the results is set.
	Direct(ctx context.Context, c *Call) (json.RawMessage, *jsonrpc.Error)
	// Admit asks the rate limit about a call; nil is no limit. It is called
	// once a call, in the order of arrival.
	Admit(ctx context.Context, c *Call) *family.Quota
}

// A Call is a call of a tool as it arrived, by `tools/call` or as a method of
// its own.
type Call struct {
	Tool      string
	Arguments json.RawMessage
	Origin    family.Origin
	// Quota is what Admit said.
	Quota *family.Quota
}

// maxAgent bounds the name a caller gives itself: limits are kept by it.
const maxAgent = 128

// newCall returns the call that m is, or nil when m calls no tool. The caller
// fills in the rest of the origin before asking [Call.named].
func newCall(m *message, direct bool) *Call {
	if m.kind != kindRequest || !direct && m.method != "tools/call" {
		return nil
	}
	params := m.open()
	c := &Call{Tool: m.method, Arguments: m.params}
	c.Origin.Direct = direct
	c.Origin.Meta = params["_meta"]
	if !direct {
		c.Arguments = params["arguments"]
		_ = json.Unmarshal(params["name"], &c.Tool) // go-sdk answers a name that is none
		return c
	}
	if c.Origin.Meta != nil { // it speaks about the call and is no argument of it
		rest := make(map[string]json.RawMessage, len(params))
		for name, value := range params {
			if name != "_meta" {
				rest[name] = value
			}
		}
		c.Arguments, _ = json.Marshal(rest) // it came from JSON
	}
	return c
}

// named sets the caller: `_meta.agentName`, else the first of others that is not empty.
func (c *Call) named(others ...string) {
	var meta struct {
		AgentName string `json:"agentName"`
	}
	if json.Unmarshal(c.Origin.Meta, &meta) == nil {
		others = append([]string{meta.AgentName}, others...)
	}
	for _, name := range others {
		if name != "" && len(name) <= maxAgent {
			c.Origin.Agent = name
			return
		}
	}
}

// ticketHeader carries a [Ticket] from the front to the handler of a tool: the
// header is all that go-sdk hands through for every transport. It exists inside
// the process only; the HTTP front drops one that a client sent.
const ticketHeader = "X-Mainstay-Ticket"

// slotHeader carries the key of the place of a new session in the same way.
const slotHeader = "X-Mainstay-Slot"

// SlotOf returns the key of the place that was reserved for the session that a
// request opens, or "".
func SlotOf(header http.Header) string { return header.Get(slotHeader) }

// A Ticket is what the front found out about a `tools/call`.
type Ticket struct {
	Origin family.Origin
	Quota  *family.Quota
}

// ticketKey in the `_meta` of a call names its ticket: the calls of a batch share their
// header.
const ticketKey = "mainstay/ticket"

// TicketOf returns the ticket of a call that came through the front, from its
// header and its `_meta`.
func TicketOf(header http.Header, meta map[string]any) (t Ticket, ok bool) {
	all := header[ticketHeader]
	if len(all) == 0 {
		return t, false
	}
	text := all[0]
	if i, ok := meta[ticketKey].(float64); ok && i >= 0 && int(i) < len(all) {
		text = all[int(i)]
	}
	ok = json.Unmarshal([]byte(text), &t) == nil
	if string(t.Origin.Meta) == "null" {
		t.Origin.Meta = nil // there was none
	}
	return t, ok
}

func (c *Call) ticket() string {
	b, err := json.Marshal(Ticket{Origin: c.Origin, Quota: c.Quota})
	if err != nil { // all of it is strings, numbers and JSON
		return ""
	}
	return string(b)
}
