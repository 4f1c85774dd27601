package schema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

func parse(t testing.TB, text string) *doc.Value {
	t.Helper()
	v, err := doc.Parse([]byte(text))
	require.NoError(t, err, text)
	return v
}

func TestTyped(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, schema, text string
		want               string // the resulting JSON
		must               string // the reason if it is rejected
	}{
		{"string as is", `{"type":"string"}`, "007", `"007"`, ""},
		{"string that looks like JSON", `{"type":"string"}`, `{"a":1}`, `"{\"a\":1}"`, ""},
		{"empty string", `{"type":"string"}`, "", `""`, ""},
		{"no schema", `{}`, "5", `"5"`, ""},
		{"true schema", `true`, "5", `"5"`, ""},
		{"integer", `{"type":"integer"}`, "9007199254740993", "9007199254740993", ""},
		{"negative", `{"type":"integer"}`, "-1", "-1", ""},
		{"integer, word", `{"type":"integer"}`, "foo", `"foo"`, "must be an integer"},
		{"integer, fraction", `{"type":"integer"}`, "1.5", `"1.5"`, "must be an integer"},
		{"integer, point", `{"type":"integer"}`, "1.0", "1", ""},
		{"integer, points", `{"type":"integer"}`, "1.0.0", `"1.0.0"`, "must be an integer"},
		{"integer, point at the end", `{"type":"integer"}`, "1.", `"1."`, "must be an integer"},
		{"integer, point alone", `{"type":"integer"}`, ".0", `".0"`, "must be an integer"},
		{"integer, space", `{"type":"integer"}`, " 1", `" 1"`, "must be an integer"},
		{"integer, leading zero", `{"type":"integer"}`, "007", `"007"`, "must be an integer"},
		{"integer, empty", `{"type":"integer"}`, "", `""`, "must be an integer"},
		{"integer, hex", `{"type":"integer"}`, "0x10", `"0x10"`, "must be an integer"},
		{"number", `{"type":"number"}`, "1e400", "1e400", ""},
		{"number keeps form", `{"type":"number"}`, "1.0", "1.0", ""},
		{"number, NaN", `{"type":"number"}`, "NaN", `"NaN"`, "must be a number"},
		{"boolean", `{"type":"boolean"}`, "true", "true", ""},
		{"boolean, yes", `{"type":"boolean"}`, "yes", `"yes"`, "must be a boolean"},
		{"boolean, 1", `{"type":"boolean"}`, "1", `"1"`, "must be a boolean"},
		{"null", `{"type":"null"}`, "null", "null", ""},
		{"null, empty", `{"type":"null"}`, "", `""`, "must be null"},
		{"array is JSON", `{"type":"array"}`, `["a", 1.0]`, `["a", 1.0]`, ""},
		{"array, word", `{"type":"array"}`, "a", `"a"`, "must be an array"},
		{"object is JSON", `{"type":"object"}`, `{"a":1}`, `{"a":1}`, ""},
		{"object, array", `{"type":"object"}`, `[]`, `"[]"`, "must be an object"},
		{"object by its keywords", `{"properties":{}}`, `{"a":1}`, `{"a":1}`, ""},
		{"enum", `{"type":"string","enum":["fast","exact"]}`, "fast", `"fast"`, ""},
		{"enum, other", `{"type":"string","enum":["fast","exact"]}`, "slow", `"slow"`, `must be one of "fast", "exact"`},
		{"enum of numbers", `{"enum":[1,2.50]}`, "2.5", "2.50", ""},
		{"enum without type", `{"enum":["a",true]}`, "true", "true", ""},
		{"const", `{"const":"x"}`, "y", `"y"`, `must be "x"`},
		{"nullable, null", `{"type":["string","null"]}`, "null", "null", ""},
		{"nullable, word", `{"type":["string","null"]}`, "nul", `"nul"`, ""},
		{"union, number first", `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, "5", "5", ""},
		{"union, string last", `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, "5x", `"5x"`, ""},
		{"union, first that parses", `{"oneOf":[{"type":"integer"},{"type":"number"}]}`, "5.5", "5.5", ""},
		{"union, none", `{"oneOf":[{"type":"integer"},{"type":"boolean"}]}`, "x", `"x"`, "must be an integer or a boolean"},
		{"reference", `{"$ref":"#/$defs/n","$defs":{"n":{"type":"integer"}}}`, "5", "5", ""},
		{"reference to an anchor", `{"$ref":"#n","$defs":{"x":{"$anchor":"n","type":"integer"}}}`, "5", "5", ""},
		{"escaped reference", `{"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"type":"integer"}}}`, "5", "5", ""},
		{"reference nowhere", `{"$ref":"#/$defs/x"}`, "5", `"5"`, ""},
		{"reference elsewhere", `{"$ref":"http://x/y"}`, "5", `"5"`, ""},
		{"reference loop", `{"$ref":"#"}`, "5", `"5"`, ""},
		{"allOf", `{"allOf":[{"type":"integer"},{"minimum":3}]}`, "5", "5", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, must, ok := New(parse(t, tt.schema)).Typed(tt.text)
			require.Equal(t, tt.want, v.String())
			require.Equal(t, tt.must, must)
			require.Equal(t, tt.must == "", ok)
		})
	}
}

