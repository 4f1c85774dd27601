package server

import (
	"crypto/rand"
	"net/netip"
	"sync"
	"time"
)

// How long an HTTP session may be unused: by default, and before its handshake is
// complete.
const (
	defaultSessionIdle = 30 * time.Minute
	handshakeTimeout   = time.Minute
)

// sessionLimit bounds the HTTP sessions of all endpoints together, and those of
// one address. When a bound is reached a new session takes the place of the one
// that has been unused for longest, so that nobody can lock others out by opening
// sessions and leaving them. Its methods may be called concurrently.
type sessionLimit struct {
	most       int
	perAddress int
	idle       time.Duration

	mu    sync.Mutex
	slots map[string]*slot // by key
}

// slot is the place of one session. Its fields are guarded by the limit's mutex.
type slot struct {
	limit   *sessionLimit
	key     string
	address string
	end     func() // ends the session; nil until there is one
	ready   bool   // the handshake is complete
	running int    // requests and streams
	since   time.Time
	timer   *time.Timer
}

func newSessionLimit(most, perAddress int, idle time.Duration) *sessionLimit {
	return &sessionLimit{most: most, perAddress: perAddress, idle: idle, slots: map[string]*slot{}}
}

// reserve returns a slot for a client at address, in use until [slot.leave]. It
// ends an unused session when there is no room, and returns nil when all are in use.
func (l *sessionLimit) reserve(address string) *slot {
	s := &slot{limit: l, key: rand.Text(), address: group(address), running: 1}
	l.mu.Lock()
	evicted, room := l.room(s.address)
	if evicted != nil {
		l.remove(evicted)
	}
	if room {
		l.slots[s.key] = s
	}
	l.mu.Unlock()
	if evicted != nil && evicted.end != nil {
		evicted.end()
	}
	if !room {
		return nil
	}
	return s
}

// room reports whether another session may be opened, and which one has to end for it.
func (l *sessionLimit) room(address string) (evict *slot, ok bool) {
	same := 0
	var unused, unusedSame *slot
	for _, s := range l.slots {
		here := s.address == address
		if here {
			same++
		}
		if s.running > 0 {
			continue
		}
		if s.before(unused) {
			unused = s
		}
		if here && s.before(unusedSame) {
			unusedSame = s
		}
	}
	switch {
	case same >= l.perAddress && !loopback(address):
		return unusedSame, unusedSame != nil
	case len(l.slots) >= l.most:
		return unused, unused != nil
	}
	return nil, true
}

// before reports whether s is to be ended before other: sessions whose handshake is
// not complete come first, then those that have been unused for longer.
func (s *slot) before(other *slot) bool {
	switch {
	case other == nil:
		return true
	case s.ready != other.ready:
		return !s.ready
	}
	return s.since.Before(other.since)
}

// find returns the slot with the key, or nil.
func (l *sessionLimit) find(key string) *slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.slots[key]
}

// remove frees the slot. The caller holds the mutex.
func (l *sessionLimit) remove(s *slot) {
	delete(l.slots, s.key)
	if s.timer != nil {
		s.timer.Stop()
	}
}

// bind gives the slot to a session, which end ends.
func (s *slot) bind(end func()) {
	s.limit.mu.Lock()
	defer s.limit.mu.Unlock()
	s.end = end
}

// complete notes that the handshake is complete.
func (s *slot) complete() {
	s.limit.mu.Lock()
	defer s.limit.mu.Unlock()
	s.ready = true
}

// enter marks the session as in use. It returns what ends that.
func (s *slot) enter() (leave func()) {
	s.limit.mu.Lock()
	defer s.limit.mu.Unlock()
	s.running++
	return sync.OnceFunc(s.leave)
}

// leave ends one use. A slot without a session is free then; a session ends when
// nobody uses it for long enough.
func (s *slot) leave() {
	l := s.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	s.running--
	if l.slots[s.key] != s || s.running > 0 {
		return
	}
	if s.end == nil {
		l.remove(s)
		return
	}
	s.since = time.Now()
	wait := l.idle
	if !s.ready {
		wait = min(wait, handshakeTimeout)
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, s.expire)
	} else {
		s.timer.Reset(wait)
	}
}

// expire ends a session that is still unused.
func (s *slot) expire() {
	l := s.limit
	l.mu.Lock()
	over := l.slots[s.key] == s && s.running == 0
	if over {
		l.remove(s)
	}
	l.mu.Unlock()
	if over {
		s.end()
	}
}

// release frees the slot of a session that has ended.
func (s *slot) release() {
	s.limit.mu.Lock()
	defer s.limit.mu.Unlock()
	if s.limit.slots[s.key] == s {
		s.limit.remove(s)
	}
}

// group returns what counts as one address: an IPv4 address, or the network of an
// IPv6 address that one host usually has to itself (/64).
func group(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() || ip.IsLoopback() {
		return ip.String()
	}
	network, err := ip.Prefix(64)
	if err != nil {
		return address
	}
	return network.String()
}

// loopback reports whether address is this machine: all its users have one address.
func loopback(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && ip.IsLoopback()
}
