// Package breaker stops calls to a peer that fails, and lets one call through
// from time to time to find out whether the peer has recovered.
//
//	b := breaker.New(breaker.Settings{Name: "db"})
//	permit, err := b.Acquire()
//	if err != nil {
//		return err // errors.Is(err, breaker.ErrOpen)
//	}
//	permit.Settle(breaker.Success)
//
// The states and all transitions between them:
//
//	CLOSED    --5 failures in a row, or a fatal one----------> OPEN
//	OPEN      --first Acquire after the cooldown--------------> HALF_OPEN
//	HALF_OPEN --the probe succeeds----------------------------> CLOSED
//	HALF_OPEN --the probe fails, or its lease ends------------> OPEN
//	OPEN      --the trip that opened it is retracted----------> CLOSED
//	OPEN, HALF_OPEN --the peer is replaced by a new one-------> CLOSED
//
// Each transition starts a new generation. Settling a permit has an effect only
// in the generation that gave it, and only once. The state changes only through
// Acquire, settled permits, [Breaker.Trip], [Tripped.Retract] and
// [Breaker.Renewed]. [Breaker.State], [Breaker.Peek] and [Breaker.Snapshot]
// only read it.
//
// # Verdicts
//
// [Success] and [Failure] count. [Neutral] means that the call proved nothing,
// for example because the caller canceled it. It does not change the run of
// failures, and it frees the place of a probe. [Tentative] is the success of a
// probe that proves little, such as a ping. It closes the breaker on probation:
// one failure opens it again until a call succeeds. [Fatal] is a failure that
// opens the breaker on its own.
//
// # Throttles, modes and suspicion
//
// [Breaker.Throttle] refuses all calls until the time that the peer asked for
// (Retry-After), in every state. [Breaker.Force] lets an operator refuse all
// calls or let all calls through. [Breaker.Suspect] lowers the threshold to 1
// for a while.
//
// # Waiting before a call
//
// A caller that must wait for a free place or for a rate limit calls Peek,
// waits, and then calls Acquire. An open breaker then refuses before the wait,
// and no waiting caller occupies the place of the probe. Never send on the
// result of Peek alone: only a permit allows a call.
//
// # Sharing
//
// A breaker belongs to a peer, not to a connection. Give the same breaker to
// all clients of a server, so that they learn from each other's failures. A
// [Group] holds a breaker for each of many keys, such as the tools of a server.
//
// # Limits
//
// A breaker that counts failures in a row detects near-total failure only. If
// one call in two fails, it takes about 60 calls to open. Use a retry budget
// against partial failure. Verdicts count in the order in which permits are
// settled: the late success of a slow call ends a run of failures that began
// after the call. A breaker does not notice calls that hang until they end. A
// watcher that detects silence reports it with Trip. If the peer was only busy,
// the watcher calls Retract, which closes the breaker on probation, but only if
// that very Trip opened it.
//
// # Engine and cost
//
// The package github.com/sony/gobreaker/v2 counts failures and probes. A call
// through a CLOSED breaker takes no lock and reads no clock if the last calls
// succeeded. A refusal reads the clock once. Transitions are reported in order
// and outside all locks. Callbacks run on a short-lived goroutine, so a Breaker
// needs no Close.
package breaker
