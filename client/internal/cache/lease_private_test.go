package cache

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// The state of the clocks of a machine that slept: the time by the monotonic clock, which was
// stopped, and the time by the wall clock.
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
		l.wall = now.UnixNano() - int64(tt.wall) // the wall clock was set meanwhile
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
		d := (&settings{}).spread(time.Hour)
		require.LessOrEqual(t, d, time.Hour)
		require.Greater(t, d, 54*time.Minute)
		seen[d] = true
		require.Equal(t, time.Hour, (&settings{ExactTTL: true}).spread(time.Hour))
	}
	require.Greater(t, len(seen), 900)
}

// After the machine slept, a list is stale, and not merely just expired. A clock that is set back
// has no effect.
func TestSuspendedMachine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := New(toolcache.Settings{ExactTTL: true, Revalidate: 30 * time.Second})
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
		pretend := func(wall time.Duration) { // sets how far the wall clock is ahead
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

// A stored entry is checked like untrusted input.
func FuzzStoredEntry(f *testing.F) {
	for _, list := range []string{`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`, `{"tools":[]}`, `{"tools":[{"name":7}]}`, `null`, `{}`} {
		f.Add([]byte(list))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := listingOf(&toolcache.Entry{List: data, Hash: hashOf(data)})
		if err != nil {
			require.ErrorIs(t, err, errEntry)
			return
		}
		// The list can be stored again, unchanged.
		s := newSnapshot(list, 0, lease{})
		again, hash, err := s.encoded()
		require.NoError(t, err)
		back, err := listingOf(&toolcache.Entry{List: again, Hash: hash})
		require.NoError(t, err)
		require.Len(t, back.Tools, len(s.tools))
		require.True(t, json.Valid(again))
	})
}
