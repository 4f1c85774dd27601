package breaker

import "fmt"

// Mode says whether the breaker decides, or an operator has.
type Mode uint8

const (
	// Auto: the state decides. It is the zero value.
	Auto Mode = iota
	// ForcedOpen: every call is refused, whatever the state.
	ForcedOpen
	// Bypass: every call goes through, whatever the state, and no verdict of
	// such a call has an effect. Only a hold still refuses.
	Bypass
)

// String returns auto, forced_open or bypass.
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

// MarshalText implements [encoding.TextMarshaler] with the names of String.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Force overrules the state until it is called again; [Auto] gives the
// decision back to the state, which has stayed what it was but for the permits
// given before. A mode that does not exist is Auto. It is no transition: only
// [Snapshot] and refusals tell of it.
func (b *Breaker) Force(m Mode) {
	if m > Bypass {
		m = Auto
	}
	b.mode.Store(uint32(m))
}
