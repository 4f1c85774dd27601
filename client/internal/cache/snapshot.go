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
	// maxTools limits the tools of a list, and maxSchemas the bytes of the schemas of one tool.
	maxTools   = 100_000
	maxSchemas = 1 << 20
)

// snapshot is an immutable state of a list.
type snapshot struct {
	*contents
	epoch  uint64 // epoch in which the fetch began
	public bool
	stored bool           // from the durable store
	asked  *time.Duration // the server's TTL
	lease  lease

	borrowed bool // fetched for another partition
}

// contents are the tools of a list. Equal lists share them, see [twins].
type contents struct {
	tools []mcp.Tool
	index map[string]*mcp.Tool // into tools
	large map[string]int       // tools that were refused, by size; usually nil

	// The digest is computed on first use.
	once   sync.Once
	digest string
}

// newSnapshot returns the snapshot of a fetched list. Of tools with the same name it keeps the
// first, even if that is refused.
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

// equal reports whether both have the same tools in the same order.
func (c *contents) equal(other *contents) bool {
	return slices.EqualFunc(c.tools, other.tools, func(a, b mcp.Tool) bool { return a.Equal(&b) }) && maps.Equal(c.large, other.large)
}

// hash covers most of what can differ between lists.
func (c *contents) hash() uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range c.tools {
		t := &c.tools[i]
		for _, text := range [...]string{t.Name, t.Description} {
			_, _ = h.WriteString(text) // hash.Hash writes never fail
		}
		_, _ = h.Write(t.InputSchema)
	}
	return h.Sum64()
}

// in returns the same state in another epoch.
func (s *snapshot) in(epoch uint64) *snapshot {
	other := *s
	other.epoch = epoch
	return &other
}

// missing returns the error for a name that is not in the index.
func (c *contents) missing(name string) error {
	if size := c.large[name]; size > 0 {
		return &RefusedToolError{Name: name, Bytes: size, Limit: maxSchemas}
	}
	return &UnknownToolError{name}
}

// encoded returns the list as JSON, and its digest in hex.
func (c *contents) encoded() (list []byte, hash string, err error) {
	list, err = mcp.Marshal(&mcp.ListToolsResult{Tools: c.tools})
	return list, hashOf(list), err
}

// fingerprint returns the digest of the tools, "" if they cannot be encoded, which does not
// happen for tools from a server.
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
