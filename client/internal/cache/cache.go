package cache

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Key identifies a list. Lists are not shared between keys. The exception is a
// public list with [toolcache.Settings.SharePublic], which is shared between partitions.
type Key struct {
	// Server is the identity of the server: its address or command line.
	Server string
	// Variant is what a list depends on besides the caller: the revision and the
	// declared capabilities. It is empty if the list depends on nothing.
	Variant string
	// Partition identifies the credentials of the caller. It is empty if they do
	// not matter.
	Partition string
}

// Listing is a complete list of tools from a server.
type Listing struct {
	// Tools has the tools of all pages.
	Tools []mcp.Tool
	// TTL is the time to live that the server sets, nil if it sets none. For
	// several pages it is the shortest.
	TTL *time.Duration
	// Public reports that every page may be shared between callers with different
	// credentials.
	Public bool
	// Own means that the list is only for the caller of the fetch: it is not cached, and others
	// that wait for it fetch their own.
	Own bool
}

// Fetch asks a server for its tools. Its context has the values of the first
// caller's context, but not its cancellation or deadline. Several callers may
// share the result. Return an error that matches [ErrFetcherGone] if it
// concerns only the first caller. See also [ErrRefused] and [ErrAbsent].
type Fetch func(ctx context.Context) (Listing, error)

// Cache keeps tool lists, and other results that a server allows clients to
// cache ([Cache.Response]). It is safe for concurrent use. The tools that it
// returns are copies, but they share their schemas, annotations and icons: do
// not change those.
type Cache struct {
	set       settings
	responses responses
	// last is the list used last. Most caches serve one server and have only this list.
	last atomic.Pointer[list]

	mu    sync.Mutex
	lists *lru.Cache[Key, *list] // nil until there is a second list
}

