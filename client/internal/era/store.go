package era

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Found is the remembered era of a server. It is a hint: a wrong one costs a request, never a
// connection.
type Found struct {
	// Version implies the era. It is the revision in use in the stateless era, and the offered
	// revision in the session era.
	Version mcp.Version `json:"version"`
	// Fallback is set if the server was reached over the transport's fallback.
	Fallback bool `json:"fallback,omitempty"`
	// At is the time when the era was found.
	At time.Time `json:"at"`
}

// sessionLife is how long an entry of the session era is used. Such an entry never proves wrong,
// because a server that adopts the new era still answers initialize. A stateless entry proves
// wrong with an error, so it needs no limit.
const sessionLife = 24 * time.Hour

func (f Found) usable(now time.Time) bool {
	switch f.Version.Era() {
	case mcp.EraStateless:
		return true
	case mcp.EraSession:
		age := now.Sub(f.At)
		return age >= 0 && age < sessionLife // clocks can go back
	case mcp.EraUnknown: // a revision that another version of this package stored
	}
	return false
}

// Store remembers the eras of servers. Its methods may be called from many goroutines at once.
type Store interface {
	Load(key string) (Found, bool)
	Save(key string, f Found) error
	Forget(key string) error
}

// memoryServers limits the servers in a memory store.
const memoryServers = 1024

// NewMemory returns a store in memory for 1,024 servers. It removes the least recently used entry
// first.
func NewMemory() Store {
	kept, _ := lru.New[string, Found](memoryServers) // fails only for a size below one
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

// keyOf returns the key of a transport's server, "" if the server must not be remembered: a
// stream may lead to another server next time.
func keyOf(t transport.Transport) string {
	if _, stream := t.(*transport.Stream); stream {
		return ""
	}
	if t, ok := t.(link.Identified); ok {
		return t.Identity()
	}
	return ""
}
