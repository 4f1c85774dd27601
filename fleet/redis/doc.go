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
// Everything is a hint; the breaker of each process goes on deciding by itself,
// and no call waits for Redis, but for one that has to fetch a list of tools
// anyway and looks into [Fleet.Store] before, for 50 ms at most:
//
//   - One node that reports a server OPEN makes the breakers of the others
//     suspicious: the next failure opens them, instead of the fifth.
//   - Ten percent of the nodes, two at least, open it for the others before they
//     have failed themselves. They do not report what they were told.
//   - While the server is down one node at a time probes it, for six seconds.
//     The others refuse for up to two seconds more, then ask again. Once a probe
//     has gone well everybody probes by the next call.
//   - When a server asks to be left alone (Retry-After), nodes with the same
//     [Share.Credential] leave it alone. Nothing else is shared by credential.
//   - Lists of tools that a server calls public may be kept in Redis for all,
//     where the cache is told to ([Fleet.Store]); no others ever are. The nodes
//     share neither a count of changes nor a lease on fetching: two may fetch
//     the same list, and one that has changed meanwhile may be put back by a
//     node that began before, and be taken for fresh for the rest of the time
//     that the server gave it, an hour at most.
//   - Only digests of names leave the process, and durations; signed hints have
//     the time too. All keys expire.
//
// Without Redis, or with one that is slow, each node behaves as if it were
// alone. The exchange is bounded by 50 ms and stands behind a breaker of its
// own; what is found in Redis that is not of this package is ignored and
// counted. [Fleet.Stats] has the numbers.
//
// # Others that use the same Redis
//
// Without [Settings].SigningKeys nothing is signed. Then any client that can
// publish to the channel, or write to the keys, can pretend to be many nodes and
// make the fleet refuse calls for a cooldown, or for five minutes by a hold or a
// lease. One that can write can also change a list of tools in [Fleet.Store].
//
// With keys, hints, leases and lists are signed, and what has no valid signature
// is refused, counted in [Stats] and logged once. A signature covers everything in
// a hint, the prefix of the fleet and the time. A copy that is sent again is
// refused by the nodes that have heard the hint; elsewhere it lasts no longer than
// the hint would have, give or take 30 s. A client without the key can still
// delete what is in Redis, or flood the channel: then each node behaves as if it
// were alone. Signatures do not hide anything.
//
// No client of Redis, with or without a key, can make a node send anything.
//
// The name of the package differs from that of its folder, since programs that
// use it import go-redis beside it.
package fleetredis
