package wire

import (
	"encoding/json"
	"testing"

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
		require.Equal(t, want, SpelledID(json.RawMessage(got)), got)
	}
}
