package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// WithCache keeps the description and the lists of the server in a store, usually a
// [toolcache.FileStore], beyond the life of the process. At the next start, the host gets them at
// once, while the server is started behind; everything else waits for the server. When it is
// there, its own answers replace those of the store, and the host learns which lists changed.
//
// identity names the server and the credentials with which it is reached, such as a URL and the
// name of an account. Hosts that differ in it, in revision or in declared capabilities have
// entries of their own. Never put a token into it. Of several [Servers], each has its own, which
// is [Named].Identity, and identity is not used. By default nothing is kept.
func WithCache(store toolcache.Store, identity string) Option {
	return func(s *settings) { s.cache, s.identity = store, identity }
}

const (
	// cacheFormat is part of the keys: entries of another version are not found.
	cacheFormat = "mainstay proxy 1"
	// cachedPage is the cursor after a first page from the cache: cursors of the server do not
	// outlive it.
	cachedPage = "mainstay.cached"
	// storeTime bounds each use of the store.
	storeTime = time.Second
)

// cached is what the server answered earlier, at this or at the last start.
type cached struct {
	store    toolcache.Store // nil without cache
	key      string
	compared chan struct{} // closed when changed is set; nil without cache

	mu       sync.Mutex
	answers  map[string]json.RawMessage // of the store, by method; nil before it was read
	early    map[string]json.RawMessage // that the host got before the server was there
	promised mcp.ServerCapabilities     // in them
	over     bool                       // the server is there, nothing is answered early
	changed  mcp.SubscriptionFilter     // lists that differ from those in early

	kept   map[string][sha256.Size]byte // digests of what was kept last, by method
	unkept map[string]json.RawMessage   // to be kept, nil to be forgotten
	saving bool                         // a goroutine keeps it
}

func (c *cached) init(side *hostSide, identity string) error {
	set := side.host.settings
	if set.cache == nil {
		return nil
	}
	declared, err := canonical(side.raw)
	if err != nil {
		return invalidParams("capabilities", err)
	}
	if set.share {
		declared = "shared" // none are declared to the server
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{cacheFormat, identity, string(side.version), declared}, "\x00")))
	c.store, c.key, c.compared = set.cache, hex.EncodeToString(sum[:]), make(chan struct{})
	c.early, c.kept, c.unkept = map[string]json.RawMessage{}, map[string][sha256.Size]byte{}, map[string]json.RawMessage{}
	return nil
}

// cachedLists are the lists that are kept, and what tells that they changed.
var cachedLists = map[string]string{
	mcp.MethodToolsList: mcp.MethodToolsListChanged, mcp.MethodPromptsList: mcp.MethodPromptsListChanged,
	mcp.MethodResourcesList: mcp.MethodResourcesListChanged, mcp.MethodResourceTemplatesList: mcp.MethodResourcesListChanged,
}

// isKept reports whether the answer to a request is kept: of lists, the first page.
func isKept(r *request) bool {
	switch r.Method {
	case mcp.MethodInitialize, mcp.MethodDiscover:
		return true
	}
	return cachedLists[r.Method] != "" && memberOf(r.Params, "cursor") == nil
}

// memberOf returns a member of an object, nil if it is missing or null.
func memberOf(object json.RawMessage, key string) (found json.RawMessage) {
	if object == nil {
		return nil
	}
	_ = jsonrpc.Members(object, func(name, value []byte) bool {
		if string(name) == key && string(value) != "null" {
			found = value
		}
		return found == nil
	})
	return found
}

// early answers a request from the cache while the server is not there, and starts to connect to
// it. It returns nil if the request has to wait.
func (up *upstream) early(r *request) json.RawMessage {
	c := &up.cached
	if c.store == nil || up.isConnected() || !isKept(r) {
		return nil
	}
	c.mu.Lock()
	answers := c.answers
	c.mu.Unlock()
	if answers == nil {
		answers = c.read(up.ctx)
	}
	answer := answers[r.Method]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || answer == nil {
		return nil
	}
	c.answers = answers
	c.early[r.Method] = answer
	if cachedLists[r.Method] == "" {
		_ = mcp.Unmarshal(memberOf(answer, "capabilities"), &c.promised) // it was read from the server
	}
	up.connect(nil)
	return answer
}

// gone reports whether the host got a description from the cache that has a capability, and the
// server no longer has it.
func (up *upstream) gone(capability string) bool {
	c := &up.cached
	if c.store == nil || capability == "" || up.client.HasCapability(capability) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.promised.Has(capability)
}

// catchUp compares what the host got from the cache with the answers of the server, now that it
// is there.
func (up *upstream) catchUp(ctx context.Context) {
	c := &up.cached
	if c.store == nil {
		return
	}
	c.mu.Lock()
	c.over, c.answers = true, nil
	early, promised := c.early, c.promised
	c.early = nil
	c.mu.Unlock()
	if early[mcp.MethodInitialize] != nil {
		up.watchLists()
	}
	var changed mcp.SubscriptionFilter
	for method, old := range early {
		if !up.refreshed(ctx, method, old) {
			continue
		}
		switch cachedLists[method] {
		case mcp.MethodToolsListChanged:
			changed.ToolsListChanged = true
		case mcp.MethodPromptsListChanged:
			changed.PromptsListChanged = true
		case mcp.MethodResourcesListChanged:
			changed.ResourcesListChanged = true
		}
	}
	c.mu.Lock()
	c.changed = changed
	c.mu.Unlock()
	close(c.compared)
	if up.version.Era() == mcp.EraStateless {
		return // the host's subscriptions tell
	}
	up.announce(ctx, up.host.line, nil, mcp.SubscriptionFilter{
		ToolsListChanged: promised.Has("tools.listChanged"), PromptsListChanged: promised.Has("prompts.listChanged"),
		ResourcesListChanged: promised.Has("resources.listChanged"),
	})
}

