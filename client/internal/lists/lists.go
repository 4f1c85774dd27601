// Package lists caches what servers allow clients to cache: lists, which it walks page by page,
// and resources. It decides for whom a result is cached, how long, and when it becomes stale.
package lists

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Config configures a [Cache]. It is immutable.
type Config struct {
	Scope Scope
	// Kept stores the results. Several clients may share it.
	Kept *cache.Cache
	// Declared returns the capabilities that the client declares in a revision.
	Declared func(mcp.Version) mcp.ClientCapabilities
	// MaxTime limits a call, 0 for no limit: callbacks of the application that run for a call end
	// with it.
	MaxTime time.Duration
}

// Cache caches results of one server for one client. Its methods may be called from many
// goroutines at once.
type Cache struct {
	*core.Core
	Config
	last        atomic.Pointer[agreedKey]
	toolChanges atomic.Uint64 // number of notifications that the tools have changed
}

// New returns a cache.
func New(c *core.Core, set Config) *Cache { return &Cache{Core: c, Config: set} }

// agreedKey is the key of an agreement, without a caller.
type agreedKey struct {
	agreed *link.Agreement
	key    cache.Key
}

// AgreedKey returns the key of results under one agreement, without a caller. Results may differ
// by revision, by the capabilities of the client, and by caller.
func (c *Cache) AgreedKey(a *link.Agreement) cache.Key {
	if last := c.last.Load(); last != nil && last.agreed == a {
		return last.key
	}
	declared := c.Declared(a.Version)
	// Capabilities that cannot be encoded were never sent.
	encoded, _ := mcp.Marshal(&declared)
	digest := sha256.Sum256(encoded)
	key := cache.Key{
		Server: c.Scope.server, Variant: string(a.Version) + " " + hex.EncodeToString(digest[:8]),
	}
	if c.Scope.who != nil {
		key.Partition = c.Scope.who.partition
	}
	c.last.Store(&agreedKey{a, key})
	return key
}

// Ask asks the application who makes a call; it returns nil if that makes no difference. Call it
// once per call, at its start, and pass on the answer. own is the maximum time of the call: 0
// means that of the client, and a negative value no limit. If the client is closed or the time
// ends first, the Err of the Caller is an [*mcperrors.Error].
func (c *Cache) Ask(ctx context.Context, own time.Duration) *transport.Caller {
	w := c.Scope.who
	if w == nil || w.ask == nil {
		return nil
	}
	bound := max(cmp.Or(own, c.MaxTime), 0)
	within := core.NewWithin(ctx, c.Life.Context(), bound)
	defer within.End()
	who := w.ask(within)
	if who.Err == nil {
		return who
	}
	switch within.Cause() {
	case jsonrpc.ErrClosed: //nolint:errorlint // Cause returns this very error
		return &transport.Caller{Err: life.ErrClosed()}
	case jsonrpc.ErrMaxWait:
		return &transport.Caller{Err: errormap.Unasked(bound, who.Err)}
	}
	return who
}

// Key returns the key for the results of a caller that [Cache.Ask] returned.
func (c *Cache) Key(who *transport.Caller) cache.Key {
	key := c.AgreedKey(c.Links.Agreed())
	if w := c.Scope.who; w != nil && w.apart {
		key.Partition += w.partitionOf(who)
	}
	return key
}

// keys returns the keys of all callers under the agreement a.
func (c *Cache) keys(a *link.Agreement) []cache.Key {
	key := c.AgreedKey(a)
	if who := c.Scope.who; who != nil && who.apart {
		return c.Kept.Keys(key)
	}
	return []cache.Key{key}
}
