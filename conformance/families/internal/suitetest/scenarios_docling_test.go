package suitetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/checks/docling"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
)

// ERR-05 and S2-CONV-08: before the stateless era -32002, there anything but a
// code that means something else.
func TestConversionCodeOfTheEra(t *testing.T) {
	t.Parallel()
	holds := func(code float64, stateless bool) bool {
		return docling.RefusedAs(docling.CodeConversion).Holds(code, true, map[string]any{table.KeptStateless: stateless})
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
	require.False(t, docling.RefusedAs(docling.CodeConversion).Holds(nil, false, map[string]any{}), "no error at all")
}
