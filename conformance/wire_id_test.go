package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// TestSpelledID: ids are compared by value, whatever the spelling.
func TestSpelledID(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		`"gr\u00f6\u00dfe"`:   `"größe"`,
		`"größe"`:             `"größe"`,
		`"\u003ca\u0026b>"`:   `"<a&b>"`,
		`"a\/b"`:              `"a/b"`,
		`"\ud83e\udd8a"`:      `"🦊"`,
		`"a\u2028b"`:          "\"a\u2028b\"",
		`"\u0001\"\\"`:        `"\u0001\"\\"`,
		`"lone \ud800"`:       `"lone \ud800"`,
		`7`:                   `7`,
		`1.0`:                 `1.0`,
		`null`:                `null`,
		`{"a":"gr\u00f6\"}"}`: `{"a":"gr\u00f6\"}"}`,
	} {
		require.Equal(t, want, spelledID(json.RawMessage(got)), got)
	}
}

// TestRun_EscapedIDs: a server that escapes what is beyond ASCII answers the
// request all the same.
func TestRun_EscapedIDs(t *testing.T) {
	t.Parallel()
	escaped := defect{after: func(_ *fakeConn, _ fakeMessage, r reply) []any {
		var out []byte
		for _, c := range string(encode(r)) {
			if c < 0x80 || c > 0xFFFF {
				out = utf8.AppendRune(out, c)
			} else {
				out = fmt.Appendf(out, `\u%04x`, c)
			}
		}
		return []any{out}
	}}
	report, err := Run(t.Context(), InProcess(newFake(escaped, "", "", io.Discard).serve), Options{
		Only: []string{"X-WIRE-04", "STDIO-02/split", "RPC-06*"}, SideEffects: SideEffectsNone,
	})
	require.NoError(t, err)
	for _, res := range report.Results {
		require.NotEqual(t, Fail, res.Status, "%+v", res)
	}
}
