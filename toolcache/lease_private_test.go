package toolcache

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// What the clocks say of a machine that slept is two numbers: how long by the
// monotonic clock, which stood still, and how long by the wall.
func TestLease(t *testing.T) {
	t.Parallel()
	at := time.Now()
	for name, tt := range map[string]struct {
		ttl, monotonic, wall time.Duration
		holds                bool
		age, over            time.Duration
	}{
		"just begun":             {time.Minute, 0, 0, true, 0, 0},
		"one instant before":     {time.Minute, time.Minute - 1, time.Minute - 1, true, time.Minute - 1, 0},
		"at its end":             {time.Minute, time.Minute, time.Minute, false, time.Minute, 0},
		"after it":               {time.Minute, time.Hour, time.Hour, false, time.Hour, 59 * time.Minute},
		"nothing to hold":        {0, 0, 0, false, 0, 0},
		"slept 8 h (G2)":         {24 * time.Hour, time.Minute, 8 * time.Hour, false, 8 * time.Hour, 0},
		"slept 5 s":              {time.Minute, time.Second, 6 * time.Second, true, time.Second, 0},
		"slept more than 5 s":    {time.Minute, time.Second, 6*time.Second + 1, false, 6*time.Second + 1, 0},
		"clock set back an hour": {time.Minute, time.Second, -time.Hour, true, time.Second, 0},
		"set back, and over":     {time.Minute, time.Minute, -time.Hour, false, time.Minute, 0},
	} {
		l := newLease(at, tt.ttl)
		now := at.Add(tt.monotonic)
		l.wall = now.UnixNano() - int64(tt.wall) // the wall clock went elsewhere meanwhile
		require.Equal(t, tt.holds, l.holds(now), name)
		require.Equal(t, tt.age, l.age(now), name)
		require.Equal(t, tt.over, l.over(now), name)
	}
}

func TestJitter(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Minute, shortened(time.Minute, 0))
	require.Equal(t, 57*time.Second, shortened(time.Minute, 0.5))
	require.Zero(t, shortened(0, 0.5))
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := (&Settings{}).spread(time.Hour)
		require.LessOrEqual(t, d, time.Hour)
		require.Greater(t, d, 54*time.Minute)
		seen[d] = true
		require.Equal(t, time.Hour, (&Settings{ExactTTL: true}).spread(time.Hour))
	}
	require.Greater(t, len(seen), 900)
}

// G2: after a machine slept, a list is stale, and does not pass for one that has
// just ended either. G1: a clock that is set back means nothing.
func TestSuspendedMachine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Settings{ExactTTL: true, Revalidate: 30 * time.Second})
		require.NoError(t, err)
		key, asked := Key{Server: "s"}, 0
		fetch := func(context.Context) (Listing, error) {
			asked++
			return Listing{Tools: []mcp.Tool{{Name: "a"}}}, nil
		}
		response := func(context.Context) (Response, error) {
			asked++
			ttl := time.Hour
			return Response{Result: []byte(`{}`), TTL: &ttl}, nil
		}
		read := func() {
			_, err := c.Get(t.Context(), key, "a", fetch)
			require.NoError(t, err)
			_, _, err = c.Response(t.Context(), ResponseKey{Key: key, Method: "resources/read"}, false, response)
			require.NoError(t, err)
		}
		pretend := func(wall time.Duration) { // that the wall clock has advanced beside the other
			s := *c.find(&key).snap.Load()
			s.lease.wall -= int64(wall)
			c.find(&key).snap.Store(&s)
			e, _ := c.responses.kept.peek(ResponseKey{Key: key, Method: "resources/read"})
			e.lease.wall -= int64(wall)
		}
		read()
		read()
		require.Equal(t, 2, asked)
		pretend(-time.Hour)
		read()
		require.Equal(t, 2, asked)
		pretend(9 * time.Hour)
		_, fresh, ok := c.Lookup(key, "a")
		require.True(t, ok)
		require.False(t, fresh)
		read()
		require.Equal(t, 4, asked)
		read()
		require.Equal(t, 4, asked)
	})
}

// What is in the store is read like anything a stranger wrote.
func FuzzStoredFile(f *testing.F) {
	key := storeKey(Key{Server: "s"})
	good := func(list string, head string) []byte {
		if head == "" {
			head = `{"format":1,"key":"` + key + `","hash":"` + hashOf([]byte(list)) + `","at":"2026-01-01T00:00:00Z","ttlMs":1000}`
		}
		return []byte(head + "\n" + list)
	}
	f.Add(good(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`, ""))
	f.Add(good(`{"tools":[]}`, ""))
	f.Add(good(`{"tools":[{"name":7}]}`, ""))
	f.Add(good(`null`, ""))
	f.Add(good(`{}`, `{"format":2}`))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entry, err := parseFile(data, key)
		if err != nil {
			require.ErrorIs(t, err, errEntry)
			return
		}
		require.Equal(t, hashOf(entry.List), entry.Hash)
		if entry.TTL != nil {
			require.GreaterOrEqual(t, *entry.TTL, time.Duration(0))
			require.LessOrEqual(t, *entry.TTL, maxTTL)
		}
		list, err := entry.listing()
		if err != nil {
			require.ErrorIs(t, err, errEntry)
			return
		}
		// What was taken can be kept again, and says the same then.
		s := newSnapshot(list, 0, lease{})
		again, hash, err := s.encoded()
		require.NoError(t, err)
		back, err := (&Entry{List: again, Hash: hash}).listing()
		require.NoError(t, err)
		require.Len(t, back.Tools, len(s.tools))
		require.True(t, json.Valid(again))
	})
}
