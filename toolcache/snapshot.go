package toolcache

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"reflect"
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
	tools  []mcp.Tool
	index  map[string]*mcp.Tool // into tools
	large  map[string]int       // tools that were refused, and their bytes; mostly nil
	epoch  uint64               // in which the fetch began
	public bool
	stored bool           // came out of the durable store
	asked  *time.Duration // what the server asked for
	lease  lease
	digest *digest
}

// digest is made when somebody wants to know.
type digest struct {
	once sync.Once
	text string
}

// newSnapshot makes a state of what was fetched. Of tools with the same name the
// first counts, also when it is refused.
func newSnapshot(from Listing, epoch uint64, lease lease) *snapshot {
	s := &snapshot{
		tools:  make([]mcp.Tool, 0, len(from.Tools)),
		index:  make(map[string]*mcp.Tool, len(from.Tools)),
		epoch:  epoch,
		public: from.Public,
		asked:  from.TTL,
		lease:  lease,
		digest: &digest{},
	}
	for i := range from.Tools {
		t := &from.Tools[i]
		if s.index[t.Name] != nil || s.large[t.Name] > 0 {
			continue
		}
		if size := len(t.InputSchema) + len(t.OutputSchema); size > maxSchemas {
			if s.large == nil {
				s.large = map[string]int{}
			}
			s.large[t.Name] = size
			continue
		}
		s.tools = append(s.tools, *t)
		s.index[t.Name] = &s.tools[len(s.tools)-1]
	}
	return s
}

// same reports whether both hold the same tools in the same order.
func (s *snapshot) same(other *snapshot) bool {
	return reflect.DeepEqual(s.tools, other.tools) && maps.Equal(s.large, other.large)
}

// in is the same state as seen from another epoch.
func (s *snapshot) in(epoch uint64) *snapshot {
	other := *s
	other.epoch = epoch
	return &other
}

// missing is the error for a name that is not in the index.
func (s *snapshot) missing(name string) error {
	if size := s.large[name]; size > 0 {
		return &RefusedToolError{Name: name, Bytes: size, Limit: maxSchemas}
	}
	return &UnknownToolError{name}
}

// encoded returns the list as a server would say it, and its digest in hex.
func (s *snapshot) encoded() (list []byte, hash string, err error) {
	list, err = mcp.Marshal(&mcp.ListToolsResult{Tools: s.tools})
	return list, hashOf(list), err
}

// hash is the digest of the tools. Tools that cannot be encoded, which none are
// that came from a server, have none.
func (s *snapshot) hash() string {
	s.digest.once.Do(func() {
		if _, hash, err := s.encoded(); err == nil {
			s.digest.text = hash
		}
	})
	return s.digest.text
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
