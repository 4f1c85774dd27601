package schema

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Misfits format places as programs do, and show types instead of values.
func TestMisfits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		schema, value string
		want          []string
	}{
		{`{"properties":{"a/b":{"items":{"properties":{"c~d":{"type":"boolean"}}}}}}`, `{"a/b":[{},{"c~d":"s3cret"}]}`, []string{`"a/b[1].c~d" must be a boolean, got a string`}},
		{`{"items":{"type":"integer"}}`, `[1,1.5]`, []string{`"[1]" must be an integer, got a number`}},
		{`{"type":"object"}`, `null`, []string{"must be an object, got null"}},
		{`{"properties":{"a":{"uniqueItems":true,"items":{"minLength":9}}}}`, `{"a":["s3cret","s3cret"]}`, []string{
			`"a[0]" must have at least 9 characters`, `"a[1]" must have at least 9 characters`, `"a[1]" is a duplicate: items must be unique`,
		}},
		// Of two alternatives, the one of the right type was meant.
		{`{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"object","required":["x"]}]}}}`, `{"a":{}}`, []string{`"a.x" is required`}},
		{`{"properties":{"a":{"anyOf":[{"type":"integer"},{"enum":["x","y"]}]}}}`, `{"a":"s3cret"}`, []string{`"a" fits none of the alternatives integer|x|y, got a string`}},
		{`{"properties":{"` + strings.Repeat("n", 99) + `":false}}`, `{"` + strings.Repeat("n", 99) + `":"s3cret"}`, []string{`"` + strings.Repeat("n", 60) + `…" is not allowed`}},
		{`{"properties":{"a":{"type":"integer"}}}`, `{"a":1}`, []string{}},
	} {
		require.Equal(t, tt.want, Misfits(parse(t, tt.schema), parse(t, tt.value)), tt.value)
	}
}

// An explanation that would be too expensive is cut short, without wrong findings.
func TestMisfitsCutShort(t *testing.T) {
	t.Parallel()
	numbers := strings.TrimSuffix(strings.Repeat("7,", 200_000), ",")
	got := Misfits(parse(t, `{"required":["z"],"properties":{"a":{"items":{"oneOf":[{"type":"string"},{"not":{"type":"string"}}]},"uniqueItems":false}}}`), parse(t, `{"a":[`+numbers+`]}`))
	require.Equal(t, []string{`"z" is required`}, got)
	got = Misfits(parse(t, `{"properties":{"a":{"items":{"type":"string"}}}}`), parse(t, `{"a":[`+numbers+`]}`))
	require.Len(t, got, maxFindings)
}

// The text of a type that refers to itself takes limited time.
func TestSignatureOfTypesInTypes(t *testing.T) {
	t.Parallel()
	branch := `{"type":"object","properties":{"w":{"$ref":"#/$defs/u"},"x":{"$ref":"#/$defs/u"},"y":{"$ref":"#/$defs/u"},"z":{"$ref":"#/$defs/u"}}}`
	s := New(parse(t, `{"properties":{"a":{"$ref":"#/$defs/u"}},"$defs":{"u":{"anyOf":[`+branch+strings.Repeat(","+branch, 99)+`]}}}`))
	require.Less(t, len(Signature("x", s)), 10_000)
	require.Less(t, len(BriefSignature("x", s, 20)), 1_000)
	require.Equal(t, "x(a?: integer, b?: …)", BriefSignature("x", New(parse(t, `{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`)), 1))
}
