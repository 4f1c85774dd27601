package cache

import (
	"context"
	"errors"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// guarded wraps callbacks of the application: fetches run them on goroutines of their own, where
// a panic would crash the process.
func guarded(s toolcache.Settings) toolcache.Settings {
	log := callback.Logger(s.Logger, nil)
	s.Logger = log
	failed := func(e *callback.Error) {
		log.Error("[MCP] a function of the application failed", "error", e.Error(), "stack", string(e.Stack))
	}
	if decides := s.StaleIf; decides != nil {
		s.StaleIf = func(err error) (stale bool) {
			callback.Aside("Settings.StaleIf", failed, func() { stale = decides(err) })
			return stale
		}
	}
	if s.Durable != nil {
		s.Durable = guardedStore{s.Durable, log}
	}
	return s
}

// fetched calls fetch, on a goroutine that others wait for.
func (c *Cache) fetched(ctx context.Context, fetch Fetch) (from Listing, err error) {
	callback.Run("Fetch", func(e *callback.Error) {
		err = e
		c.set.Logger.Error("[MCP] a function of the application failed", "error", e.Error(), "stack", string(e.Stack))
	}, func() { from, err = fetch(ctx) })
	return from, err
}

// guardedStore wraps the application's store.
type guardedStore struct {
	s   toolcache.Store
	log *slog.Logger
}

// Load implements [toolcache.Store].
func (g guardedStore) Load(ctx context.Context, key string) (entry toolcache.Entry, err error) {
	err = g.run("Store.Load", func() (err error) {
		entry, err = g.s.Load(ctx, key)
		return err
	})
	return entry, err
}

// Save implements [toolcache.Store].
func (g guardedStore) Save(ctx context.Context, key string, entry toolcache.Entry) error {
	return g.run("Store.Save", func() error { return g.s.Save(ctx, key, entry) })
}

// Forget implements [toolcache.Store].
func (g guardedStore) Forget(ctx context.Context, key string) error {
	return g.run("Store.Forget", func() error { return g.s.Forget(ctx, key) })
}

// run calls the store. A panic becomes an error, and is logged with its stack.
func (g guardedStore) run(name string, f func() error) (err error) {
	err = errors.New("it did not return")
	callback.Aside(name, func(e *callback.Error) {
		err = e
		g.log.Error("[MCP] a function of the application failed", "error", e.Error(), "stack", string(e.Stack))
	}, func() { err = f() })
	return err
}
