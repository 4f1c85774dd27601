package cache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// Processes of other versions use the same names, and guessing a key is expensive.
func TestStoreKeyIsSlowAndStays(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("race: the key is made in fewer rounds")
	}
	require.Equal(t, 65536, storeRounds)
	require.Equal(t, "659ddf4f8fba19adc6a9df4916696bab1abd75809cbc5b0f9a51a2d9f745cb9f", storeKey(Key{Server: "https://example.com/mcp", Partition: "ann"}))
}
