package cache_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// badStore fails in every method.
type badStore struct{ fail func() }

func (s badStore) Load(context.Context, string) (toolcache.Entry, error) {
	s.fail()
	return toolcache.Entry{}, nil
}
func (s badStore) Save(context.Context, string, toolcache.Entry) error { s.fail(); return nil }
func (s badStore) Forget(context.Context, string) error                { s.fail(); return nil }

type badHandler struct{ fail func() }

func (h badHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (h badHandler) Handle(context.Context, slog.Record) error { h.fail(); return nil }
func (h badHandler) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h badHandler) WithGroup(string) slog.Handler             { return h }

// Callbacks that panic or call runtime.Goexit do not crash the process, and leave no reader
// waiting.
func TestCallbacks(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for name, fail := range map[string]func(){"panic": func() { panic("a bug of the application") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := cache.New(toolcache.Settings{
				TTL: -1, ServeStale: true, StaleIf: func(error) bool { fail(); return true },
				Durable: badStore{fail}, Logger: slog.New(badHandler{fail}),
			})
			require.NoError(t, err)
			key := cache.Key{Server: "s"}
			tools, err := c.List(t.Context(), key, func(context.Context) (cache.Listing, error) { return cache.Listing{}, nil })
			require.NoError(t, err, "the store failed")
			require.Empty(t, tools)
			_, err = c.List(t.Context(), key, func(context.Context) (cache.Listing, error) { return cache.Listing{}, down })
			require.ErrorIs(t, err, down, "StaleIf failed")
			_, err = c.List(t.Context(), key, func(context.Context) (cache.Listing, error) { fail(); return cache.Listing{}, nil })
			require.Error(t, err, "the fetch failed")

			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }() // Ask runs on its caller's goroutine
				_, _, _ = c.Response(t.Context(), cache.ResponseKey{Key: key, Method: "resources/read"}, false,
					func(context.Context) (cache.Response, error) { fail(); return cache.Response{}, nil })
			}()
			<-done
			got, _, err := c.Response(t.Context(), cache.ResponseKey{Key: key, Method: "resources/read"}, false,
				func(context.Context) (cache.Response, error) {
					return cache.Response{Result: []byte("{}")}, nil
				})
			require.NoError(t, err)
			require.Equal(t, "{}", string(got), "what failed is not kept")
		})
	}
}
