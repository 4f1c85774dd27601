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
//	CLOSED    --5 failures in a row---------------------------> OPEN
//	OPEN      --first Acquire after more than the cooldown----> HALF_OPEN
//	HALF_OPEN --success of the probe--------------------------> CLOSED
//	HALF_OPEN --failure of the probe, or its lease runs out---> OPEN
//
// Every move starts a new generation; a permit settled in a later generation
// than its own has no effect. Nothing but Acquire and Settle changes the state:
// [Breaker.State] and [Breaker.Snapshot] only read.
//
// A breaker that counts failures in a row sees near-total failure only: where
// one call in two fails it takes about 60 calls to open. Partial failure is a
// matter for a retry budget, not for this package.
//
// The counting is done by github.com/sony/gobreaker/v2. This package adds
// neutral outcomes that give the probe's place back, permits that settle once,
// a lease on the probe, reads without locks, and transitions told in order
// outside of all locks.
package breaker
