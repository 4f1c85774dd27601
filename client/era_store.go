package client

import (
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/era"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Era is what was found about a server: how to open a conversation with it. It
// is a hint: if it is wrong, that costs a request, never a connection.
type Era struct {
	// Version tells the era. It is the revision that is spoken in the stateless
	// era, and the one to offer in the session era.
	Version mcp.Version `json:"version"`
	// Fallback says that the server was reached over what
	// [transport.Fallback] returns, not over the transport itself.
	Fallback bool `json:"fallback,omitempty"`
	// At is when it was found. A client uses an Era of the session era for 24 h.
	At time.Time `json:"at"`
}

// EraStore remembers the era of servers, so that a client finds it once a server
// and not once a connection. Its methods may be called from many goroutines at
// once and should be fast: Connect waits for them. Connect does not fail because a
// store does.
//
// key identifies a server and holds no secret: see [transport.Identified]. Servers
// that cannot be identified, such as streams, are never remembered.
type EraStore interface {
	// Load returns what was saved last, whatever its age, and whether there is
	// an entry.
	Load(key string) (Era, bool)
	// Save replaces the entry.
	Save(key string, e Era) error
	// Forget removes the entry. A missing entry is not an error.
	Forget(key string) error
}

// WithEraStore sets where the client remembers which era a server speaks. The
// default is the memory of this process, shared by all clients; nil remembers
// nothing. A client with a pinned revision does not use it.
func WithEraStore(s EraStore) Option {
	return optionFunc(func(c *config) { c.era.store = s })
}

// processEraStore is the default store.
var processEraStore = sync.OnceValue(MemoryEraStore)

// MemoryEraStore returns a store in memory for 1,024 servers. It forgets the least
// recently used first.
func MemoryEraStore() EraStore { return ownEraStore{era.NewMemory()} }

// FileEraStore returns a store in a file, for programs that run often and for a
// short time. The first Save creates the file and its folder, readable by this
// user only. The file is read each time, and replaced atomically: programs that
// share it never see half of it, and two that save in the same moment lose one
// entry at most. A file that cannot be read, or is not a store's, counts as empty
// and is replaced. It holds 1,024 servers and drops the oldest first.
func FileEraStore(path string) EraStore { return ownEraStore{era.NewFile(path)} }

// ownEraStore is a store of package era.
type ownEraStore struct{ store era.Store }

// Load implements [EraStore].
func (s ownEraStore) Load(key string) (Era, bool) {
	f, ok := s.store.Load(key)
	return Era(f), ok
}

// Save implements [EraStore].
func (s ownEraStore) Save(key string, e Era) error { return s.store.Save(key, era.Found(e)) }

// Forget implements [EraStore].
func (s ownEraStore) Forget(key string) error { return s.store.Forget(key) }

// eraStore is the store as package era uses it, nil for none.
func (c *Client) eraStore() era.Store {
	switch s := c.cfg.era.store.(type) {
	case nil:
		return nil
	case ownEraStore:
		return s.store
	default:
		return guardedEraStore{c, s}
	}
}

// guardedEraStore is a store of the application: one that panics has no entry.
type guardedEraStore struct {
	c *Client
	s EraStore
}

// Load implements [era.Store].
func (g guardedEraStore) Load(key string) (f era.Found, ok bool) {
	g.c.aside("EraStore.Load", func() {
		var e Era
		e, ok = g.s.Load(key)
		f = era.Found(e)
	})
	return f, ok
}

// Save implements [era.Store].
func (g guardedEraStore) Save(key string, f era.Found) (err error) {
	g.c.aside("EraStore.Save", func() { err = g.s.Save(key, Era(f)) })
	return err
}

// Forget implements [era.Store].
func (g guardedEraStore) Forget(key string) (err error) {
	g.c.aside("EraStore.Forget", func() { err = g.s.Forget(key) })
	return err
}
