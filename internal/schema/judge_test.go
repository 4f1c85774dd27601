package schema

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindings(t *testing.T) {
	t.Parallel()
	const add = `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"mode":{"enum":["fast","exact","slow"]}},"required":["a","b"],"additionalProperties":false}`
	for _, tt := range []struct {
		name, schema, args string
		want               []Finding
	}{
		{"fits", add, `{"a":1,"b":2}`, nil},
		{"everything at once", add, `{"a":"foo","mod":"x","mode":"fats"}`, []Finding{
			{"/a", `must be an integer, got "foo"`},
			{"/b", "is required"},
			{"/mode", `must be one of "fast", "exact", "slow", got "fats"; did you mean "fast"?`},
			{"/mod", "is not a known property"},
		}},
		{"nearest name", add, `{"a":1,"b":1,"mde":"fast"}`, []Finding{{"/mde", "is not a known property; did you mean mode?"}}},
		{"integer with a point", add, `{"a":1.0,"b":9007199254740993}`, nil},
		{"huge number", `{"properties":{"a":{"type":"number"}}}`, `{"a":1e400}`, nil},
		{"huge number over a limit", `{"properties":{"a":{"maximum":5}}}`, `{"a":1e400}`, []Finding{{"/a", "must be at most 5, got 1e400"}}},
		{
			"limits", `{"properties":{"a":{"minimum":1,"multipleOf":2},"b":{"exclusiveMaximum":3},"s":{"minLength":2,"maxLength":3},"p":{"pattern":"^x"}}}`,
			`{"a":-1,"b":3,"s":"a","p":"y"}`,
			[]Finding{
				{"/a", "must be at least 1, got -1"},
				{"/a", "must be a multiple of 2, got -1"},
				{"/b", "must be less than 3, got 3"},
				{"/s", "must have at least 2 characters, has 1"},
				{"/p", `must match ^x, got "y"`},
			},
		},
		{
			"deep", `{"properties":{"a/b":{"type":"array","items":{"properties":{"c~d":{"type":"boolean"}}}}}}`,
			`{"a/b":[{},{"c~d":1}]}`,
			[]Finding{{"/a~1b/1/c~0d", "must be a boolean, got 1"}},
		},
		{"array", `{"properties":{"a":{"minItems":3,"uniqueItems":true}}}`, `{"a":[1,1.0]}`, []Finding{
			{"/a", "must have at least 3 items, has 2"}, {"/a/1", "is a duplicate: items must be unique"},
		}},
		{"tuple", `{"properties":{"a":{"prefixItems":[{"type":"string"}],"items":false}}}`, `{"a":[1,2]}`, []Finding{
			{"/a/0", "must be a string, got 1"}, {"/a/1", "is one item too many"},
		}},
		{"union", `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"string"}]}}}`, `{"a":true}`, []Finding{
			{"/a", "fits none of the alternatives integer|string, got true"},
		}},
		{"union, near", `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"object","required":["x"]}]}}}`, `{"a":{}}`, []Finding{
			{"/a/x", "is required"},
		}},
		{"oneOf twice", `{"properties":{"a":{"oneOf":[{"type":"integer"},{"type":"number"}]}}}`, `{"a":1}`, []Finding{
			{"/a", "fits 2 of the alternatives, must fit exactly one"},
		}},
		{
			"condition", `{"properties":{"k":{}},"if":{"properties":{"k":{"const":"a"}},"required":["k"]},"then":{"required":["x"]},"else":{"required":["y"]}}`,
			`{"k":"a"}`,
			[]Finding{{"/x", "is required"}},
		},
		{"together", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, []Finding{{"/b", "is required together with a"}}},
		{"reference", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, `{"a":"x"}`, []Finding{{"/a", `must be an integer, got "x"`}}},
		{"not", `{"properties":{"a":{"not":{"const":1}}}}`, `{"a":1}`, []Finding{{"/a", "has a value that is ruled out"}}},
		{"never", `{"properties":{"a":false}}`, `{"a":1}`, []Finding{{"/a", "is not allowed"}}},
		{"a keyword without words", `{"unevaluatedProperties":false,"properties":{"a":{}}}`, `{"b":1}`, []Finding{{"", "not: validated against <anonymous schema>"}}},
		{"no schema", `true`, `{"a":1}`, nil},
		{"draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{"type":"integer"}]}}}`, `{"a":["x"]}`, []Finding{
			{"/a/0", `must be an integer, got "x"`},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j, err := NewJudge(parse(t, tt.schema))
			require.NoError(t, err)
			args := parse(t, tt.args)
			got := j.Findings(args)
			if tt.name == "a keyword without words" {
				require.Len(t, got, 1) // the validator's words are its own
				return
			}
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want == nil, j.Fits(args))
		})
	}
}

func TestCannotJudge(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"loop":             `{"$ref":"#"}`,
		"loop of two":      `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}},"properties":{"x":{"$ref":"#/$defs/a"}}}`,
		"loop in a branch": `{"anyOf":[{"type":"object"},{"not":{"$ref":"#"}}]}`,
		"loop by anchor":   `{"$anchor":"me","oneOf":[{"$ref":"#me"}]}`,
		"dynamic loop":     `{"$dynamicAnchor":"me","allOf":[{"$dynamicRef":"#me"}]}`,
		"nested document":  `{"$id":"http://a/","$defs":{"x":{"$id":"http://b/","$ref":"#"}}}`,
		"own name":         `{"$id":"http://a/b","allOf":[{"$ref":"http://a/b"}]}`,
		"draft-07 loop":    `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"$ref":"#"}}}`,
		"elsewhere":        `{"properties":{"a":{"$ref":"http://example.com/x"}}}`,
		"nowhere":          `{"properties":{"a":{"$ref":"#/$defs/x"}}}`,
		"dialect":          `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`,
		"pattern":          `{"properties":{"a":{"pattern":"(?=x)"}}}`,
		"type":             `{"type":7}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewJudge(parse(t, text))
			require.ErrorIs(t, err, ErrCannotJudge)
		})
	}
}

func TestRecursionThroughThingsIsFine(t *testing.T) {
	t.Parallel()
	j, err := NewJudge(parse(t, `{"properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}}`))
	require.NoError(t, err)
	require.Equal(t, []Finding{{"/next/next/n", `must be an integer, got "x"`}}, j.Findings(parse(t, `{"next":{"next":{"n":"x"}}}`)))
}

// TestTakesNone: what is taken without a judge is what a judge takes.
func TestTakesNone(t *testing.T) {
	t.Parallel()
	none := parse(t, `{}`)
	for text, want := range map[string]bool{
		`{}`:                true,
		`{"type":"object"}`: true,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false,"required":[]}`: true,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"A","description":"B"}`:          true,
		`{"type":"object","required":["a"]}`:       false,
		`{"type":"string"}`:                        false,
		`{"type":["object","null"]}`:               false,
		`{"minProperties":1}`:                      false,
		`{"anyOf":[{"required":["a"]}]}`:           false,
		`{"type":"object","const":{"a":1}}`:        false,
		`{"type":"object","patternProperties":{}}`: false,
		`true`: false,
	} {
		root := parse(t, text)
		require.Equal(t, want, TakesNone(root), text)
		if judge, err := NewJudge(root); want && err == nil {
			require.Empty(t, judge.Findings(none), text)
		}
	}
	require.False(t, TakesNone(nil))
}
