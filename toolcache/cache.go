package toolcache

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Key says whose list it is. Lists never cross keys.
type Key struct {
	// Server is the server's identity, its address or command line.
	Server string
	// Partition is everything else a list may depend on: the credentials, the
	// revision, the capabilities declared (CACHE-04, CACHE-05). "" when
	// nothing does.
	Partition string
}

// Fetch returns all tools of a server, over all pages, and how long the server
// wants them to be fresh, nil when it does not say. A list is as fresh as the
// page that expires first (CACHE-10). The context of a Fetch carries the values
// of the first caller's, but neither its cancellation nor its deadline. Several
// callers may share what it returns: an error that is the first one's alone
// matches [ErrFetcherGone].
type Fetch func(ctx context.Context) (tools []mcp.Tool, ttl *time.Duration, err error)

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
	return &Cache{set: s}, nil
}

// Get returns the tool called name, from the list if it is fresh and has the
// name, else after a refresh with fetch. A name that the fresh list does not
// have causes one refresh a call, and one a second for the same name; if it is
// still unknown the error is an [*UnknownToolError]. An error of fetch is
// returned as it is and is not remembered. When ctx ends first the error matches
// both ctx.Err() and its cause.
func (c *Cache) Get(ctx context.Context, key Key, name string, fetch Fetch) (tool *mcp.Tool, err error) {
	// Small enough to be inlined: the copy is on the caller's stack when the
	// caller does not keep it (TestAllocations).
	tool = new(mcp.Tool)
	if err = c.get(ctx, key, name, fetch, tool); err != nil {
		tool = nil
	}
	return
}

// List returns all tools in the server's order, from the list if it is fresh,
// else after a refresh with fetch. Of tools with the same name there is only
// the first (TOOL-02). The slice is the caller's.
func (c *Cache) List(ctx context.Context, key Key, fetch Fetch) ([]mcp.Tool, error) {
	s, err := c.current(ctx, key, fetch)
	if err != nil {
		return nil, err
	}
	return slices.Clone(s.tools), nil
}

// Refresh makes sure that there is a fresh list, as [Cache.List] does, for callers
// who do not need it yet: it copies nothing.
func (c *Cache) Refresh(ctx context.Context, key Key, fetch Fetch) error {
	_, err := c.current(ctx, key, fetch)
	return err
}

// Lookup returns the tool as it was last seen, however long ago. It does no
// I/O. fresh tells whether the list is; ok is false when the last list does not
// have the name, or there is none.
func (c *Cache) Lookup(key Key, name string) (tool *mcp.Tool, fresh, ok bool) {
	// Small enough to be inlined, like Get.
	var t mcp.Tool
	if fresh, ok = c.lookup(key, name, &t); ok {
		tool = &t
	}
	return
}

// Store puts a list that was obtained by other means, such as a walk the caller
// makes anyway. ttl is how long the server wants it to be fresh, nil when it
// does not say. A list fetched before an invalidation should go through Get or
// List instead, which know when the fetch began.
func (c *Cache) Store(key Key, tools []mcp.Tool, ttl *time.Duration) {
	l := c.obtain(key)
	l.put(newSnapshot(tools, l.epoch.Load(), c.set.ttl(ttl)))
}

// Invalidate makes the list of key stale at once: the next read asks the
// server. A fetch that is under way is handed to those who wait for it and then
// counts as stale. [Cache.Lookup] still finds the tools.
func (c *Cache) Invalidate(key Key) {
	if l := c.find(key); l != nil {
		l.epoch.Add(1)
	}
}

func (c *Cache) get(ctx context.Context, key Key, name string, fetch Fetch, tool *mcp.Tool) error {
	l := c.obtain(key)
	s := l.snap.Load()
	if l.fresh(s, time.Now()) {
		if t := s.index[name]; t != nil {
			*tool = *t
			return nil
		}
		if !l.mayRefresh(name, time.Now()) {
			return &UnknownToolError{name}
		}
	}
	s, err := c.refresh(ctx, l, fetch)
	if err != nil {
		return err
	}
	if t := s.index[name]; t != nil {
		*tool = *t
		return nil
	}
	l.missed(name, time.Now())
	return &UnknownToolError{name}
}

func (c *Cache) lookup(key Key, name string, tool *mcp.Tool) (fresh, ok bool) {
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
func (c *Cache) current(ctx context.Context, key Key, fetch Fetch) (*snapshot, error) {
	l := c.obtain(key)
	if s := l.snap.Load(); l.fresh(s, time.Now()) {
		return s, nil
	}
	return c.refresh(ctx, l, fetch)
}

// find returns the list of key, nil when there is none.
func (c *Cache) find(key Key) *list {
	if l := c.last.Load(); l != nil && l.key == key && !l.evicted.Load() {
		return l
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.among(key)
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
	if l := c.find(key); l != nil {
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
