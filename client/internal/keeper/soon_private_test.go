package keeper

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A remaining pause that rounds to zero is not "in 0s".
func TestSoon(t *testing.T) {
	t.Parallel()
	for rest, want := range map[time.Duration]string{
		400 * time.Millisecond: "within a second", 600 * time.Millisecond: "in 1s", time.Minute: "in 1m0s",
	} {
		require.Equal(t, want, soon(rest))
	}
}
