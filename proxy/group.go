package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Named is one of several servers.
type Named struct {
	// Name is the server's name, for example its key in an mcp.json file.
	Name   string
	Target Target
	// Identity is that of the server in the cache; see [WithCache]. If it is empty, nothing is kept.
	Identity string
}

// Servers puts several servers behind one proxy, in this order.
//
// Names of tools and prompts get a prefix, as in name__tool. The prefix is the server's name, in
// which other characters than letters, digits, _ and - become _. If a name is then longer than
// 64 characters or has other characters, which APIs of models refuse, it is changed and gets a
// short digest at its end. Resources keep their URIs: if two servers list the same one, it is
// that of the first.
//
// A server that cannot be reached fails only its own calls. Until it is reached, it has in the
// lists what the cache has of it, or is missing.
func Servers(all ...Named) Server {
	s := make(servers, len(all))
	used := map[string]bool{}
	for i, named := range all {
		s[i] = source{Named: named, prefix: unique(prefixOf(named.Name), used)}
	}
	return s
}

// servers are what [Servers] returns.
type servers []source

// source is a server and the prefix of its names.
type source struct {
	Named
	prefix string
	shared *common // nil for a server of each host
}

// startWait is how long a host waits for servers that are being connected to, or are slow to
// list what they have, before it gets an answer without them.
const startWait = 10 * time.Second

// group is several servers as one host uses them.
type group struct {
	*hostSide
	members  []*member // in the order given
	byPrefix map[string]*member
	// ctx ends with the group, and so does work.
	ctx  context.Context
	end  context.CancelFunc
	work sync.WaitGroup
	// late is closed when the host waits no longer for servers that were never reached.
	late    chan struct{}
	waiting *time.Timer
	cursors cursors

	mu         sync.Mutex
	level      *request // the last logging/setLevel, nil before it
	lists      []string // notifications that the host expects, by what initialize declared
	subscribed map[string]*member
	tasks      map[string]*member // that have created a task, by its id
}

var _ backend = (*group)(nil)

// open implements [Server].
func (s servers) open(side *hostSide) (backend, error) {
	g := &group{
		hostSide: side, byPrefix: map[string]*member{}, late: make(chan struct{}),
		subscribed: map[string]*member{}, tasks: map[string]*member{},
	}
	g.ctx, g.end = context.WithCancel(side.host.ctx)
	g.waiting = time.AfterFunc(startWait, func() { close(g.late) })
	for _, from := range s {
		m := newMember(g, from)
		g.members = append(g.members, m)
		g.byPrefix[from.prefix] = m
	}
	g.inherit(side.before)
	for _, m := range g.members {
		g.work.Go(m.run)
		g.work.Go(m.deliver)
	}
	return g, nil
}

// early implements [backend]: each server has answers of its own.
func (g *group) early(*request) json.RawMessage { return nil }

// keep implements [backend].
func (g *group) keep(*request, json.RawMessage) {}

// connected implements [backend] for initialize: a host of the session era waits for its servers
// there.
func (g *group) connected(ctx context.Context) error {
	g.settle(ctx, mcp.MethodInitialize)
	return nil
}

// waitsFor implements [backend].
func (g *group) waitsFor() string { return "waiting for the servers to answer" }

// close implements [backend].
func (g *group) close() {
	g.end()
	g.waiting.Stop()
	g.work.Wait()
}

// attributes implements [backend].
func (g *group) attributes() bool {
	for _, m := range g.members {
		if up := m.current(); up == nil || !up.attributes() {
			return false
		}
	}
	return true
}

// idle implements [backend].
func (g *group) idle() bool {
	for _, m := range g.members {
		if up := m.current(); up != nil && !up.idle() {
			return false
		}
	}
	return true
}

// watchLists implements [backend]: members watch their own lists from the beginning.
func (g *group) watchLists() {}

// settle waits until each server is connected or has failed to, or the cache has its answer to a
// method, at most until g.late.
func (g *group) settle(ctx context.Context, method string) {
	for _, m := range g.members {
		if m.early(method) != nil {
			continue
		}
		select {
		case <-m.tried:
		case <-g.late:
		case <-ctx.Done():
		}
	}
}

