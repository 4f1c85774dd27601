package toolcache

import (
	"context"
	"time"
)

// Store keeps lists of tools beyond the life of a process; see [FileStore]. The
// cache uses it only during a fetch, from several goroutines, and for at most a
// second at a time. It logs errors of the store and continues without it.
//
// When a process has no list yet, a stored list is fresh for the rest of the
// time that the server set. If the server set none, the list is stale, because
// it may have changed. A stale list still supplies schemas, and serves
// [Settings.ServeStale] for an hour. The cache validates a stored list like an
// answer of the server, and compares its hash. The hash detects damage, not
// malice: a user who can write to the store can change the tools.
//
// A change that the server announces, or a refusal of the caller's credentials, removes the
// list from the store.
type Store interface {
	// Load returns the entry of a key. If there is no entry, Load returns a zero
	// Entry and a nil error.
	Load(ctx context.Context, key string) (Entry, error)
	// Save replaces the entry of a key.
	Save(ctx context.Context, key string, entry Entry) error
	// Forget removes the entry of a key, if there is one.
	Forget(ctx context.Context, key string) error
}

// Entry is one list in a [Store]. Its key has 64 hexadecimal digits: a slow
// digest of server, protocol revision and caller, which reveals none of them. With
// [Settings.SharePublic], the key of a public list does not depend on the
// caller.
type Entry struct {
	// List is the result of tools/list with all tools, as JSON.
	List []byte
	// Hash is the SHA-256 digest of List, in hexadecimal.
	Hash string
	// At is when the server sent the list, by the wall clock.
	At time.Time
	// TTL is the time to live that the server set, nil if it set none.
	TTL *time.Duration
	// Public reports that the list may be shared between callers.
	Public bool
}
