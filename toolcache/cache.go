package toolcache

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
)

// Key says whose list it is. Lists never cross keys, but for public ones where
// [Settings.SharePublic] lets them cross partitions.
type Key struct {
	// Server is the server's identity, its address or command line.
	Server string
	// Variant is what a list depends on whoever asks: the revision, the
	// capabilities declared. "" when nothing does.
	Variant string
	// Partition is who asks: the credentials. "" when it does not
	// matter.
	Partition string
}

// Listing is what a server says of its tools.
type Listing struct {
	// Tools are all of them, over all pages.
	Tools []mcp.Tool
	// TTL is how long the server wants them to be fresh, nil when it does not
	// say. A list is as fresh as the page that expires first.
	TTL *time.Duration
	// Public says that every page may be shared between those who ask, whoever
	// they are.
	Public bool
}

// Fetch asks a server for its tools. Its context carries the values of the first
// caller's, but neither its cancellation nor its deadline. Several callers may
// share what it returns: an error that is the first one's alone matches
// [ErrFetcherGone]; see [ErrRefused] and [ErrAbsent] too.
type Fetch func(ctx context.Context) (Listing, error)

// Freshness reports how old an answer of the cache is.
type Freshness struct {
	// Stale reports that the answer is past its time to live. The cache returns
	// it because a fetch failed ([Settings.ServeStale]) or because a fetch runs
	// in the background ([Settings.Revalidate]).
	Stale bool
	// Age is the time since the server was asked.
	Age time.Duration
	// Cause is the error of the fetch that failed, or nil.
	Cause error
}

// Cache keeps tool lists, and other results that a server lets be kept
// ([Cache.Response]). Its methods may be called from many goroutines at once.
// The tools it hands out are copies; what they point to (schemas, annotations,
// icons) is shared and must not be changed.
type Cache struct {
	set       Settings
	responses responses
	// last is the list used last. Most caches serve one server, and for them
	// this is all there is.
	last atomic.Pointer[list]

	mu    sync.Mutex
	lists *lru.Cache[Key, *list] // nil before there is a second list
}

