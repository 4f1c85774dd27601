package suitetest

import (
	"fmt"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// TestRun_EscapedIDs: a server that escapes what is beyond ASCII answers the
// request all the same.
func TestRun_EscapedIDs(t *testing.T) {
	t.Parallel()
	escaped := defect{after: func(_ *fakeConn, _ fakeMessage, r reply) []any {
		var out []byte
		for _, c := range string(rawjson.Encode(r)) {
			if c < 0x80 || c > 0xFFFF {
				out = utf8.AppendRune(out, c)
			} else {
				out = fmt.Appendf(out, `\u%04x`, c)
			}
		}
		return []any{out}
	}}
	report, err := runAll(t.Context(), conformance.InProcess(newFake(escaped, "", "", io.Discard).serve), conformance.Options{
		Only: []string{"X-WIRE-04", "STDIO-02/split", "RPC-06*"}, SideEffects: conformance.SideEffectsNone,
	})
	require.NoError(t, err)
	for _, res := range report.Results {
		require.NotEqual(t, conformance.Fail, res.Status, "%+v", res)
	}
}
