package cache

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

const (
	// storeTimeout limits one call of the durable store.
	storeTimeout = time.Second
	// maxEntry limits the size of a stored list.
	maxEntry = 16 << 20
	// saveInterval is the minimum time between two saves of an unchanged list.
	saveInterval = 10 * time.Second
)

// errEntry matches the errors of an invalid entry.
var errEntry = errors.New("the stored list of tools is not valid")

// listingOf checks a stored entry like an answer of the server.
func listingOf(e *toolcache.Entry) (Listing, error) {
	var res mcp.ListToolsResult
	switch {
	case len(e.List) > maxEntry:
		return Listing{}, fmt.Errorf("%w: it has more than %d bytes", errEntry, maxEntry)
	case hashOf(e.List) != e.Hash:
		return Listing{}, fmt.Errorf("%w: its hash does not match", errEntry)
	}
	if err := mcp.Unmarshal(append([]byte(nil), e.List...), &res); err != nil {
		return Listing{}, fmt.Errorf("%w: %w", errEntry, err)
	}
	if len(res.Tools) > maxTools {
		return Listing{}, fmt.Errorf("%w: %w", errEntry, errTooMany)
	}
	return Listing{Tools: res.Tools, TTL: e.TTL, Public: e.Public}, nil
}

// storeRounds makes one guess at a key cost some 20 ms. Only tests under the race detector change
// it: there it would take a second.
var storeRounds = 1 << 16

// storeKey returns the name of a key in a store. Keys contain addresses, environments and
// headers, and perhaps short secrets. The slow hash protects those from guessing by readers of
// the names. A random salt would not work, because all processes that share a store need the same
// names.
func storeKey(k Key) string {
	text := fmt.Sprintf("%d %d %d %s%s%s", len(k.Server), len(k.Variant), len(k.Partition), k.Server, k.Variant, k.Partition)
	slow, err := pbkdf2.Key(sha256.New, text, []byte("mainstay tool list"), storeRounds, sha256.Size)
	if err != nil {
		return "" // refused by the settings of a FIPS module; stores reject an empty key
	}
	return hex.EncodeToString(slow)
}

// shelf is the state of the durable store for one list.
type shelf struct {
	key     func() string // key in the store; computed once, since that is slow
	asked   atomic.Bool   // the entry of earlier processes was requested
	mayHave atomic.Bool   // the store may have an entry
	// turn holds a token while the store is written to. It guards the fields below.
	turn chan struct{}
	hash string    // hash of the stored list, "" for none or unknown
	at   time.Time // of the last save
}

func newShelf(key Key) *shelf {
	s := &shelf{key: sync.OnceValue(func() string { return storeKey(key) }), turn: make(chan struct{}, 1)}
	s.mayHave.Store(true)
	return s
}

// load loads the stored list, if this process has none.
func (c *Cache) load(ctx context.Context, l *list) {
	if l.shelf == nil || l.shelf.asked.Swap(true) || l.snap.Load() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	entry, err := c.set.Durable.Load(ctx, l.shelf.key())
	if err != nil {
		c.set.Logger.Warn("[MCP] the store of tool lists could not be read", "error", err)
		return
	}
	if entry.List == nil {
		return
	}
	from, err := listingOf(&entry)
	now := time.Now()
	age := now.Round(0).Sub(entry.At)
	switch {
	case err != nil:
		c.set.Logger.Warn("[MCP] the stored list of tools is ignored", "error", err)
		return
	case age < 0 || (l.key == l.key.public() && !entry.Public):
		return // from a clock that was ahead, or for another partition
	}
	ttl := time.Duration(0)
	if entry.TTL != nil {
		ttl = c.set.spread(c.set.ttl(entry.TTL))
	}
	// The first epoch: the list is stale if a notification came before it was loaded.
	s := newSnapshot(from, 0, newLease(now, ttl).since(age))
	s.stored = true
	l.put(s)
}

// save stores a list for other processes, unless it has changed meanwhile. It does nothing while
// an earlier save is in progress: that list is older, but not wrong.
func (c *Cache) save(ctx context.Context, l *list, s *snapshot) {
	if l.shelf == nil {
		return
	}
	select {
	case l.shelf.turn <- struct{}{}:
	default:
		return
	}
	defer func() { <-l.shelf.turn }()
	list, hash, err := s.encoded()
	l.shelf.mayHave.Store(true) // before the epoch is read, so that a later epoch removes the entry again
	if err != nil || len(list) > maxEntry || s.epoch != l.epoch.Load() || l.evicted.Load() ||
		(hash == l.shelf.hash && time.Since(l.shelf.at) < saveInterval) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	l.shelf.at = time.Now()
	err = c.set.Durable.Save(ctx, l.shelf.key(), toolcache.Entry{
		List: list, Hash: hash, At: time.Unix(0, s.lease.wall), TTL: s.asked, Public: s.public,
	})
	if l.evicted.Load() {
		c.unsave(ctx, l) // its successor may have called unsave before the save
	}
	if err != nil {
		c.set.Logger.Warn("[MCP] the list of tools could not be stored", "error", err)
		return
	}
	l.shelf.hash = hash
}

// unsave removes the stored list, because it is stale. It does not block, because its caller
// handles a notification. At most one goroutine per save runs.
func (c *Cache) unsave(ctx context.Context, l *list) {
	if l.shelf == nil || !l.shelf.mayHave.CompareAndSwap(true, false) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		l.shelf.turn <- struct{}{} // each call of the store is limited in time
		defer func() { <-l.shelf.turn }()
		if l.shelf.mayHave.Load() {
			return // it was replaced
		}
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		l.shelf.hash = ""
		if err := c.set.Durable.Forget(ctx, l.shelf.key()); err != nil {
			c.set.Logger.Warn("[MCP] an outdated list of tools is still stored", "error", err)
		}
	}()
}