// changed tells a session host that lists may have changed. Listening hosts of the stateless era
// learn it from [group.follow].
func (g *group) changed() {
	if g.version.Era() == mcp.EraStateless {
		return
	}
	select {
	case <-g.ready:
	default:
		return // the host has seen no list yet
	}
	g.mu.Lock()
	methods := g.lists
	g.mu.Unlock()
	for _, method := range methods {
		g.host.tell(g.host.line, jsonrpc.Notification{Method: method})
	}
}

// serve implements [backend].
func (g *group) serve(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error) {
	var result json.RawMessage
	var err error
	switch r.Method {
	case mcp.MethodDiscover:
		g.settle(ctx, r.Method)
		result = g.discover()
	case mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodTasksList:
		result, err = g.list(ctx, r)
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		return g.named(ctx, r)
	case mcp.MethodCompletionComplete:
		return g.complete(ctx, r)
	case mcp.MethodResourcesRead:
		return g.first(ctx, r, g.having(r.uri), always)
	case mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		return g.subscription(ctx, r)
	case mcp.MethodSubscriptionsListen:
		result, err = g.listen(ctx, r)
	case mcp.MethodLoggingSetLevel:
		result, err = g.setLevel(ctx, r)
	case mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksCancel, mcp.MethodTasksUpdate:
		return g.first(ctx, r, g.working(taskOf(r)), always)
	default: // one that knows it
		return g.first(ctx, r, g.members, unknownMethod)
	}
	if err != nil {
		return failure(r, g.version.Era(), err)
	}
	return g.finish(r, result), nil
}

// named answers a request with the server whose prefix the name has.
func (g *group) named(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error) {
	if r.name == "" {
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: name is missing", nil)
	}
	m, fault := g.owner(r.name)
	if fault != nil {
		return nil, fault
	}
	up, err := m.use(ctx, true)
	if err != nil {
		return failure(r, mcp.EraUnknown, err)
	}
	own := *r
	own.name = m.original(ctx, up, kindOf(r.Method), r.name)
	own.Params = with(r.Params, "name", quoted(own.name))
	result, fault := up.serve(ctx, &own)
	g.created(m, result)
	return result, fault
}

// owner returns the server whose prefix a name has.
func (g *group) owner(name string) (*member, *jsonrpc.Error) {
	prefix, _, _ := strings.Cut(name, separator)
	if m := g.byPrefix[prefix]; m != nil {
		return m, nil
	}
	prefixes := make([]string, 0, len(g.members))
	for _, m := range g.members {
		prefixes = append(prefixes, m.prefix+separator)
	}
	return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams,
		"Unknown name: "+jsonrpc.Printable(name, 100)+" begins with the name of no server; they are "+strings.Join(prefixes, ", "), nil)
}

// complete answers completion/complete for a prompt, which has a prefix, or a resource.
func (g *group) complete(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error) {
	var params struct {
		Ref json.RawMessage `json:"ref"`
	}
	var ref struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	_ = jsonrpc.Unmarshal(r.Params, &params) // without a ref no server knows what is meant
	_ = jsonrpc.Unmarshal(params.Ref, &ref)
	if ref.Name == "" {
		return g.first(ctx, r, g.having(ref.URI), always)
	}
	m, fault := g.owner(ref.Name)
	if fault != nil {
		return nil, fault
	}
	up, err := m.use(ctx, true)
	if err != nil {
		return failure(r, mcp.EraUnknown, err)
	}
	own := *r
	own.Params = with(r.Params, "ref", with(params.Ref, "name", quoted(m.original(ctx, up, kindPrompts, ref.Name))))
	return up.serve(ctx, &own)
}

