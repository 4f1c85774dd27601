package breaker

import "fmt"

// Mode tells who decides about calls: the state of the breaker, or an operator.
type Mode uint8

const (
	// Auto lets the state decide. It is the zero value.
	Auto Mode = iota
	// ForcedOpen refuses every call in every state.
	ForcedOpen
	// Bypass lets every call through in every state, and ignores the verdicts of
	// these calls. Only a throttle still refuses calls.
	Bypass
)

// String returns "auto", "forced_open" or "bypass".
func (m Mode) String() string {
	switch m {
	case Auto:
		return "auto"
	case ForcedOpen:
		return "forced_open"
	case Bypass:
		return "bypass"
	default:
		return fmt.Sprintf("Mode(%d)", uint8(m))
	}
}

// MarshalText implements [encoding.TextMarshaler]. It returns the same name as
// String.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Force sets the mode. [Auto] returns the decision to the state. An unknown
// mode is Auto. The state does not change while a mode is set, except through
// permits given before. Force causes no transition: only Snapshot and refusals
// show the mode.
func (b *Breaker) Force(m Mode) {
	if m > Bypass {
		m = Auto
	}
	b.mode.Store(uint32(m))
}