const issueSchema = `{"type":"object","properties":{
	"labels":{"type":"array","items":{"type":"string"}},
	"repo":{"type":"string"},
	"pos":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":{"type":"boolean"}},
	"old":{"items":[{"type":"integer"}],"additionalItems":{"type":"boolean"}},
	"meta":{"type":"object","properties":{"id":{"type":"integer"}},"additionalProperties":{"type":"number"}},
	"title":{"anyOf":[{"$ref":"#/$defs/t"},{"type":"null"}]}
	},"required":["title","repo"],"$defs":{"t":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}}`

func TestNested(t *testing.T) {
	t.Parallel()
	s := New(parse(t, issueSchema))
	require.Equal(t, "string", s.Property("labels").Item(3).Type())
	require.Equal(t, "integer", s.Property("pos").Item(0).Type())
	require.Equal(t, "string", s.Property("pos").Item(1).Type())
	require.Equal(t, "boolean", s.Property("pos").Item(2).Type())
	require.Equal(t, "integer", s.Property("old").Item(0).Type())
	require.Equal(t, "boolean", s.Property("old").Item(1).Type())
	require.Equal(t, "integer", s.Property("meta").Property("id").Type())
	require.Equal(t, "number", s.Property("meta").Property("other").Type())
	require.Equal(t, "string", s.Property("title").Property("text").Type())
	require.False(t, s.Property("nothing").Known())
	require.False(t, Schema{}.Property("a").Item(0).Known())
}

func TestSignature(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, want string }{
		{"issue", issueSchema, "f(repo: string, title: {text: string}|null, labels?: string[], pos?: integer[], old?: integer[], meta?: {id?: integer})"},
		{"of the manual", `{"properties":{"a":{"type":"integer"},"b":{"type":"integer"},"mode":{"enum":["fast","exact"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["a","b"]}`, "f(a: integer, b: integer, mode?: fast|exact, tags?: string[])"},
		{"nothing", `{"type":"object"}`, "f()"},
		{"required but not described", `{"required":["x"]}`, "f(x: any)"},
		{"items at the greatest depth", `{"properties":{"a":{"items":{"properties":{"b":{"properties":{"c":{"type":"array","items":{"type":"string"}},"d":{"type":"array","items":{"type":"array"}}}}}}}}}`, "f(a?: {b?: {c?: string[], d?: array[]}}[])"},
		{"union of items", `{"properties":{"a":{"type":"array","items":{"type":["string","integer"]}}}}`, "f(a?: (string|integer)[])"},
		{"quoted values", `{"properties":{"a":{"enum":["", "a b", 3, null]}}}`, `f(a?: ""|"a b"|3|null)`},
		{"recursive", `{"properties":{"next":{"$ref":"#"}}}`, "f(next?: {next?: {next?: {next?: object}}})"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, Signature("f", New(parse(t, tt.schema))))
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s := New(parse(t, `{"minimum":1,"maximum":2.50,"pattern":"^a","minLength":2,"uniqueItems":true,"format":"uri","default":7}`))
	require.Equal(t, []string{"≥ 1", "≤ 2.50", "length ≥ 2", "matches ^a", "format uri", "unique items"}, s.Limits())
	require.Equal(t, "7", s.Default().String())
}