// New makes an empty cache. The error is that of [Settings.Validate].
func New(s Settings) (*Cache, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if s.Size == 0 {
		s.Size = DefaultSize
	}
	if s.FetchTimeout == 0 {
		s.FetchTimeout = DefaultFetchTimeout
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	return &Cache{set: guarded(s)}, nil
}

// Get returns the tool called name, from the list if it is fresh and has the
// name, else after a refresh with fetch. A name that the fresh list does not
// have causes one refresh a call, and one a second for the same name; if it is
// still unknown the error is an [*UnknownToolError], and a [*RefusedToolError]
// where the list has it but it is too large. An error of fetch is returned as it
// is and is not remembered, unless it is [ErrAbsent]. When ctx ends first the
// error matches both ctx.Err() and its cause.
func (c *Cache) Get(ctx context.Context, key Key, name string, fetch Fetch) (tool *mcp.Tool, err error) {
	// Small enough to be inlined: the copy is on the caller's stack when the
	// caller does not keep it (TestAllocations).
	tool = new(mcp.Tool)
	if err = c.get(ctx, &key, name, fetch, tool); err != nil {
		tool = nil
	}
	return
}

// Find is [Cache.Get] for callers who want to know how the list stands.
func (c *Cache) Find(ctx context.Context, key Key, name string, fetch Fetch) (*mcp.Tool, Freshness, error) {
	tool := &mcp.Tool{}
	l := c.obtain(key)
	s, now := l.snap.Load(), time.Now()
	if l.fresh(s, now) && s.index[name] != nil {
		*tool = *s.index[name]
		return tool, Freshness{Age: s.lease.age(now)}, nil
	}
	st, err := c.getSlow(ctx, l, s, name, fetch, tool)
	if err != nil {
		return nil, st, err
	}
	return tool, st, nil
}

// List returns all tools in the server's order, from the list if it is fresh,
// else after a refresh with fetch. Of tools with the same name there is only
// the first, and tools that are too large are left out. The slice is
// the caller's.
func (c *Cache) List(ctx context.Context, key Key, fetch Fetch) ([]mcp.Tool, error) {
	tools, _, err := c.Read(ctx, key, fetch)
	return tools, err
}

// Read is [Cache.List] for callers who want to know how the list stands.
func (c *Cache) Read(ctx context.Context, key Key, fetch Fetch) ([]mcp.Tool, Freshness, error) {
	s, st, err := c.current(ctx, key, fetch)
	if err != nil {
		return nil, st, err
	}
	return slices.Clone(s.tools), st, nil
}

// Refresh makes sure that there is a fresh list, as [Cache.List] does, for callers
// who do not need it yet: it copies nothing.
func (c *Cache) Refresh(ctx context.Context, key Key, fetch Fetch) error {
	_, _, err := c.current(ctx, key, fetch)
	return err
}

// Lookup returns the tool as it was last seen, however long ago. It does no
// I/O. fresh tells whether the list is; ok is false when the last list does not
// have the name, or there is none.
func (c *Cache) Lookup(key Key, name string) (tool *mcp.Tool, fresh, ok bool) {
	// Small enough to be inlined, like Get.
	var t mcp.Tool
	if fresh, ok = c.lookup(&key, name, &t); ok {
		tool = &t
	}
	return
}

// Store puts a list that was obtained by other means, such as a walk the caller
// makes anyway. A list fetched before an invalidation should go through Get or
// List instead, which know when the fetch began.
func (c *Cache) Store(key Key, from Listing) {
	l := c.obtain(key)
	l.put(newSnapshot(from, l.epoch.Load(), c.leaseOf(from.TTL)))
}

// Learn puts a list that somebody has walked for other reasons, unless the same
// is there: [Cache.Lookup] finds its tools, and the next Get or List asks the
// server, since nobody knows what has changed during the walk. The slice is only
// read; what its tools point to becomes the cache's.
func (c *Cache) Learn(key Key, tools []mcp.Tool) {
	l := c.obtain(key)
	s := newSnapshot(Listing{Tools: tools}, l.epoch.Load(), newLease(time.Now(), 0))
	if old := l.snap.Load(); old == nil || !old.same(s) {
		l.put(s)
	}
}

// Invalidate makes the list of key stale at once: the next read asks the
// server. A fetch that is under way is handed to those who wait for it and then
// counts as stale. [Cache.Lookup] still finds the tools.
func (c *Cache) Invalidate(key Key) { c.outdate(key, false) }

// Changed is [Cache.Invalidate] for what the server says by itself, perhaps over
// and over: the fetch that follows begins a second after the one before it at
// the earliest, and readers wait for it. However often it is called, nothing is
// fetched when nobody reads.
func (c *Cache) Changed(key Key) { c.outdate(key, true) }

func (c *Cache) outdate(key Key, paced bool) {
	if c.set.SharePublic {
		// First, so that who begins anew does not find what is public still fresh.
		c.outdateOne(key.public(), paced)
	}
	c.outdateOne(key, paced)
}

func (c *Cache) outdateOne(key Key, paced bool) {
	l := c.find(&key)
	if l == nil && c.set.Durable != nil {
		l = c.obtain(key) // so that what the store has is not taken for fresh later
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
	c.unsave(context.Background(), l) //nolint:forbidigo // bounded by its own times; who says that a list has changed does not wait for a store
}

// Keys returns the keys of one server and variant, those of all partitions that
// the cache holds something of, key itself among them.
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
	r.lock()
	defer r.mu.Unlock()
	for _, k := range r.kept.Keys() {
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

// getSlow is get where the fresh list s does not have the name, or s is not
// fresh.
func (c *Cache) getSlow(ctx context.Context, l *list, s *snapshot, name string, fetch Fetch, tool *mcp.Tool) (st Freshness, err error) {
	if now := time.Now(); l.fresh(s, now) {
		if s.large[name] > 0 || !l.mayRefresh(name, now) {
			return Freshness{Age: s.lease.age(now)}, s.missing(name)
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
func (c *Cache) current(ctx context.Context, key Key, fetch Fetch) (*snapshot, Freshness, error) {
	return c.read(ctx, c.obtain(key), fetch, "")
}

// public is the key of what all partitions may share. No partition has its name.
func (k Key) public() Key {
	k.Partition = "\x00public"
	return k
}

// find returns the list of key, nil when there is none.
func (c *Cache) find(key *Key) *list {
	if l := c.last.Load(); l != nil && l.key == *key && !l.evicted.Load() {
		return l
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.among(*key)
}

// among finds the list of key among several. Requires c.mu.
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

// obtain returns the list of key and makes one when there is none.
func (c *Cache) obtain(key Key) *list {
	if l := c.find(&key); l != nil {
		return l
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.last.Load()
	if first != nil && first.key == key && !first.evicted.Load() {
		return first // somebody else has made it meanwhile
	}
	if l := c.among(key); l != nil {
		return l
	}
	l := &list{key: key}
	if c.set.Durable != nil {
		l.shelf = newShelf(key)
	}
	if c.lists == nil && first != nil {
		// A list that was evicted is not to be found through last either: it
		// would live beside its successor and miss its invalidations. The error
		// is for sizes below one only, which New has refused.
		c.lists, _ = lru.NewWithEvict(c.set.Size, func(_ Key, l *list) { l.evicted.Store(true) })
		c.lists.Add(first.key, first)
	}
	if c.lists != nil {
		c.lists.Add(key, l)
	}
	c.last.Store(l)
	return l
}
