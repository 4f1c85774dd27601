package inputschema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnusableSchemas(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"loop":                   `{"type":"object","$ref":"#"}`,
		"loop of two":            `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},"properties":{"x":{"$ref":"#/$defs/a"}}}`,
		"loop in a branch":       `{"anyOf":[{"type":"object"},{"not":{"$ref":"#"}}]}`,
		"loop in a condition":    `{"if":{"type":"object"},"then":{"$ref":"#"}}`,
		"loop by anchor":         `{"$anchor":"me","oneOf":[{"$ref":"#me"}]}`,
		"dynamic loop":           `{"$dynamicAnchor":"me","allOf":[{"$dynamicRef":"#me"}]}`,
		"loop by dependence":     `{"dependentSchemas":{"a":{"$ref":"#"}}}`,
		"loop in escapes":        `{"$defs":{"a/b~c":{"allOf":[{"$ref":"#/$defs/a~1b~0c"}]}},"$ref":"#/$defs/a~1b~0c"}`,
		"loop in percent signs":  `{"$defs":{"a b":{"allOf":[{"$ref":"#/$defs/a%20b"}]}}}`,
		"draft-07 loop":          `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"$ref":"#"}}}`,
		"draft-07 definitions":   `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"x":{"allOf":[{"$ref":"#/definitions/x"}]}}}`,
		"a document inside":      `{"$id":"http://a/","$defs":{"x":{"$id":"http://b/","$ref":"#"}}}`,
		"its own name":           `{"$id":"http://a/b","allOf":[{"$ref":"http://a/b"}]}`,
		"another document":       `{"properties":{"a":{"$ref":"http://example.com/x"}}}`,
		"nowhere":                `{"properties":{"a":{"$ref":"#/$defs/x"}}}`,
		"a dialect not spoken":   `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`,
		"a pattern not spoken":   `{"properties":{"a":{"pattern":"(?=x)"}}}`,
		"a type that is no type": `{"type":7}`,
		"no JSON":                `{`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Compile(json.RawMessage(text))
			require.ErrorIs(t, err, ErrUnusable)
		})
	}
}

// A schema may refer to itself one level deeper: lists and trees do.
func TestRecursionThroughValuesIsFine(t *testing.T) {
	t.Parallel()
	s, err := Compile(json.RawMessage(`{"type":"object","properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}}`))
	require.NoError(t, err)
	require.NoError(t, s.Validate(map[string]any{"next": map[string]any{"n": 1.0}}))
	require.Error(t, s.Validate(map[string]any{"next": map[string]any{"n": "x"}}))
}

// Keywords are case-sensitive; property names are free.
func TestKeywordsAreExact(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"$Ref":"#"}`, `{"allOF":[{"$ref":"#/allOf/0"}]}`, `{"TYPE":"string"}`, `{"ſype":"string","conſt":1}`} {
		s, err := Compile(json.RawMessage(text))
		require.NoError(t, err, text)
		require.NoError(t, s.Validate(map[string]any{"a": 1.0}), text)
	}
	s, err := Compile(json.RawMessage(`{"type":"object","properties":{"Type":{"type":"string"},"NOT":{"Type":"string"}},"required":["Type"],"enum":[{"Type":"x"}]}`))
	require.NoError(t, err)
	require.NoError(t, s.Validate(map[string]any{"Type": "x"}))
	require.Error(t, s.Validate(map[string]any{"Type": 1.0}))
}

// A schema that compiles can validate any value without a crash.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{
		`{"type":"object"}`, `{"$ref":"#"}`, `{"allOf":[{"$ref":"#/allOf/0"}]}`, `{"$defs":{"a":{"$ref":"#/$defs/a"}}}`,
		`{"$anchor":"x","properties":{"a":{"$ref":"#x"}}}`, `{"if":{"$ref":"#"}}`, `true`, `{"$dynamicRef":"#a","$dynamicAnchor":"a"}`,
		`{"unevaluatedProperties":{"$ref":"#"}}`, `{"contains":{"$ref":"#"}}`, `{"propertyNames":{"$ref":"#"}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		s, err := Compile(json.RawMessage(text))
		if err != nil {
			return
		}
		for _, value := range []any{map[string]any{"a": []any{1.0, "x"}}, []any{map[string]any{}}, "a", 1.0, nil, true} {
			_ = s.Validate(value) // any verdict is fine if it returns
		}
	})
}
