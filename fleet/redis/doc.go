// Package fleetredis lets the processes of a fleet tell each other, over Redis,
// what their circuit breakers have learnt about the servers they share.
//
//	fleet, err := fleetredis.Join(ctx, fleetredis.Settings{
//		Redis: redis.UniversalOptions{Addrs: []string{"redis:6379"}},
//	})
//	if err != nil {
//		return err // a wrong setting; Redis need not be there
//	}
//	defer fleet.Close()
//
//	c, err := client.Dial(ctx, url)
//	…
//	detach, err := fleet.Attach(c.Breaker(), fleetredis.Share{Server: url, Credential: user, Gate: c})
//
// Everything that nodes share is a hint: the breaker of each process still decides.
// No call waits for Redis, with one exception: a fetch of a list of tools first
// looks into [Fleet.Store], for at most 50 ms.
//   - If one node reports a server OPEN, the breakers of the other nodes become
//     suspicious: the next failure opens them, instead of the fifth.
//   - If ten percent of the nodes report it, and at least two, the breakers of all
//     nodes open before they fail themselves. Nodes report only their own failures.
//   - While the server is down, one node at a time probes it, for up to six
//     seconds. The others refuse calls for up to two seconds more, then ask again.
//     After a successful probe, each node probes with its next call.
//   - If a server throttles a node (Retry-After), all nodes with the same
//     [Share.Credential] hold their calls back. Credentials affect nothing else.
//   - Lists of tools that a server calls public can be kept in Redis for all nodes,
//     if the cache is configured so ([Fleet.Store]); other lists never are. The nodes
//     do not coordinate fetches: two nodes may fetch the same list. A node that began
//     its fetch earlier may store an older list, which then counts as fresh for the
//     rest of the server's time to live, at most an hour.
//   - Only digests of names and durations leave the process; signed hints also have
//     the time. All keys expire.
//
// If Redis is missing or slow, each node behaves as if it were alone. An exchange
// takes at most 50 ms and has a breaker of its own. Data in Redis that is not from
// this package is ignored and counted. [Fleet.Stats] returns the counters.
//
// # Other users of the same Redis
//
// Without [Settings.SigningKeys] nothing is signed. A client that can publish to the
// channel or write to the keys can then pretend to be many nodes. It can make the
// fleet refuse calls for a cooldown, or for five minutes by a throttle or a lease.
// A client that can write can also change a list of tools in [Fleet.Store].
//
// With keys, hints, leases and lists are signed. Data without a valid signature is
// refused, counted in [Stats], and logged once. A signature covers the whole hint,
// the prefix of the fleet and the time. Nodes refuse a repeated hint that they have
// received before. For other nodes it is valid no longer than the original, with a
// tolerance of 30 s. A client without a key can still delete data in Redis or flood
// the channel: each node then behaves as if it were alone. Signatures do not encrypt.
//
// No client of Redis, with or without a key, can make a node send anything.
//
// # Experimental
//
// This package, its settings and the format of its hints may change.
//
// The name of the package differs from its folder, because programs that use it also
// import go-redis.
package fleetredis
