package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	// maxTools and maxSchemas bound what a server can make a cache hold: the
	// tools of a list, and the bytes of the schemas of one tool.
	maxTools   = 100_000
	maxSchemas = 1 << 20
)

// snapshot is one state of a list. It never changes.
type snapshot struct {
	*contents
	epoch  uint64 // in which the fetch began
	public bool
	stored bool           // came out of the durable store
	asked  *time.Duration // what the server asked for
	lease  lease

	borrowed bool // fetched for another partition
}

// contents are the tools of a list. Lists that say the same share them, see [twins].
type contents struct {
	tools []mcp.Tool
	index map[string]*mcp.Tool // into tools
	large map[string]int       // tools that were refused, and their bytes; mostly nil

	// The digest is made when somebody wants to know.
	once   sync.Once
	digest string
}

// newSnapshot makes a state of what was fetched. Of tools with the same name the
// first counts, also when it is refused.
func newSnapshot(from Listing, epoch uint64, lease lease) *snapshot {
	return &snapshot{
		contents: contentsOf.one(newContents(from.Tools)),
		epoch:    epoch,
		public:   from.Public,
		asked:    from.TTL,
		lease:    lease,
	}
}

func newContents(tools []mcp.Tool) *contents {
	c := &contents{tools: make([]mcp.Tool, 0, len(tools)), index: make(map[string]*mcp.Tool, len(tools))}
	for i := range tools {
		t := &tools[i]
		if c.index[t.Name] != nil || c.large[t.Name] > 0 {
			continue
		}
		if size := len(t.InputSchema) + len(t.OutputSchema); size > maxSchemas {
			if c.large == nil {
				c.large = map[string]int{}
			}
			c.large[t.Name] = size
			continue
		}
		c.tools = append(c.tools, *t)
		c.index[t.Name] = &c.tools[len(c.tools)-1]
	}
	return c
}

// equal reports whether both hold the same tools in the same order.
func (c *contents) equal(other *contents) bool {
	return slices.EqualFunc(c.tools, other.tools, func(a, b mcp.Tool) bool { return a.Equal(&b) }) && maps.Equal(c.large, other.large)
}

// hash is of most of what differs between lists.
func (c *contents) hash() uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range c.tools {
		t := &c.tools[i]
		for _, text := range [...]string{t.Name, t.Description} {
			_, _ = h.WriteString(text) // never fails, nor does Write
		}
		_, _ = h.Write(t.InputSchema)
	}
	return h.Sum64()
}

// in is the same state as seen from another epoch.
func (s *snapshot) in(epoch uint64) *snapshot {
	other := *s
	other.epoch = epoch
	return &other
}

// missing is the error for a name that is not in the index.
func (c *contents) missing(name string) error {
	if size := c.large[name]; size > 0 {
		return &RefusedToolError{Name: name, Bytes: size, Limit: maxSchemas}
	}
	return &UnknownToolError{name}
}

// encoded returns the list as a server would say it, and its digest in hex.
func (c *contents) encoded() (list []byte, hash string, err error) {
	list, err = mcp.Marshal(&mcp.ListToolsResult{Tools: c.tools})
	return list, hashOf(list), err
}

// fingerprint is the digest of the tools. Tools that cannot be encoded, which none are
// that came from a server, have none.
func (c *contents) fingerprint() string {
	c.once.Do(func() {
		if _, hash, err := c.encoded(); err == nil {
			c.digest = hash
		}
	})
	return c.digest
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