// first makes a request to one server after the other, until one answers, or next says that no
// other is to be asked after an error. Those that are not connected come last.
func (g *group) first(ctx context.Context, r *request, members []*member, next func(error) bool) (json.RawMessage, *jsonrpc.Error) {
	capability := ""
	if info, ok := mcp.LookupMethod(r.Method, g.version); ok {
		capability = info.Capability
	}
	var refusal *jsonrpc.Error // of the first that refused it
	var lost error             // of the first that could not be asked
	for _, m := range connectedFirst(members) {
		alone := len(members) == 1 // no other server may have it
		up, err := m.use(ctx, alone)
		era := mcp.EraUnknown
		if err == nil {
			if capability != "" && !up.client.HasCapability(capability) {
				continue
			}
			ask := up.once
			if alone {
				ask = up.answer
			}
			var result json.RawMessage
			if result, err = ask(ctx, r); err == nil {
				g.learn(m, r)
				return result, nil
			}
			era = up.server()
		}
		switch {
		case ctx.Err() != nil || !next(err):
			return failure(r, era, err)
		case !isRefusal(err):
			if lost == nil {
				lost = err
			}
		case refusal == nil:
			_, refusal = failure(r, era, err)
		}
	}
	switch {
	case lost != nil: // it may be the one that has it
		return failure(r, mcp.EraUnknown, lost)
	case refusal != nil:
		return nil, refusal
	}
	return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: no server supports "+jsonrpc.Printable(r.Method, 100), nil)
}

// isRefusal reports whether a server, or the client for it, has answered with an error.
func isRefusal(err error) bool {
	var rpc *jsonrpc.Error
	kind := mcperrors.KindOf(err)
	return errors.As(err, &rpc) || kind == mcperrors.KindUnsupported || kind == mcperrors.KindInvalidArguments
}

// always asks the other servers too: for requests that do no harm.
func always(error) bool { return true }

// unknownMethod asks the other servers if one does not know the method, or did not get it.
func unknownMethod(err error) bool {
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		return rpc.Code == jsonrpc.CodeMethodNotFound
	}
	delivery := mcperrors.DeliveryOf(err)
	return delivery == mcperrors.NotSent || delivery == mcperrors.Rejected
}

// subscription answers resources/subscribe and resources/unsubscribe.
func (g *group) subscription(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error) {
	members := g.having(r.uri)
	if r.Method == mcp.MethodResourcesUnsubscribe {
		g.mu.Lock()
		if m := g.subscribed[r.uri]; m != nil {
			members = []*member{m}
		}
		delete(g.subscribed, r.uri)
		g.mu.Unlock()
	}
	return g.first(ctx, r, members, always)
}

// setLevel answers logging/setLevel: for all servers that log, also those that come later.
func (g *group) setLevel(ctx context.Context, r *request) (json.RawMessage, error) {
	if _, err := levelOf(r); err != nil {
		return nil, err
	}
	g.mu.Lock()
	g.level = r
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	g.each(func(_ int, m *member) {
		if up := m.current(); up != nil {
			m.setLevel(ctx, up, r)
		}
	})
	return json.RawMessage(`{}`), nil
}

// each calls f for all members at once, and waits.
func (g *group) each(f func(i int, m *member)) {
	var all sync.WaitGroup
	for i, m := range g.members {
		all.Go(func() { f(i, m) })
	}
	all.Wait()
}

// notify implements [backend]. What a host tells servers is for all of them, except progress of
// what one of them has asked for.
func (g *group) notify(n jsonrpc.Notification) {
	members := g.members
	if n.Method == mcp.MethodProgress {
		m, params := g.asker(n.Params)
		if m == nil {
			return
		}
		n.Params, members = params, []*member{m}
	}
	for _, m := range members {
		m.enqueue(n)
	}
}

// inherit makes the servers of a group what those of another one were to the host. Call it before
// they are connected to.
func (g *group) inherit(from backend) {
	old, _ := from.(*group)
	if old == nil {
		return
	}
	old.mu.Lock()
	defer old.mu.Unlock()
	g.level, g.lists = old.level, old.lists
	for uri, m := range old.subscribed {
		g.subscribed[uri] = g.byPrefix[m.prefix]
	}
	for _, m := range g.members {
		m.missed = true // it may have other lists
	}
}
