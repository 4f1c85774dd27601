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
	// storeTimeout bounds one use of a durable store.
	storeTimeout = time.Second
	// maxEntry bounds the list of an entry.
	maxEntry = 16 << 20
	// saveInterval is how far apart two saves of a list are that has not changed.
	saveInterval = 10 * time.Second
)

// errEntry is matched by the errors of an invalid entry.
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

// storeRounds makes one guess at a key cost some 20 ms. It never changes, but in
// tests under the race detector, where that is a second.
var storeRounds = 1 << 16

// storeKey is a key's name in a store. Addresses, environments and headers go
// into keys, and perhaps short secrets with them. A user who sees the names could guess
// those if that were cheap. A salt of one's own would do as well, but the
// processes that share a store, on several machines too, need the same names.
func storeKey(k Key) string {
	text := fmt.Sprintf("%d %d %d %s%s%s", len(k.Server), len(k.Variant), len(k.Partition), k.Server, k.Variant, k.Partition)
	slow, err := pbkdf2.Key(sha256.New, text, []byte("mainstay tool list"), storeRounds, sha256.Size)
	if err != nil {
		return "" // refused by the settings of a FIPS module: no key, which stores refuse
	}
	return hex.EncodeToString(slow)
}

// shelf is what is known of the durable store for one list.
type shelf struct {
	key     func() string // in the store; made once, since that takes a while
	asked   atomic.Bool   // for what an earlier process left
	mayHave atomic.Bool   // there may be an entry
	// turn holds a token while the store is written to, which takes time: what
	// follows is guarded by it.
	turn chan struct{}
	hash string    // of what is there, "" for nothing or not known
	at   time.Time // of the last save
}

func newShelf(key Key) *shelf {
	s := &shelf{key: sync.OnceValue(func() string { return storeKey(key) }), turn: make(chan struct{}, 1)}
	s.mayHave.Store(true)
	return s
}

// load puts what the store has in the place of no list.
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
		return // from a clock that was ahead; or for somebody else
	}
	ttl := time.Duration(0)
	if entry.TTL != nil {
		ttl = c.set.spread(c.set.ttl(entry.TTL))
	}
	// Of the first epoch: stale when something was said before it was read.
	s := newSnapshot(from, 0, newLease(now, ttl).since(age))
	s.stored = true
	l.put(s)
}

// save keeps a list beyond this process, unless it has changed meanwhile. While
// the store is busy with an earlier one it does nothing: what is there then is
// older, and not wrong.
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
	l.shelf.mayHave.Store(true) // before the epoch is read: who begins another forgets it again
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
		c.unsave(ctx, l) // its successor may have forgotten it before it was saved
	}
	if err != nil {
		c.set.Logger.Warn("[MCP] the list of tools could not be stored", "error", err)
		return
	}
	l.shelf.hash = hash
}

// unsave drops what the store has, which is not true any more. It does not wait,
// because its caller handles a notification. One goroutine at
// most follows a save.
func (c *Cache) unsave(ctx context.Context, l *list) {
	if l.shelf == nil || !l.shelf.mayHave.CompareAndSwap(true, false) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	go func() {
		l.shelf.turn <- struct{}{} // every use of the store is bounded
		defer func() { <-l.shelf.turn }()
		if l.shelf.mayHave.Load() {
			return // it has been replaced
		}
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		l.shelf.hash = ""
		if err := c.set.Durable.Forget(ctx, l.shelf.key()); err != nil {
			c.set.Logger.Warn("[MCP] an outdated list of tools is still stored", "error", err)
		}
	}()
}
