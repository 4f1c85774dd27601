package calls

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func TestIsFormat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		format, text string
		want         bool
	}{
		{"date-time", "2026-01-31T12:00:00Z", true},
		{"date-time", "2026-01-31t12:00:00.5+01:00", true},
		{"date-time", "2026-01-31", false},
		{"date", "2026-01-31", true},
		{"date", "31.1.2026", false},
		{"email", "ada@example.com", true},
		{"email", "ada", false},
		{"uri", "x:y", true},
		{"uri", "y", false},
		{"uuid", "3f0c1d52-6f0e-4a3b-9d8e-2b7a1c5e4f60", true},
		{"uuid", "3f0c", false},
		{"color", "whatever", true},
	} {
		require.Equal(t, tt.want, isFormat(tt.format, tt.text), "%s %s", tt.format, tt.text)
	}
}

func TestValuesIn(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[string]string{"id": "a b", "part": "2"}, valuesIn("x://{id}/parts/{part}", "x://a%20b/parts/2"))
	require.Empty(t, valuesIn("x://{id}", "y://7"))
	require.Empty(t, valuesIn("x://all", "x://all"))
	require.Empty(t, valuesIn("x://{+path}", "x://a/b"))
}

// FuzzFormatFault: schemas and values come from servers.
func FuzzFormatFault(f *testing.F) {
	f.Add(`{"properties":{"a":{"items":{"format":"date"}}}}`, `{"a":["x"]}`)
	f.Fuzz(func(_ *testing.T, schema, value string) {
		formatFault(json.RawMessage(schema), json.RawMessage(value), 0)
	})
}
