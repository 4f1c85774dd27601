package server

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// opened is a session of a limit, and whether it has been ended.
type opened struct {
	*slot
	over atomic.Bool
}

func (o *opened) end() { o.over.Store(true) }

func (o *opened) ended() bool { return o.over.Load() }

// count returns how many places are taken.
func (l *sessionLimit) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.slots)
}

// open opens a session at address and completes its handshake.
func open(t *testing.T, l *sessionLimit, address string) *opened {
	t.Helper()
	s := l.reserve(address)
	require.NotNil(t, s)
	o := &opened{slot: s}
	s.bind(o.end)
	s.complete()
	s.leave()
	return o
}

func TestNewSessionTakesThePlaceOfTheLongestUnused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newSessionLimit(3, 3, time.Hour)
		a := open(t, l, "10.0.0.1")
		time.Sleep(time.Second)
		b := open(t, l, "10.0.0.2")
		time.Sleep(time.Second)
		busy := open(t, l, "10.0.0.3")
		leave := busy.enter()
		time.Sleep(time.Second)
		a.enter()() // used again
		time.Sleep(time.Second)

		c := open(t, l, "10.0.0.4")
		require.True(t, b.ended())
		require.False(t, a.ended() || busy.ended() || c.ended())

		half := l.reserve("10.0.0.5") // takes the place of a
		require.True(t, a.ended())
		var halfEnded atomic.Bool
		half.bind(func() { halfEnded.Store(true) })
		half.leave()
		open(t, l, "10.0.0.6")
		require.True(t, halfEnded.Load(), "a session without a complete handshake ends first")
		require.False(t, c.ended())
		leave()
	})
}

func TestSessionsInUseKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newSessionLimit(2, 2, time.Hour)
		one, two := open(t, l, "10.0.0.1"), open(t, l, "10.0.0.2")
		leave := one.enter()
		two.enter()
		require.Nil(t, l.reserve("10.0.0.3"))
		leave()
		leave() // twice is once
		require.NotNil(t, l.reserve("10.0.0.3"))
		require.True(t, one.ended())
		require.Nil(t, l.reserve("10.0.0.4"), "a reserved place is in use")
	})
}

func TestOneAddressCannotTakeAllSessions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flood []string
		same  bool
	}{
		"IPv4":             {[]string{"192.0.2.1", "192.0.2.1", "192.0.2.1"}, true},
		"IPv4 in IPv6":     {[]string{"192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1"}, true},
		"IPv6 network":     {[]string{"2001:db8::1", "2001:db8::2", "2001:db8::ffff:3"}, true},
		"two networks":     {[]string{"2001:db8::1", "2001:db8:0:1::1", "2001:db8:0:2::1"}, false},
		"this machine":     {[]string{"127.0.0.1", "127.0.0.1", "127.0.0.1"}, false},
		"this machine, v6": {[]string{"::1", "::1", "::1"}, false},
		"no address":       {[]string{"@", "@", "@"}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newSessionLimit(10, 2, time.Hour)
			other := open(t, l, "198.51.100.1")
			first := open(t, l, c.flood[0])
			time.Sleep(time.Second)
			busy := open(t, l, c.flood[1])
			leave := busy.enter()
			third := open(t, l, c.flood[2])
			require.Equal(t, c.same, first.ended(), name)
			require.False(t, other.ended() || busy.ended(), name)
			third.enter()
			if c.same {
				require.Nil(t, l.reserve(c.flood[0]), name)
			}
			require.NotNil(t, l.reserve("198.51.100.2"), name)
			leave()
		})
	}
}

func TestUnusedSessionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newSessionLimit(10, 10, 10*time.Minute)
		s := open(t, l, "10.0.0.1")
		streaming := open(t, l, "10.0.0.1")
		leave := streaming.enter()
		half := l.reserve("10.0.0.1")
		var halfEnded atomic.Bool
		half.bind(func() { halfEnded.Store(true) })
		half.leave()
		failed := l.reserve("10.0.0.1") // its initialize is refused
		failed.leave()
		require.Equal(t, 3, l.count())

		time.Sleep(time.Minute)
		synctest.Wait()
		require.True(t, halfEnded.Load())
		time.Sleep(8 * time.Minute)
		s.enter()()
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		require.False(t, s.ended(), "it was used again")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.True(t, s.ended())
		time.Sleep(time.Hour)
		synctest.Wait()
		require.False(t, streaming.ended(), "a stream is a use")
		leave()
		streaming.release()
		streaming.release()
		require.Zero(t, l.count())
	})
}
