package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadOfficial_Broken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"ping\n", "ping a b c\n", "  ping: X\n", "ping 2025-06-18\n  ping:\n"} {
		_, err := readOfficial(text)
		require.Error(t, err, text)
	}
}
