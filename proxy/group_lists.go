package proxy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// listed are the member of a result that has the entries, and that of an entry that names it.
var listed = map[string]struct{ entries, key string }{
	mcp.MethodToolsList:             {"tools", "name"},
	mcp.MethodPromptsList:           {"prompts", "name"},
	mcp.MethodResourcesList:         {"resources", "uri"},
	mcp.MethodResourceTemplatesList: {"resourceTemplates", "uriTemplate"},
	mcp.MethodTasksList:             {"tasks", "taskId"},
}

// page is a page of one server's list.
type page struct {
	up      *upstream // nil if the server has no page, or it is from the cache
	entries []json.RawMessage
	next    *string
	ttl     float64
	public  bool // caches may share it
	kept    bool // it is from the cache
	err     error
}

// list answers a list: with the first page of each server, then with the next page of those
// that have more.
func (g *group) list(ctx context.Context, r *request) (json.RawMessage, error) {
	cursor, err := cursorOf(r)
	if err != nil {
		return nil, err
	}
	var from places
	if cursor != nil {
		if from = g.cursors.get(r.Method, *cursor); from == nil {
			return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: this cursor is not valid any more; list again from the beginning", nil)
		}
	}
	g.settle(ctx, r.Method)
	pages := make([]page, len(g.members))
	g.each(func(i int, m *member) { pages[i] = m.page(ctx, r, from) })
	entries := []byte{'['}
	var next places
	ttl, public, complete := -1.0, true, true
	for i, m := range g.members {
		p := &pages[i]
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if p.err != nil {
			var rpc *jsonrpc.Error
			if cursor != nil && errors.As(p.err, &rpc) {
				return nil, p.err // its cursor is not valid any more
			}
			if !errors.Is(p.err, errMissing) {
				m.warn(r.Method+" failed", p.err)
			}
		}
		complete = complete && p.err == nil
		if p.up == nil && !p.kept {
			continue
		}
		for _, entry := range p.entries {
			if entry = g.entry(m, r.Method, entry); entry != nil {
				if len(entries) > 1 {
					entries = append(entries, ',')
				}
				entries = append(entries, entry...)
			}
		}
		if p.next != nil {
			if next == nil {
				next = places{}
			}
			next[m] = place{p.up, *p.next}
		}
		if public = public && p.public; ttl < 0 || p.ttl < ttl {
			ttl = p.ttl
		}
	}
	out := appendMember([]byte{'{'}, []byte(listed[r.Method].entries), append(entries, ']'))
	if next != nil {
		out = appendMember(out, []byte("nextCursor"), quoted(g.cursors.put(r.Method, next)))
	}
	if g.version.Era() == mcp.EraStateless && complete && ttl > 0 {
		out = withHints(out, ttl, public)
	}
	return append(out, '}'), nil
}

func withHints(out []byte, ttl float64, public bool) []byte {
	raw, _ := jsonrpc.Marshal(ttl) // a number
	scope := "private"
	if public {
		scope = "public"
	}
	return appendMember(appendMember(out, []byte("ttlMs"), raw), []byte("cacheScope"), quoted(scope))
}

// cursorOf returns the cursor of a request, nil for none.
func cursorOf(r *request) (*string, error) {
	var params struct {
		Cursor *string `json:"cursor"`
	}
	if r.Params == nil {
		return nil, nil
	}
	if err := jsonrpc.Unmarshal(r.Params, &params); err != nil {
		return nil, invalidParams("cursor", err)
	}
	return params.Cursor, nil
}

var errMissing = errors.New("the server is not connected")

