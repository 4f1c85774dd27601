package catalog

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// flatCases are schemas and whether the fast check understands them.
var flatCases = []struct {
	schema string
	flat   bool
}{
	{`{"type":"object"}`, true},
	{`{"type":"object","properties":{}}`, true},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string","description":"d","default":"x"},"b":{"type":"integer"},"c":{"type":"number"},"d":{"type":"boolean"},"e":{"type":"array"},"f":{"type":"object"},"g":{"type":"null"},"h":{}},"required":["a"],"additionalProperties":false}`, true},
	{`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}`, true},
	{`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{}}`, true},
	{`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}`, false},
	{`{"type":"object","properties":{"a":{"type":"string","enum":["x"]}}}`, false},
	{`{"type":"object","properties":{"a":{"type":["string","null"]}}}`, false},
	{`{"type":"object","properties":{"a":{"type":"string","minLength":1}}}`, false},
	{`{"type":"object","properties":{"a":{"const":null}}}`, false},
	{`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`, false},
	{`{"type":"object","properties":{"a":false}}`, false},
	{`{"type":"object","required":["a"]}`, false},
	{`{"type":"object","minProperties":1}`, false},
	{`{"type":"object","patternProperties":{"^x":{"type":"string"}}}`, false},
	{`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}`, false},
	{`{"type":"object","dependentRequired":{"a":["b"]}}`, false},
	{`{"anyOf":[{"type":"object"}]}`, false},
	{`{"type":"object","$ref":"#/$defs/x","$defs":{"x":{"type":"object"}}}`, false},
}

func TestFlatSchemas(t *testing.T) {
	t.Parallel()
	for _, tt := range flatCases {
		c := Compile(json.RawMessage(tt.schema))
		require.NoError(t, c.err, tt.schema)
		require.Equal(t, tt.flat, c.flat != nil, tt.schema)
	}
}

// The fast check accepts only what the full validator accepts: it only saves work.
func FuzzFlatSchemaAgreesWithTheValidator(f *testing.F) {
	for _, args := range []string{
		`{}`, `{"a":"x"}`, `{"a":1}`, `{"a":"x","b":1.0}`, `{"a":"x","b":1}`, `{"a":"x","b":1e2,"c":-1.5}`,
		`{"a":"x","d":true,"e":[],"f":{},"g":null,"h":3}`, `{"a":"x","z":1}`, `{"\u0061":"x"}`, `[]`, `null`,
	} {
		for i := range flatCases {
			f.Add(i, args)
		}
	}
	compiledCases := make([]*Schema, len(flatCases))
	for i := range flatCases {
		compiledCases[i] = Compile(json.RawMessage(flatCases[i].schema))
	}
	f.Fuzz(func(t *testing.T, i int, args string) {
		c := compiledCases[((i%len(flatCases))+len(flatCases))%len(flatCases)]
		if c.flat == nil || !c.flat.fits(json.RawMessage(args)) {
			return
		}
		var value any
		if json.Unmarshal([]byte(args), &value) == nil {
			require.NoError(t, c.schema.Validate(value), "%s %s", c.text, args)
		}
	})
}

// Most calls need only the fast check, so it must accept where it can.
func TestFlatSchemaSaysYes(t *testing.T) {
	t.Parallel()
	c := Compile(json.RawMessage(flatCases[2].schema))
	require.True(t, c.flat.fits(json.RawMessage(`{"a":"x","b":-3,"c":1.5,"d":false,"e":[1],"f":{},"g":null,"h":"any"}`)))
	for _, args := range []string{`{}`, `{"a":1}`, `{"a":"x","b":"1"}`, `{"a":"x","unknown":1}`, `{"a":"x","d":1}`, `[]`} {
		require.False(t, c.flat.fits(json.RawMessage(args)), args)
	}
}
