package client_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
)

// A schema is a program of the server's: none brings the client down, and one
// that cannot judge keeps no call from being made.
func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"endless":           `{"type":"object","$ref":"#"}`,
		"elsewhere":         `{"type":"object","properties":{"a":{"$ref":"http://192.0.2.1/x"}}}`,
		"a dialect unknown": `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, s := newFake(t)
			s.result("tools/list", `{"tools":[{"name":"x","inputSchema":`+schema+`}]}`)
			c, err := client.Connect(t.Context(), tr, sessionEra)
			require.NoError(t, err)
			_, err = c.CallTool(t.Context(), "x", map[string]any{"a": 1})
			require.NoError(t, err)
			require.NoError(t, c.Close())
		})
	}
}

// What the arguments hold is the caller's: an error names the place and the
// rule, not the value.
func TestValidationErrorsHoldNoValues(t *testing.T) {
	t.Parallel()
	tr, s := newFake(t)
	s.result("tools/list", `{"tools":[{"name":"x","inputSchema":{"type":"object","properties":{"pin":{"type":"integer"},"mode":{"enum":["a"]},"in":{"type":"object","properties":{"n":{"maximum":5}}},"re":{"pattern":"^z"}},"additionalProperties":false}}]}`)
	c, err := client.Connect(t.Context(), tr, sessionEra)
	require.NoError(t, err)
	for args, want := range map[string]string{
		`{"pin":"hunter2"}`:       `"pin" must be an integer, got a string`,
		`{"mode":"hunter2"}`:      `"mode" must be "a"`,
		`{"in":{"n":2222.2222}}`:  `"in.n" must be at most 5`,
		`{"re":"hunter2"}`:        `"re" must match ^z`,
		`{"unknown":"hunter2"}`:   `"unknown" is not a known property`,
		`{"pin":"` + long + `x"}`: `"pin" must be an integer, got a string`,
	} {
		_, err := c.CallTool(t.Context(), "x", json.RawMessage(args))
		require.Error(t, err, args)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), "2222")
		require.Less(t, len(err.Error()), 1000)
	}
	require.NoError(t, c.Close())
}

var long = strings.Repeat("long", 5_000)
