package toolcache

import "time"

// Status is the status of a list, for health reports.
type Status struct {
	// Tools is the number of tools in the list. Refused is the number of tools
	// that were too large for it.
	Tools, Refused int
	// Age is the time since the list was fetched. TTL is how long it is fresh.
	Age, TTL time.Duration
	// Fresh reports that a read returns the list without a request. Public reports
	// that the server calls it public.
	Fresh, Public bool
	// Epoch counts the events that made the list stale early: invalidations,
	// changes reported by the server, and refused credentials.
	Epoch uint64
	// Hash is the SHA-256 digest of the tools, in hexadecimal. Equal lists have
	// equal hashes.
	Hash string
}

// Status returns the status of the list of key. ok is false if there is no
// list. A list that was invalidated or cleared exists and is not fresh. Status
// does no I/O and changes nothing. It computes the hash of a list once.
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
		Epoch: l.epoch.Load(), Hash: s.fingerprint(),
	}, true
}
