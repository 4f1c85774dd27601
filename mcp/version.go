package mcp

// Version is a revision of the protocol, named by its date. Compare with
// [Version.AtLeast], never as strings: the order is the table's, and a peer may
// send any text.
type Version string

// The published revisions.
const (
	Version2024_11_05 Version = "2024-11-05"
	Version2025_03_26 Version = "2025-03-26"
	Version2025_06_18 Version = "2025-06-18"
	Version2025_11_25 Version = "2025-11-25"
	Version2026_07_28 Version = "2026-07-28"
)

const (
	// LatestSession is the newest revision that opens with initialize.
	LatestSession = Version2025_11_25
	// Latest is the newest revision this package speaks.
	Latest = Version2026_07_28
)

// Era tells how a revision starts a conversation.
type Era uint8

const (
	// EraUnknown is the era of an unknown revision.
	EraUnknown Era = iota
	// EraSession revisions open with initialize and keep a session.
	EraSession
	// EraStateless revisions carry version and capabilities on each request.
	EraStateless
)

// String returns "session", "stateless" or "unknown".
func (e Era) String() string {
	switch e {
	case EraSession:
		return "session"
	case EraStateless:
		return "stateless"
	default:
		return "unknown"
	}
}

// revisions is every revision, oldest first. A new revision is a new last row.
var revisions = [...]struct {
	version Version
	era     Era
}{
	{Version2024_11_05, EraSession},
	{Version2025_03_26, EraSession},
	{Version2025_06_18, EraSession},
	{Version2025_11_25, EraSession},
	{Version2026_07_28, EraStateless},
}

// Versions returns every known revision, oldest first. The slice is the
// caller's own.
func Versions() []Version {
	out := make([]Version, len(revisions))
	for i, r := range revisions {
		out[i] = r.version
	}
	return out
}

// ParseVersion returns s as a Version and whether it is a known revision.
func ParseVersion(s string) (Version, bool) {
	v := Version(s)
	return v, v.Known()
}

// Known reports whether v is a published revision this package speaks.
func (v Version) Known() bool { return v.place() >= 0 }

// Era returns the era of v, [EraUnknown] for an unknown revision.
func (v Version) Era() Era {
	if i := v.place(); i >= 0 {
		return revisions[i].era
	}
	return EraUnknown
}

// AtLeast reports whether v is w or a later revision. It is false when either
// is unknown.
func (v Version) AtLeast(w Version) bool {
	i, j := v.place(), w.place()
	return i >= 0 && j >= 0 && i >= j
}

// String returns the revision's date.
func (v Version) String() string { return string(v) }

func (v Version) place() int {
	for i := range revisions {
		if revisions[i].version == v {
			return i
		}
	}
	return -1
}

// Newest returns the newest known revision in offered that is of the given era. Use it
// to choose from a server's list. ok is false if there is none. [EraUnknown] accepts
// both eras.
func Newest(offered []string, era Era) (v Version, ok bool) {
	best := -1
	for _, s := range offered {
		i := Version(s).place()
		if i > best && (era == EraUnknown || revisions[i].era == era) {
			best = i
		}
	}
	if best < 0 {
		return "", false
	}
	return revisions[best].version, true
}
