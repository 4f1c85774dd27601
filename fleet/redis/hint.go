package fleetredis

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"time"
	"unicode/utf8"
)

// The kinds of hints.
const (
	kindOpen    = "open"    // the node's breaker is OPEN
	kindClosed  = "closed"  // it is CLOSED again, because of the node's own calls
	kindProbing = "probing" // the node has the lease on the probe
	kindLeft    = "left"    // the node leaves: its hints no longer count
	kindHold    = "hold"    // the server throttles (429)
)

const (
	// maxHint limits how long a hint lasts. It is the longest cooldown, and the longest
	// Retry-After that is accepted.
	maxHint = 5 * time.Minute
	// maxHintBytes limits an encoded hint. Hints of this package have about 400 bytes,
	// and less than this even if JSON escapes every byte of the longest names.
	maxHintBytes = 2048
	maxName      = 128
	maxReason    = 120
)

// hint is one message of a node to the others. It has durations instead of times, so that
// the clocks of two machines need not agree. A signed hint also has the time, which limits
// how long a copy of it can be used.
type hint struct {
	kind   string
	node   string
	server string // digest of the name
	cred   string // digest of the credential, for kindHold
	// lasts is how long the hint is valid after it was sent.
	lasts time.Duration
	// seq orders the node's hints about one server. It is the generation of its breaker.
	seq uint64
	// sent is when the node signed it, by its own clock and in microseconds since
	// 1970, 0 where hints are not signed. It grows with every hint of a node.
	sent int64
	// reason is for people who look into Redis. It is never read back.
	reason string
}

// frame is the form of a hint in Redis.
type frame struct {
	V      int    `json:"v"`
	Kind   string `json:"kind"`
	Node   string `json:"node"`
	Server string `json:"server"`
	Cred   string `json:"cred,omitempty"`
	MS     int64  `json:"ms,omitempty"`
	Seq    uint64 `json:"seq,omitempty"`
	Sent   int64  `json:"sent,omitempty"`
	Reason string `json:"reason,omitempty"`
}

const version = 1

func (h hint) encode() string {
	raw, err := json.Marshal(frame{
		V: version, Kind: h.kind, Node: h.node, Server: h.server, Cred: h.cred,
		MS: milliseconds(h.lasts), Seq: h.seq, Sent: h.sent, Reason: clip(h.reason, maxReason),
	})
	if err != nil {
		return "" // cannot happen: strings and numbers
	}
	return string(raw)
}

var errHint = errors.New("not a hint of this version")

// parseHint reads an untrusted hint. It accepts only the form that this version writes.
func parseHint(raw string) (hint, error) {
	var f frame
	if len(raw) > maxHintBytes || json.Unmarshal([]byte(raw), &f) != nil {
		return hint{}, errHint
	}
	h := hint{kind: f.Kind, node: f.Node, server: f.Server, cred: f.Cred, seq: f.Seq, sent: f.Sent}
	lasting := true
	switch f.Kind {
	case kindOpen, kindProbing:
	case kindClosed, kindLeft:
		lasting = false
	case kindHold:
		if !isDigest(f.Cred) {
			return hint{}, errHint
		}
	default:
		return hint{}, errHint
	}
	if f.V != version || !isName(f.Node) || !isDigest(f.Server) || f.MS < 0 || lasting && f.MS == 0 {
		return hint{}, errHint
	}
	h.lasts = duration(f.MS)
	return h, nil
}

// milliseconds rounds up, so that a hint does not end before the state that it reports.
func milliseconds(d time.Duration) int64 {
	return int64((min(max(d, 0), maxHint) + time.Millisecond - 1) / time.Millisecond)
}

// duration returns an untrusted number of milliseconds as a valid duration.
func duration(ms int64) time.Duration {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return maxHint
	}
	return min(time.Duration(max(ms, 0))*time.Millisecond, maxHint)
}

// digest returns the digest that replaces a name in Redis. Names of servers and credentials
// may contain secrets, and keys should be short.
func digest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:digestLen/2])
}

const digestLen = 32

func isDigest(s string) bool {
	if len(s) != digestLen {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// isName reports whether s can be the name of a node: short, printable ASCII without
// spaces, so that keys and logs can contain it.
func isName(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return s != "" && len(s) <= maxName
}

// clip shortens a text to at most n bytes of valid UTF-8.
func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
		for !utf8.ValidString(s) && s != "" {
			s = s[:len(s)-1]
		}
	}
	return s
}
