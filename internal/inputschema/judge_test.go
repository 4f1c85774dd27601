package inputschema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func compiled(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(text))
	require.NoError(t, err)
	return s
}

// The validator uses float64; values are not rejected because of numbers that float64 cannot
// represent.
func TestNumbersAreNotJudgedWrongly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		schema, value string
		fits          bool
	}{
		{`{"const":9007199254740993}`, `9007199254740993`, true},
		{`{"maximum":9007199254740992}`, `9007199254740993`, true}, // not known
		{`{"type":"integer"}`, `123456789012345678901234567890`, true},
		{`{"maximum":10}`, `1e400`, true},
		{`{"multipleOf":0.01}`, `19.99`, true},
		{`{"properties":{"price":{"multipleOf":0.01}}}`, `{"price":19.99}`, true},
		{`{"multipleOf":0.01}`, `"a text"`, true},
		{`{"properties":{"n":{"multipleOf":2}}}`, `{"n":3}`, false},
		{`{"multipleOf":2}`, `2.5`, false},
		{`{"maximum":10}`, `11`, false},
		{`{"maximum":10}`, `1000000000000000`, false},
		{`{"maximum":10}`, `10000000000000000`, false}, // exact in float64
		{`{"type":"integer"}`, `1.5`, false},
		{`{"type":"integer"}`, `1.0`, true},
		{`{"type":"string"}`, `null`, false},
		{`true`, `null`, true},
		{`false`, `null`, false},
		{`{"type":["array","null"]}`, `null`, true},
	} {
		t.Run(tt.schema+tt.value, func(t *testing.T) {
			t.Parallel()
			err := compiled(t, tt.schema).Judge(json.RawMessage(tt.value))
			require.Equal(t, tt.fits, err == nil, "%v", err)
		})
	}
}

// Both dialects are supported, each with its own rules.
func TestDialects(t *testing.T) {
	t.Parallel()
	const old, now = `{"$schema":"http://json-schema.org/draft-07/schema#",`, `{"$schema":"https://json-schema.org/draft/2020-12/schema",`
	for _, tt := range []struct {
		name, schema, value string
		fits                bool
	}{
		{"old definitions", old + `"definitions":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/definitions/n"}}}`, `{"a":"x"}`, false},
		{"nested references", old + `"definitions":{"n":{"type":"integer"},"list":{"type":"array","items":{"$ref":"#/definitions/n"}}},"properties":{"a":{"$ref":"#/definitions/list"}}}`, `{"a":[1,"x"]}`, false},
		{"old tuples", old + `"items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}`, `["a",1,2]`, false},
		{"old tuples fit", old + `"items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}`, `["a",1]`, true},
		{"old dependencies", old + `"dependencies":{"a":["b"]}}`, `{"a":1}`, false},
		{"beside an old reference nothing counts", old + `"definitions":{"any":{}},"properties":{"a":{"$ref":"#/definitions/any","type":"string"}}}`, `{"a":1}`, true},
		{"definitions", now + `"$defs":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, `{"a":"x"}`, false},
		{"beside a reference the rest counts", now + `"$defs":{"any":{}},"properties":{"a":{"$ref":"#/$defs/any","type":"string"}}}`, `{"a":1}`, false},
		{"tuples", now + `"prefixItems":[{"type":"string"}],"items":false}`, `["a",1]`, false},
		{"no dialect is the newest", `{"prefixItems":[{"type":"string"}],"items":false}`, `["a",1]`, false},
		{"unevaluated", now + `"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"b":1}`, false},
		{"a branch each", now + `"oneOf":[{"type":"object"},{"type":"array"}]}`, `[1]`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := compiled(t, tt.schema).Judge(json.RawMessage(tt.value))
			require.Equal(t, tt.fits, err == nil, "%v", err)
		})
	}
}
