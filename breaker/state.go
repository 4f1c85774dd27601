package breaker

import "fmt"

// State is one of [Closed], [Open] and [HalfOpen].
type State int

const (
	// Closed lets every call through.
	Closed State = iota
	// Open refuses every call until the cooldown has passed.
	Open
	// HalfOpen lets the probe through and refuses the rest.
	HalfOpen
)

// String returns CLOSED, OPEN or HALF_OPEN.
func (s State) String() string {
	switch s {
	case Closed:
		return "CLOSED"
	case Open:
		return "OPEN"
	case HalfOpen:
		return "HALF_OPEN"
	default:
		return fmt.Sprintf("State(%d)", int(s))
	}
}

// MarshalText implements [encoding.TextMarshaler] with the names of String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Verdict is what a permit's holder learnt about the peer.
type Verdict uint8

const (
	// Neutral: nothing was learnt (the caller gave up, a limit refused). The
	// run stays as it is; a probe's place is free again. It is the zero value:
	// a verdict that nobody formed proves nothing.
	Neutral Verdict = iota
	// Success: the peer is well. In CLOSED it ends a run of failures, in
	// HALF_OPEN it closes the breaker.
	Success
	// Failure: the peer is not well. It lengthens the run of failures.
	Failure
	// Tentative is the Success of a call that proves little (a ping: the peer
	// lives, its work may still fail). As the verdict of a probe it closes the
	// breaker in probation: until the first Success one Failure opens it
	// again. In CLOSED it changes nothing.
	Tentative
	// Fatal is a Failure that opens the breaker alone, however short the
	// run.
	Fatal
)

// String returns neutral, success, failure, tentative or fatal.
func (v Verdict) String() string {
	switch v {
	case Success:
		return "success"
	case Failure:
		return "failure"
	case Neutral:
		return "neutral"
	case Tentative:
		return "tentative"
	case Fatal:
		return "fatal"
	default:
		return fmt.Sprintf("Verdict(%d)", uint8(v))
	}
}