// New returns an empty cache. The error is that of [toolcache.Settings.Validate].
func New(s toolcache.Settings) (*Cache, error) {
	if err := Validate(s); err != nil {
		return nil, err
	}
	if s.Size == 0 {
		s.Size = defaultSize
	}
	if s.FetchTimeout == 0 {
		s.FetchTimeout = defaultTimeout
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	return &Cache{set: settings(guarded(s))}, nil
}

// Get returns the tool with this name. If the list is not fresh or does not have the name, Get
// refreshes it with fetch first. An unknown name causes at most one refresh per call, and one per
// second; one more if the new list was invalidated during the fetch, or came from another source.
// If the server does not list the tool, the error is an [*UnknownToolError]. If the definition of
// the tool is too large to keep, it is a [*RefusedToolError]. An error of fetch is returned
// unchanged. If ctx ends first, the error matches ctx.Err() and the cause of ctx.
func (c *Cache) Get(ctx context.Context, key Key, name string, fetch Fetch) (tool *mcp.Tool, err error) {
	// Small enough to be inlined, so that the copy can be on the caller's stack
	// (TestAllocations).
	tool = new(mcp.Tool)
	if err = c.get(ctx, &key, name, fetch, tool); err != nil {
		tool = nil
	}
	return
}

// Find is [Cache.Get] with the freshness of the list.
func (c *Cache) Find(ctx context.Context, key Key, name string, fetch Fetch) (*mcp.Tool, toolcache.Freshness, error) {
	tool := &mcp.Tool{}
	l := c.obtain(key)
	s, now := l.snap.Load(), time.Now()
	if l.fresh(s, now) && s.index[name] != nil {
		*tool = *s.index[name]
		return tool, toolcache.Freshness{Age: s.lease.age(now)}, nil
	}
	st, err := c.getSlow(ctx, l, s, name, fetch, tool)
	if err != nil {
		return nil, st, err
	}
	return tool, st, nil
}

// List returns all tools in the order of the server. If the list is not fresh,
// List refreshes it with fetch first. If several tools have the same name, it
// returns the first. It omits tools that are too large. The caller owns the
// slice.
func (c *Cache) List(ctx context.Context, key Key, fetch Fetch) ([]mcp.Tool, error) {
	tools, _, err := c.Read(ctx, key, fetch)
	return tools, err
}

// Read is [Cache.List] with the freshness of the list.
func (c *Cache) Read(ctx context.Context, key Key, fetch Fetch) ([]mcp.Tool, toolcache.Freshness, error) {
	s, st, err := c.current(ctx, key, fetch)
	if err != nil {
		return nil, st, err
	}
	return slices.Clone(s.tools), st, nil
}

// Refresh makes sure that there is a fresh list, as [Cache.List] does, but
// returns no copy of it.
func (c *Cache) Refresh(ctx context.Context, key Key, fetch Fetch) error {
	_, _, err := c.current(ctx, key, fetch)
	return err
}

// Lookup returns the tool from the last list, however old that list is. It does
// no I/O. fresh reports whether the list is fresh. ok is false if there is no
// list, or it does not have the name.
func (c *Cache) Lookup(key Key, name string) (tool *mcp.Tool, fresh, ok bool) {
	// Small enough to be inlined, like Get.
	var t mcp.Tool
	if fresh, ok = c.lookup(&key, name, &t); ok {
		tool = &t
	}
	return
}

// Store stores a list that the caller has fetched by other means. If the fetch
// began before an invalidation, use Get or List instead, which know when the
// fetch began.
func (c *Cache) Store(key Key, from Listing) {
	l := c.obtain(key)
	l.put(newSnapshot(from, l.epoch.Load(), c.leaseOf(from.TTL)))
}

// Learn stores a list that a caller has fetched for another purpose. [Cache.Lookup] finds its
// tools. The next Get or List still asks the server, because the list may have changed during the
// walk. Learn does nothing if the cache has the same list. It only reads the slice, but keeps
// what the tools point to.
func (c *Cache) Learn(key Key, tools []mcp.Tool) {
	l := c.obtain(key)
	s := newSnapshot(Listing{Tools: tools}, l.epoch.Load(), newLease(time.Now(), 0))
	if old := l.snap.Load(); old == nil || !old.equal(s.contents) {
		l.put(s)
	}
}

// Invalidate makes the list of key stale at once: the next read asks the
// server. Callers that wait for a fetch in flight get its result, which then
// counts as stale. [Cache.Lookup] still finds the tools.
func (c *Cache) Invalidate(key Key) { c.outdate(key, false) }

// Changed is [Cache.Invalidate] for notifications of the server, which may come
// often. The next fetch begins at the earliest a second after the previous one,
// and readers wait for it. Without readers there is no fetch.
func (c *Cache) Changed(key Key) { c.outdate(key, true) }

func (c *Cache) outdate(key Key, paced bool) {
	if c.set.SharePublic {
		// First, so that a new fetch does not return the stale public list.
		c.outdateOne(key.public(), paced)
	}
	c.outdateOne(key, paced)
}

func (c *Cache) outdateOne(key Key, paced bool) {
	l := c.find(&key)
	if l == nil && c.set.Durable != nil {
		l = c.obtain(key) // so that the stored entry does not count as fresh later
	}
	if l == nil {
		return
	}
	if !paced {
		l.paced.Store(false)
	}
	l.epoch.Add(1)
	if paced {
		l.paced.Store(true)
	}
	c.unsave(context.Background(), l) //nolint:forbidigo // the store is used in the background, with its own timeouts
}

// Keys returns the keys of all partitions with data in the cache, for one server and variant. The
// result includes key.
func (c *Cache) Keys(key Key) []Key {
	of := map[Key]bool{key: true}
	note := func(k Key) {
		if k.Server == key.Server && k.Variant == key.Variant && k != k.public() {
			of[k] = true
		}
	}
	c.mu.Lock()
	if l := c.last.Load(); l != nil {
		note(l.key)
	}
	if c.lists != nil {
		for _, k := range c.lists.Keys() {
			note(k)
		}
	}
	c.mu.Unlock()
	r := &c.responses
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.kept.keys() {
		note(k.Key)
	}
	for k := range r.asking {
		note(k.Key)
	}
	return slices.Collect(maps.Keys(of))
}

func (c *Cache) get(ctx context.Context, key *Key, name string, fetch Fetch, tool *mcp.Tool) error {
	l := c.find(key)
	if l == nil {
		l = c.obtain(*key)
	}
	s := l.snap.Load()
	if l.fresh(s, time.Now()) {
		if t := s.index[name]; t != nil {
			*tool = *t
			return nil
		}
	}
	_, err := c.getSlow(ctx, l, s, name, fetch, tool)
	return err
}

// getSlow is get if the fresh list s does not have the name, or s is not fresh.
func (c *Cache) getSlow(ctx context.Context, l *list, s *snapshot, name string, fetch Fetch, tool *mcp.Tool) (st toolcache.Freshness, err error) {
	if now := time.Now(); l.fresh(s, now) {
		if s.large[name] > 0 || !l.mayRefresh(name, now) {
			return toolcache.Freshness{Age: s.lease.age(now)}, s.missing(name)
		}
		s, st, err = c.refresh(ctx, l, fetch, s, name, reading)
	} else {
		s, st, err = c.read(ctx, l, fetch, name)
	}
	if err != nil {
		return st, err
	}
	if t := s.index[name]; t != nil {
		*tool = *t
		return st, nil
	}
	l.missed(name, time.Now())
	return st, s.missing(name)
}

func (c *Cache) lookup(key *Key, name string, tool *mcp.Tool) (fresh, ok bool) {
	l := c.find(key)
	if l == nil {
		return false, false
	}
	s := l.snap.Load()
	if s == nil || s.index[name] == nil {
		return false, false
	}
	*tool = *s.index[name]
	return l.fresh(s, time.Now()), true
}

// current returns the list if it is fresh, else a new one.
func (c *Cache) current(ctx context.Context, key Key, fetch Fetch) (*snapshot, toolcache.Freshness, error) {
	return c.read(ctx, c.obtain(key), fetch, "")
}

// public returns the key of the list that all partitions may share. No partition has its name.
func (k Key) public() Key {
	k.Partition = "\x00public"
	return k
}

// find returns the list of key, nil if there is none.
func (c *Cache) find(key *Key) *list {
	if l := c.last.Load(); l != nil && l.key == *key && !l.evicted.Load() {
		return l
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.among(*key)
}

// among finds the list of key in lists. Requires c.mu.
func (c *Cache) among(key Key) *list {
	if c.lists == nil {
		return nil
	}
	l, ok := c.lists.Get(key)
	if !ok {
		return nil
	}
	c.last.Store(l)
	return l
}

// obtain returns the list of key, and creates it if there is none.
func (c *Cache) obtain(key Key) *list {
	if l := c.find(&key); l != nil {
		return l
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.last.Load()
	if first != nil && first.key == key && !first.evicted.Load() {
		return first // another goroutine has created it meanwhile
	}
	if l := c.among(key); l != nil {
		return l
	}
	l := &list{key: key}
	if c.set.Durable != nil {
		l.shelf = newShelf(key)
	}
	if c.lists == nil && first != nil {
		// An evicted list must not be found through last either: it would exist beside its
		// successor and miss its invalidations. The error is only for sizes below one, which New
		// has rejected.
		c.lists, _ = lru.NewWithEvict(c.set.Size, func(_ Key, l *list) { l.evicted.Store(true) })
		c.lists.Add(first.key, first)
	}
	if c.lists != nil {
		c.lists.Add(key, l)
	}
	c.last.Store(l)
	return l
}

// Status returns the status of the list of key. ok is false if there is no
// list. A list that was invalidated or cleared exists and is not fresh. Status
// does no I/O and changes nothing. It computes the hash of a list once.
func (c *Cache) Status(key Key) (st toolcache.Status, ok bool) {
	l := c.find(&key)
	if l == nil {
		return toolcache.Status{}, false
	}
	s, now := l.snap.Load(), time.Now()
	if s == nil {
		return toolcache.Status{}, false
	}
	return toolcache.Status{
		Tools: len(s.tools), Refused: len(s.large),
		Age: s.lease.age(now), TTL: s.lease.ttl,
		Stale: !l.fresh(s, now), Public: s.public,
		Epoch: l.epoch.Load(), Hash: s.fingerprint(),
	}, true
}
