package mcp

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A fingerprint covers all members of a definition except _meta, and not its form.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	read := func(text string) *Tool {
		v := &Tool{}
		require.NoError(t, json.Unmarshal([]byte(text), v))
		return v
	}
	const text = `{"name":"x","description":"d","inputSchema":{"type":"object","properties":{"a":{"maximum":9007199254740993},"b":{}}},"annotations":{"readOnlyHint":true},"x-more":1}`
	first := read(text).Fingerprint()
	require.Len(t, first, len(FingerprintPrefix)+64)
	require.Equal(t, "sha256:"+first[7:], first)
	for name, same := range map[string]string{
		"again":        text,
		"other order":  `{"x-more":1,"annotations":{"readOnlyHint":true},"inputSchema":{"properties":{"b":{},"a":{"maximum":9007199254740993}},"type":"object"},"description":"d","name":"x"}`,
		"white space":  `{ "name":"x", "description":"d", "inputSchema":{"type":  "object","properties":{"a":{"maximum":9007199254740993},"b":{}}},"annotations":{"readOnlyHint":true},"x-more":1}`,
		"escapes":      `{"name":"\u0078","description":"d","inputSchema":{"type":"o\u0062ject","properties":{"a":{"maximum":9007199254740993},"b":{}}},"annotations":{"readOnlyHint":true},"x-more":1}`,
		"another meta": text[:len(text)-1] + `,"_meta":{"listed":"today"}}`,
	} {
		require.Equal(t, first, read(same).Fingerprint(), name)
	}
	for name, other := range map[string]string{
		"description": `{"name":"x","description":"e","inputSchema":{"type":"object","properties":{"a":{"maximum":9007199254740993},"b":{}}},"annotations":{"readOnlyHint":true},"x-more":1}`,
		"a digit":     `{"name":"x","description":"d","inputSchema":{"type":"object","properties":{"a":{"maximum":9007199254740992},"b":{}}},"annotations":{"readOnlyHint":true},"x-more":1}`,
		"a hint":      `{"name":"x","description":"d","inputSchema":{"type":"object","properties":{"a":{"maximum":9007199254740993},"b":{}}},"annotations":{"readOnlyHint":false},"x-more":1}`,
		"unknown":     `{"name":"x","description":"d","inputSchema":{"type":"object","properties":{"a":{"maximum":9007199254740993},"b":{}}},"annotations":{"readOnlyHint":true},"x-more":2}`,
		"a title":     text[:len(text)-1] + `,"title":"X"}`,
		"an icon":     text[:len(text)-1] + `,"icons":[{"src":"https://example.com/i.png"}]}`,
	} {
		require.NotEqual(t, first, read(other).Fingerprint(), name)
	}
	require.Empty(t, (&Tool{Name: "x", InputSchema: json.RawMessage(`{`)}).Fingerprint())
}