// page returns a page of the server: the first one, or that of its place in from.
func (m *member) page(ctx context.Context, r *request, from places) (p page) {
	if from == nil {
		if raw := m.listedEarly(r.Method); raw != nil {
			p.kept = true
			p.read(r.Method, raw)
			p.next = nil // m.missed says that there is more
			return p
		}
	}
	up := m.listed()
	at, more := from[m]
	info, _ := mcp.LookupMethod(r.Method, m.group.version)
	switch {
	case up == nil && from == nil:
		return page{err: errMissing}
	case from != nil && !more, up == nil, !up.client.HasCapability(info.Capability):
		return page{}
	case more && at.up != up: // the server has been connected to again
		return page{err: jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: this cursor is not valid any more; list again from the beginning", nil)}
	}
	own := *r
	own.token = jsonrpc.ID{} // several servers would report progress of the same
	if own.Params != nil {
		own.Params = without(own.Params, "cursor")
	}
	if more {
		own.Params = with(own.Params, "cursor", quoted(at.cursor))
	} else {
		m.catalog.begin(r.Method)
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	raw, err := up.once(ctx, &own) // the host gets the others' lists at once
	if err != nil {
		if !isRefusal(err) {
			m.fail()
		}
		return page{err: err}
	}
	p.up = up
	p.read(r.Method, raw)
	return p
}

// read reads a page from the result of a server.
func (p *page) read(method string, raw json.RawMessage) {
	_ = jsonrpc.Members(raw, func(name, value []byte) bool { // the client has read it
		var fault error
		switch string(name) {
		case listed[method].entries:
			fault = jsonrpc.Unmarshal(value, &p.entries)
		case "nextCursor":
			fault = jsonrpc.Unmarshal(value, &p.next)
		case "ttlMs":
			fault = jsonrpc.Unmarshal(value, &p.ttl)
		case "cacheScope":
			p.public = string(value) == `"public"`
		}
		p.err = errors.Join(p.err, fault)
		return true
	})
}

// entry returns an entry of a list as the host gets it, nil if an earlier server has the same.
func (g *group) entry(m *member, method string, raw json.RawMessage) json.RawMessage {
	key, name := listed[method].key, ""
	_ = jsonrpc.Members(raw, func(member, value []byte) bool { // an entry without a name stays as it is
		if string(member) == key {
			_ = jsonrpc.Unmarshal(value, &name)
		}
		return name == ""
	})
	switch {
	case name == "":
		return raw
	case key == "name":
		public := m.public(name)
		if isChanged(public) {
			m.catalog.name(kindOf(method), public, name)
		}
		return with(raw, key, quoted(public))
	case key == "taskId":
		g.remember(name, m)
		return raw
	}
	m.catalog.list(method, name)
	for _, other := range g.members {
		if other == m {
			break
		}
		if other.catalog.lists(method, name) {
			if m.catalog.report(name) {
				g.host.log.Warn("[MCP] two servers have the same resource: that of the first one is used", "uri", jsonrpc.Printable(name, 200), "first", other.Name, "other", m.Name)
			}
			return nil
		}
	}
	return raw
}

// with returns an object with another value of a member, which it need not have.
func with(object []byte, key string, value []byte) []byte {
	out, there := []byte{'{'}, false
	_ = jsonrpc.Members(object, func(name, old []byte) bool {
		if string(name) == key {
			there, old = true, value
		}
		out = appendMember(out, name, old)
		return true
	})
	if !there {
		out = appendMember(out, []byte(key), value)
	}
	return append(out, '}')
}

// place is where the list of a server goes on.
type place struct {
	up     *upstream // that has given the cursor
	cursor string
}

type places map[*member]place

// cursors are those that hosts have been given.
type cursors struct {
	mu    sync.Mutex
	all   map[string]places // by method and cursor
	order []string          // the oldest first
}

// maxCursors bounds the cursors of a group. The oldest are forgotten.
const maxCursors = 256

// put returns a cursor for places.
func (c *cursors) put(method string, at places) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]places{}
	}
	if len(c.order) == maxCursors {
		delete(c.all, c.order[0])
		c.order = slices.Delete(c.order, 0, 1)
	}
	cursor := rand.Text()
	c.all[method+" "+cursor] = at
	c.order = append(c.order, method+" "+cursor)
	return cursor
}

// get returns the places of a cursor, nil if it is not known.
func (c *cursors) get(method, cursor string) places {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[method+" "+cursor]
}
