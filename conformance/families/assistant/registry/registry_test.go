package registry

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

var now = time.Date(2025, 1, 8, 12, 0, 0, 0, time.UTC)

func TestRegistry_S4_REG_01_BetweenTheTwo(t *testing.T) {
	t.Parallel()
	r := New()
	_, ok := r.Thread("a", now)
	require.False(t, ok)
	require.NoError(t, r.Register("a", "one", now))
	thread, ok := r.Thread("a", now)
	require.True(t, ok)
	require.Equal(t, "one", thread)
	require.ErrorIs(t, r.Register("a", "two", now), ErrTaken)
	require.ErrorIs(t, r.Pin("a", "two"), ErrTaken)
	require.ErrorIs(t, r.Register("", "two", now), ErrEmpty)
	require.ErrorIs(t, r.Register("b", "", now), ErrEmpty)
	require.ErrorIs(t, r.Pin("", "two"), ErrEmpty)
	require.Equal(t, 1, r.Note("a", Saved{ID: "1"}))
	require.Equal(t, 2, r.Note("a", Saved{ID: "2"}))
	require.Equal(t, []Saved{{ID: "1"}, {ID: "2"}}, r.Saved("a"))
	require.Len(t, r.Unregister("a"), 2)
	require.Empty(t, r.Unregister("a"), "idempotent")
	_, ok = r.Thread("a", now)
	require.False(t, ok)
	require.Zero(t, r.Note("a", Saved{}))
	require.Empty(t, r.Saved("a"))
	require.Zero(t, r.Len())
}

func TestRegistry_S4_REG_03_TTL(t *testing.T) {
	t.Parallel()
	r := New()
	require.NoError(t, r.Register("a", "one", now))
	_, ok := r.Thread("a", now.Add(TTL-time.Nanosecond))
	require.True(t, ok)
	_, ok = r.Thread("a", now.Add(TTL))
	require.False(t, ok)
	require.Zero(t, r.Len())
	require.NoError(t, r.Pin("p", "pinned"))
	thread, ok := r.Thread("p", now.Add(1000*TTL))
	require.True(t, ok)
	require.Equal(t, "pinned", thread)
	require.Empty(t, r.Unregister("p"))
	_, ok = r.Thread("p", now)
	require.False(t, ok)
}

func TestRegistry_Cap(t *testing.T) {
	t.Parallel()
	r := New()
	for i := range Max {
		require.NoError(t, r.Register(fmt.Sprint(i), "t", now))
	}
	require.ErrorIs(t, r.Register("more", "t", now), ErrFull)
	require.NoError(t, r.Register("more", "t", now.Add(TTL)), "what has expired makes room")
	require.Equal(t, 1, r.Len())
}

func TestRegistry_S4_REG_04_Concurrent(t *testing.T) {
	t.Parallel()
	r := New()
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			token, thread := fmt.Sprint("token", i), fmt.Sprint("thread", i)
			for range 100 {
				if r.Register(token, thread, now) != nil {
					t.Error("not registered")
				}
				if got, ok := r.Thread(token, now); !ok || got != thread {
					t.Error("another's thread")
				}
				r.Note(token, Saved{})
				r.Unregister(token)
			}
		})
	}
	wg.Wait()
	require.Zero(t, r.Len())
}

func TestShort(t *testing.T) {
	t.Parallel()
	require.Equal(t, "12345678…", Short("12345678-1234-4123-8123-123456789012"))
	require.Equal(t, "…", Short("short"), "8 characters would be most of it")
	require.Equal(t, "…", Short(strings.Repeat("x", 15)))
	require.Equal(t, "…", Short(""))
}
