package toolcache

import "time"

// Status is how a list stands, for health reports.
type Status struct {
	// Tools is how many the list has; Refused how many were too large for it.
	Tools, Refused int
	// Age is how long ago it came, TTL how long it is fresh.
	Age, TTL time.Duration
	// Fresh says that it answers without asking the server. Public is what the
	// server says of it.
	Fresh, Public bool
	// Epoch counts what made it stale before its time: invalidations, changes
	// the server told of, and refused credentials.
	Epoch uint64
	// Hash is the SHA-256 of the tools, in hexadecimal: equal for equal lists.
	Hash string
}

// Status returns how the list of key stands; ok is false when there is none yet.
// One that was invalidated or cleared is there and not fresh. It does no I/O and
// changes nothing. The hash is made once for each list that is fetched, when it is
// first asked for.
func (c *Cache) Status(key Key) (st Status, ok bool) {
	l := c.find(&key)
	if l == nil {
		return Status{}, false
	}
	s, now := l.snap.Load(), time.Now()
	if s == nil {
		return Status{}, false
	}
	return Status{
		Tools: len(s.tools), Refused: len(s.large),
		Age: s.lease.age(now), TTL: s.lease.ttl,
		Fresh: l.fresh(s, now), Public: s.public,
		Epoch: l.epoch.Load(), Hash: s.hash(),
	}, true
}
