package checks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// ERR-05 and S2-CONV-08: before the stateless era -32002, there anything but a
// code that means something else.
func TestConversionCodeOfTheEra(t *testing.T) {
	t.Parallel()
	holds := func(code float64, stateless bool) bool {
		return refusedAs(codeConversion)[0].holds(code, true, map[string]any{keptStateless: stateless})
	}
	for code, in := range map[float64]struct{ sessions, stateless bool }{
		-32002: {true, false},
		-31002: {false, true},
		302:    {false, true},
		-32010: {false, true}, // legacy, and nobody's
		0:      {}, -32000: {}, -32001: {}, -32003: {}, -32020: {}, -32042: {}, -32602: {}, -32603: {}, -32700: {}, -32768: {},
	} {
		require.Equal(t, in.sessions, holds(code, false), fmt.Sprint(code))
		require.Equal(t, in.stateless, holds(code, true), fmt.Sprint(code))
	}
	require.False(t, refusedAs(codeConversion)[0].holds(nil, false, map[string]any{}), "no error at all")
}
