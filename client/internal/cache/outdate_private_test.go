package cache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/toolcache"
)

// The public list is outdated first: otherwise a fetch between the two could use it as fresh. The
// list used last shows the order.
func TestPublicIsOutdatedFirst(t *testing.T) {
	t.Parallel()
	c, err := New(toolcache.Settings{SharePublic: true, Durable: &toolcache.FileStore{Dir: t.TempDir() + "/tools"}})
	require.NoError(t, err)
	k := Key{Server: "s", Partition: "a"}
	c.Changed(k)
	require.Equal(t, k, c.last.Load().key)
	require.EqualValues(t, 1, c.find(new(k.public())).epoch.Load())
}
