package run

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Ids are UUIDs of version 4, over the ends of blocks too, and none comes twice.
func TestIDsAreUUIDs(t *testing.T) {
	t.Parallel()
	s := &idSource{}
	seen := map[jsonrpc.ID]bool{}
	for range 10 * idBlock {
		id := s.next()
		require.False(t, seen[id])
		seen[id] = true
		u, err := uuid.Parse(id.String())
		require.NoError(t, err)
		require.Equal(t, uuid.Version(4), u.Version())
		require.Equal(t, uuid.RFC4122, u.Variant())
		require.Equal(t, jsonrpc.StringID(u.String()), id)
	}
}
