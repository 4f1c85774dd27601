package breaker

import "fmt"

// State is the state of a breaker: [Closed], [Open] or [HalfOpen].
type State int

const (
	// Closed lets every call through.
	Closed State = iota
	// Open refuses every call until the cooldown has passed.
	Open
	// HalfOpen lets the probe through and refuses all other calls.
	HalfOpen
)

// String returns "CLOSED", "OPEN" or "HALF_OPEN".
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

// MarshalText implements [encoding.TextMarshaler]. It returns the same name as
// String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Verdict is what a call proved about the peer.
type Verdict uint8

const (
	// Neutral means that the call proved nothing, for example because the caller
	// canceled it or a limit refused it. It does not change the run of failures,
	// and frees the place of a probe. It is the zero value.
	Neutral Verdict = iota
	// Success means that the peer works. In CLOSED it ends a run of failures. In
	// HALF_OPEN it closes the breaker.
	Success
	// Failure means that the peer does not work. It extends the run of failures.
	Failure
	// Tentative is the Success of a call that proves little. For example, a ping
	// proves that the peer is alive, but its tools may still fail. The Tentative
	// verdict of a probe closes the breaker on probation: until the first Success,
	// one Failure opens it again. In CLOSED it changes nothing.
	Tentative
	// Fatal is a Failure that opens the breaker at once.
	Fatal
)

// String returns "neutral", "success", "failure", "tentative" or "fatal".
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
