package client

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Verdict is what was found out about a server: how to begin with it. It is a
// hint. One that has become wrong costs a request, never a connection.
type Verdict struct {
	// Version tells the era. In the stateless era it is the revision that was
	// spoken, in the session era the one that was offered.
	Version mcp.Version `json:"version"`
	// Fallback says that the server was reached over what
	// [transport.Fallback] gives, not over the transport itself.
	Fallback bool `json:"fallback,omitempty"`
	// At is when it was found out.
	At time.Time `json:"at"`
}

// sessionVerdictLife is how long a verdict for the session era holds. It never
// turns out to be wrong by itself: a server that has learnt the new era goes on
// to answer initialize. Verdicts for the stateless era fail loudly and need no
// end (NEG-11).
const sessionVerdictLife = 24 * time.Hour

func (v Verdict) usable(now time.Time) bool {
	switch v.Version.Era() {
	case mcp.EraStateless:
		return true
	case mcp.EraSession:
		age := now.Sub(v.At)
		return age >= 0 && age < sessionVerdictLife // clocks are set back too
	case mcp.EraUnknown: // of a revision that another version of this package knew
	}
	return false
}

// VerdictStore remembers verdicts, so that finding out is done once a server
// and not once a connection. Its methods may be called from many goroutines at
// once and should not take long: Connect waits for them. A store that fails is
// a store that does not know.
//
// key tells a server from every other one and holds no secret: see
// [transport.Identified]. Servers that cannot be told apart, such as streams,
// are never remembered.
type VerdictStore interface {
	// Load returns what was saved last, whatever its age, and whether there is
	// anything.
	Load(key string) (Verdict, bool)
	// Save remembers v in place of what was known.
	Save(key string, v Verdict) error
	// Forget drops what is known. Nothing known is no error.
	Forget(key string) error
}

// WithVerdicts sets where the client remembers which era a server speaks. The
// default is the memory of this process, shared by all clients; nil remembers
// nothing. A client whose revision is pinned does not look there.
func WithVerdicts(s VerdictStore) Option {
	return optionFunc(func(c *config) { c.era.verdicts = s })
}

// processVerdicts is the default store.
var processVerdicts = sync.OnceValue(MemoryVerdicts)

// memoryVerdicts is how many servers are remembered in memory.
const memoryVerdicts = 1024

// MemoryVerdicts returns a store in memory for 1,024 servers; those not asked
// for the longest are forgotten first.
func MemoryVerdicts() VerdictStore {
	kept, _ := lru.New[string, Verdict](memoryVerdicts) // fails for a size below one only
	return memory{kept}
}

type memory struct{ kept *lru.Cache[string, Verdict] }

// Load implements [VerdictStore].
func (m memory) Load(key string) (Verdict, bool) { return m.kept.Get(key) }

// Save implements [VerdictStore].
func (m memory) Save(key string, v Verdict) error {
	m.kept.Add(key, v)
	return nil
}

// Forget implements [VerdictStore].
func (m memory) Forget(key string) error {
	m.kept.Remove(key)
	return nil
}

// verdictKey is the key of a transport's server, "" for one that is not
// remembered: a stream is whatever is at its other end this time.
func verdictKey(t transport.Transport) string {
	if _, stream := t.(*transport.Stream); stream {
		return ""
	}
	if t, ok := t.(transport.Identified); ok {
		return t.Identity()
	}
	return ""
}
