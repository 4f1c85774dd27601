// Package breaker stops calls to a peer that is failing, and lets one call
// through from time to time to learn whether it is back.
//
//	b := breaker.New(breaker.Settings{Name: "db"})
//	permit, err := b.Acquire()
//	if err != nil {
//		return err // errors.Is(err, breaker.ErrOpen)
//	}
//	permit.Settle(breaker.Success)
//
// The states and every legal move:
//
//	CLOSED    --5 failures in a row, or a fatal one----------> OPEN
//	OPEN      --first Acquire after more than the cooldown----> HALF_OPEN
//	HALF_OPEN --success of the probe--------------------------> CLOSED
//	HALF_OPEN --failure of the probe, or its lease runs out---> OPEN
//	OPEN      --who has opened it takes that back-------------> CLOSED
//	OPEN, HALF_OPEN --a fresh peer in the place of the old one-> CLOSED
//
// Every move starts a new generation; a permit settled in a later generation
// than its own has no effect, and neither has settling a second time. Nothing
// but Acquire, settlements, [Breaker.Trip], [Tripped.Retract] and [Breaker.Renewed]
// changes the state: [Breaker.State], [Breaker.Peek] and [Breaker.Snapshot] only read.
//
// # Verdicts
//
// [Success] and [Failure] count. [Neutral] says that nothing was learnt (the
// caller gave up): it leaves the run as it is and gives a probe's place back.
// [Tentative] is the success of a probe that proves little, such as a ping: it
// closes the breaker in probation, where one failure opens it again until a
// call has succeeded. [Fatal] is a failure that opens alone.
//
// # What else keeps calls out, or lets them through
//
// [Breaker.Throttle] refuses everybody until an instant the peer has named
// (Retry-After), in every state; a hold only grows. [Breaker.Force] lets an
// operator refuse everything or let everything through. [Breaker.Suspect]
// lowers the threshold to 1 for a while.
//
// # Waiting for something else first
//
// A caller who has to wait for a place or a rate before it may call peeks,
// waits, and then acquires: a breaker that is OPEN answers before the wait,
// and nobody owns the probe's place while waiting. What keeps a peer from being
// called twice is the permit: never send with a Peek alone.
//
// # Sharing
//
// A breaker belongs to a peer, not to a connection: give the same one to every
// client of a server, and they learn from each other's failures. A [Group]
// holds one for each of many keys, such as the tools of a server.
//
// # Limits
//
// A breaker that counts failures in a row sees near-total failure only: where
// one call in two fails it takes about 60 calls to open. Partial failure is a
// matter for a retry budget, not for this package. The order is that of
// settlements: the late success of a slow call ends a run of failures that
// began after it. Calls that hang are not seen before they end; who watches for
// silence reports it with Trip, and takes it back with Retract when it was a
// busy peer: that closes in probation, and only what this Trip has opened.
//
// # Engine and cost
//
// Failures and probes are counted by github.com/sony/gobreaker/v2, which is
// asked only when something may change. A call through a CLOSED breaker whose
// peer is well takes no lock and reads no clock, and refusing costs one clock
// reading. Transitions are told in order outside of all locks, on a goroutine
// that lives while there is something to tell: a breaker has nothing to close.
package breaker