// announce tells the host which of the lists that it wants to hear of are not those that it got
// from the cache.
func (up *upstream) announce(ctx context.Context, on line, id json.RawMessage, wanted mcp.SubscriptionFilter) {
	c := &up.cached
	c.mu.Lock()
	changed := c.changed
	c.mu.Unlock()
	changed.ToolsListChanged = changed.ToolsListChanged && wanted.ToolsListChanged
	changed.PromptsListChanged = changed.PromptsListChanged && wanted.PromptsListChanged
	changed.ResourcesListChanged = changed.ResourcesListChanged && wanted.ResourcesListChanged
	if !nothing(changed) {
		up.changed(on, id, changed)(ctx, client.Change{Gap: true})
	}
}

// refreshed asks the server for what the cache had, and reports whether the answer is another one.
func (up *upstream) refreshed(ctx context.Context, method string, old json.RawMessage) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r := &request{Request: jsonrpc.Request{Method: method}, version: up.version}
	var answer json.RawMessage
	var err error
	switch method {
	case mcp.MethodInitialize:
		answer = up.agreement(up.version)
	case mcp.MethodDiscover:
		answer, err = up.discover(ctx, r)
	default:
		answer, err = up.pass(ctx, r)
	}
	var own *mcperrors.Error
	switch {
	case err == nil && method != mcp.MethodInitialize:
		answer = up.result(r, answer)
	case errors.As(err, &own) && own.Kind == mcperrors.KindUnsupported:
		up.keep(r, nil)
		return true
	case err != nil:
		up.host.log.Warn("[MCP] a list from the cache could not be compared with that of the server", "method", method, "error", err)
		return false
	}
	up.keep(r, answer)
	before, _ := canonical(without(old, "_meta")) // they are JSON
	after, _ := canonical(without(up.stale(answer), "_meta"))
	return before != after
}

// stale returns an answer as it is kept: not fresh, for this host alone, and without a cursor of
// the server.
func (up *upstream) stale(answer json.RawMessage) json.RawMessage {
	out := []byte{'{'}
	_ = jsonrpc.Members(answer, func(name, value []byte) bool { // it was made here
		switch string(name) {
		case "ttlMs":
			value = []byte("0")
		case "cacheScope":
			value = quoted("private")
		case "nextCursor":
			if string(value) != "null" {
				value = quoted(cachedPage)
			}
		}
		out = appendMember(out, name, value)
		return true
	})
	return append(out, '}')
}

// list answers a list. A host that got the first page from the cache goes on with the second one
// of the server.
func (up *upstream) list(ctx context.Context, r *request) (json.RawMessage, error) {
	if string(memberOf(r.Params, "cursor")) != string(quoted(cachedPage)) {
		return up.pass(ctx, r)
	}
	own := *r
	own.Params = without(r.Params, "cursor")
	first, err := up.pass(ctx, &own)
	if err != nil {
		return nil, err
	}
	if next := memberOf(first, "nextCursor"); next != nil {
		own.Params = append(appendMember(own.Params[:len(own.Params)-1], []byte("cursor"), next), '}')
		return up.pass(ctx, &own)
	}
	out := []byte{'{'} // the list has become shorter
	_ = jsonrpc.Members(first, func(name, value []byte) bool {
		if value[0] == '[' {
			value = []byte("[]")
		}
		out = appendMember(out, name, value)
		return true
	})
	return append(out, '}'), nil
}

// keep puts an answer into the store, if it is one that is kept, in the background. nil removes
// the one that is there.
func (up *upstream) keep(r *request, answer json.RawMessage) {
	c := &up.cached
	if c.store == nil || !isKept(r) {
		return
	}
	if answer != nil {
		answer = up.stale(answer)
	}
	sum := sha256.Sum256(answer)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[r.Method] == sum {
		return
	}
	c.kept[r.Method], c.unkept[r.Method] = sum, answer
	if !c.saving {
		c.saving = true
		up.host.work.Go(func() { up.save() })
	}
}

// save puts into the store what is to be kept, with what is there already.
func (up *upstream) save() {
	c := &up.cached
	for {
		c.mu.Lock()
		unkept := c.unkept
		c.unkept = map[string]json.RawMessage{}
		c.saving = len(unkept) > 0
		c.mu.Unlock()
		if len(unkept) == 0 {
			return
		}
		answers := c.read(up.ctx)
		for method, answer := range unkept {
			if answers[method] = answer; answer == nil {
				delete(answers, method)
			}
		}
		if err := c.write(up.ctx, answers); err != nil {
			up.host.log.Debug("[MCP] the cache of the proxy cannot be written", "error", err)
		}
	}
}

// read returns the answers in the store, none if they cannot be used.
func (c *cached) read(ctx context.Context) map[string]json.RawMessage {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime) // also when the host is gone
	defer cancel()
	answers := map[string]json.RawMessage{}
	if entry, err := c.store.Load(ctx, c.key); err != nil || jsonrpc.Unmarshal(entry.List, &answers) != nil {
		return map[string]json.RawMessage{}
	}
	return answers
}

func (c *cached) write(ctx context.Context, answers map[string]json.RawMessage) error {
	raw, err := jsonrpc.Marshal(answers)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime) // also when the host is gone
	defer cancel()
	sum := sha256.Sum256(raw)
	return c.store.Save(ctx, c.key, toolcache.Entry{List: raw, Hash: hex.EncodeToString(sum[:]), At: time.Now()})
}
