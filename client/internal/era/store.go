package era

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Found is what was found about a server: how to begin with it. It is a hint: if
// it is wrong, that costs a request, never a connection.
type Found struct {
	// Version tells the era. It is the revision that is spoken in the stateless
	// era, and the offered one in the session era.
	Version mcp.Version `json:"version"`
	// Fallback says that the server was reached over the transport's fallback.
	Fallback bool `json:"fallback,omitempty"`
	// At is when it was found.
	At time.Time `json:"at"`
}

// sessionLife is how long what was found of a session server is used. It never
// proves wrong: a server that learns the new era still answers initialize. That a
// server is stateless proves wrong with an error, and needs no end.
const sessionLife = 24 * time.Hour

func (f Found) usable(now time.Time) bool {
	switch f.Version.Era() {
	case mcp.EraStateless:
		return true
	case mcp.EraSession:
		age := now.Sub(f.At)
		return age >= 0 && age < sessionLife // clocks are set back too
	case mcp.EraUnknown: // of a revision that another version of this package knew
	}
	return false
}

// Store remembers what was found about servers. Its methods may be called from
// many goroutines at once.
type Store interface {
	Load(key string) (Found, bool)
	Save(key string, f Found) error
	Forget(key string) error
}

// memoryServers is how many servers a store in memory remembers.
const memoryServers = 1024

// NewMemory returns a store in memory for 1,024 servers, which forgets the least
// recently used.
func NewMemory() Store {
	kept, _ := lru.New[string, Found](memoryServers) // fails for a size below one only
	return memory{kept}
}

type memory struct{ kept *lru.Cache[string, Found] }

// Load implements [Store].
func (m memory) Load(key string) (Found, bool) { return m.kept.Get(key) }

// Save implements [Store].
func (m memory) Save(key string, f Found) error {
	m.kept.Add(key, f)
	return nil
}

// Forget implements [Store].
func (m memory) Forget(key string) error {
	m.kept.Remove(key)
	return nil
}

// keyOf returns the key of a transport's server, "" for one that is not
// remembered: another server may be at the other end of a stream next time.
func keyOf(t transport.Transport) string {
	if _, stream := t.(*transport.Stream); stream {
		return ""
	}
	if t, ok := t.(link.Identified); ok {
		return t.Identity()
	}
	return ""
}
