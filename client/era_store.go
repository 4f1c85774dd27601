package client

import (
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/era"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Era is what a client has learned about how to open a conversation with a
// server. It is a hint: a wrong one costs a request, never a connection.
type Era struct {
	// Version implies the era. In the stateless era the client speaks this
	// revision; in the session era it offers it.
	Version mcp.Version `json:"version"`
	// Fallback is true if the server was reached over the transport's fallback, not
	// over the transport itself.
	Fallback bool `json:"fallback,omitempty"`
	// At is when the era was found. An Era of the session era is used for 24
	// hours.
	At time.Time `json:"at"`
}

// EraStore remembers the eras of servers, so that a client probes once per
// server and not once per connection. Its methods are called from many
// goroutines and should be fast, because Connect waits for them. A failing
// store never makes Connect fail.
//
// key identifies a server and holds no secret; see Identity in package transport.
// Servers without an identity, such as streams, are never remembered.
type EraStore interface {
	// Load returns the last saved entry, whatever its age, and whether there is
	// one.
	Load(key string) (Era, bool)
	// Save replaces the entry.
	Save(key string, e Era) error
	// Forget removes the entry. Removing a missing entry is not an error.
	Forget(key string) error
}

// WithEraStore sets where the client remembers the era of its server. The
// default is a store in memory that all clients of this process share. nil
// remembers nothing. A client with a pinned revision does not use it.
func WithEraStore(s EraStore) Option {
	return optionFunc(func(c *config) { c.era.store = s })
}

// processEraStore is the default store.
var processEraStore = sync.OnceValue(MemoryEraStore)

// MemoryEraStore returns a store in memory for 1,024 servers. It evicts the
// least recently used first.
func MemoryEraStore() EraStore { return ownEraStore{era.NewMemory()} }

// FileEraStore returns a store in a file, for programs that run often and
// briefly. The first Save creates the file and its directory, readable by this
// user only.
//
// Programs may share the file: it is read each time and replaced atomically.
// If two programs save at the same moment, at most one entry is lost. An
// unreadable or invalid file counts as empty and is replaced. The store holds
// 1,024 servers and drops the oldest first.
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

// storeFor returns the store for package era, nil for none. failed is called when a store of
// the application panics.
func (o *eraOptions) storeFor(failed func(*callback.Error)) era.Store {
	switch s := o.store.(type) {
	case nil:
		return nil
	case ownEraStore:
		return s.store
	default:
		return guardedEraStore{failed, s}
	}
}

// guardedEraStore guards a store of the application: a store that panics has no entry.
type guardedEraStore struct {
	failed func(*callback.Error)
	s      EraStore
}

// Load implements [era.Store].
func (g guardedEraStore) Load(key string) (f era.Found, ok bool) {
	callback.Aside("EraStore.Load", g.failed, func() {
		var e Era
		e, ok = g.s.Load(key)
		f = era.Found(e)
	})
	return f, ok
}

// Save implements [era.Store].
func (g guardedEraStore) Save(key string, f era.Found) (err error) {
	callback.Aside("EraStore.Save", g.failed, func() { err = g.s.Save(key, Era(f)) })
	return err
}

// Forget implements [era.Store].
func (g guardedEraStore) Forget(key string) (err error) {
	callback.Aside("EraStore.Forget", g.failed, func() { err = g.s.Forget(key) })
	return err
}
