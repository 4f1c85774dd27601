package client_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// A model or a person must be able to correct a call from its error alone: it
// has the place, what belongs there, everything else that is wrong and the tool's
// signature. It never has the values, which may be secrets and end up in logs.
func TestArgumentErrorsSayWhatToWriteInstead(t *testing.T) {
	t.Parallel()
	const signature = "; signature: x("
	for _, tt := range []struct {
		name, schema, args, want string
	}{
		{"type", `{"properties":{"a":{"type":"integer"}}}`, `{"a":"s3cret"}`, `"a" must be an integer, got a string; signature: x(a?: integer)`},
		{"types", `{"properties":{"a":{"type":["integer","null"]}}}`, `{"a":"s3cret"}`, `"a" must be an integer or null, got a string` + signature},
		{"enum", `{"properties":{"a":{"enum":["fast","exact","slow"]}}}`, `{"a":"s3cret"}`, `"a" must be one of "fast", "exact", "slow"; signature: x(a?: fast|exact|slow)`},
		{"enum, nearly", `{"properties":{"a":{"enum":["fast","exact","slow"]}}}`, `{"a":"fats"}`, `"a" must be one of "fast", "exact", "slow"; did you mean "fast"? signature: x(a?: fast|exact|slow)`},
		{"enum of another type", `{"properties":{"a":{"enum":["fast","exact"]}}}`, `{"a":31337}`, `"a" must be one of "fast", "exact", got an integer` + signature},
		{"const", `{"properties":{"a":{"const":"v1"}}}`, `{"a":"s3cret"}`, `"a" must be "v1"` + signature},
		{"missing", `{"properties":{"a":{"type":"string"}},"required":["a"]}`, ``, `"a" is required; signature: x(a: string)`},
		{"unknown", `{"properties":{"a":{}},"additionalProperties":false}`, `{"unlike":"s3cret"}`, `"unlike" is not a known property; signature: x(a?: any)`},
		{
			"unknown, nearly", `{"properties":{"mode":{"type":"string"}},"additionalProperties":false}`, `{"mdoe":"s3cret"}`,
			`"mdoe" is not a known property; did you mean mode? signature: x(mode?: string)`,
		},
		{
			"missing because misspelt, where more is allowed", `{"properties":{"name":{"type":"string"}},"required":["name"]}`, `{"nam":"s3cret"}`,
			`"name" is required; "nam" is not a known property; did you mean name? signature: x(name: string)`,
		},
		{"nested", `{"properties":{"in":{"properties":{"deep":{"type":"boolean"}}}}}`, `{"in":{"deep":"s3cret"}}`, `"in.deep" must be a boolean, got a string` + signature},
		{
			"item", `{"properties":{"a":{"type":"array","items":{"properties":{"n":{"type":"number"}}}}}}`, `{"a":[{},{"n":"s3cret"}]}`,
			`"a[1].n" must be a number, got a string; signature: x(a?: {n?: number}[])`,
		},
		{"minimum", `{"properties":{"a":{"minimum":40000}}}`, `{"a":31337}`, `"a" must be at least 40000` + signature},
		{"maximum", `{"properties":{"a":{"maximum":5}}}`, `{"a":31337}`, `"a" must be at most 5` + signature},
		{"length", `{"properties":{"a":{"minLength":20}}}`, `{"a":"s3cret"}`, `"a" must have at least 20 characters` + signature},
		{"items", `{"properties":{"a":{"maxItems":1}}}`, `{"a":["s3cret","s3cret2"]}`, `"a" must have at most 1 item` + signature},
		{"pattern", `{"properties":{"a":{"pattern":"^v[0-9]$"}}}`, `{"a":"s3cret"}`, `"a" must match ^v[0-9]$` + signature},
		{"union", `{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"boolean"}]}}}`, `{"a":"s3cret"}`, `"a" fits none of the alternatives integer|boolean, got a string` + signature},
		{"reference", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, `{"a":"s3cret"}`, `"a" must be an integer, got a string; signature: x(a?: integer)`},
		{
			"everything at once", `{"properties":{"a":{"type":"integer"},"b":{"type":"integer"},"mode":{"enum":["fast","exact","slow"]}},"required":["a","b"],"additionalProperties":false}`,
			`{"a":"s3cret","mode":"s3cret","mod":1}`,
			`"a" must be an integer, got a string; "b" is required; "mode" must be one of "fast", "exact", "slow"; "mod" is not a known property; signature: x(a: integer, b: integer, mode?: fast|exact|slow)`,
		},
		{
			"more than an error holds", `{"additionalProperties":{"type":"integer"}}`, `{"a":"","b":"","c":"","d":"","e":"","f":"s3cret","g":""}`,
			`"a" must be an integer, got a string; "b" must be an integer, got a string; "c" must be an integer, got a string; "d" must be an integer, got a string; "e" must be an integer, got a string; and 2 more; signature: x()`,
		},
		{"the whole", `{"minProperties":1}`, `{}`, `must have at least 1 property; signature: x()`},
		{"a rule without words", `{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"b":"s3cret"}`, `/unevaluatedProperties: does not satisfy not; signature: x(a?: any)`},
		{"control characters", `{"additionalProperties":{"type":"integer"}}`, `{"a\u001b[31m\u202e":"s3cret"}`, `must be an integer, got a string` + signature},
	} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(tt.name+" "+version, func(t *testing.T) {
				t.Parallel()
				schema := strings.Replace(tt.schema, "{", `{"type":"object",`, 1)
				c, s := ofVersion(t, version, `{"tools":[{"name":"x","inputSchema":`+schema+`}],"ttlMs":60000,"cacheScope":"public","resultType":"complete"}`)
				var args any
				if tt.args != "" {
					args = json.RawMessage(tt.args)
				}
				_, err := c.CallTool(t.Context(), "x", args)
				var e *mcperrors.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, mcperrors.KindInvalidArguments, e.Kind)
				if tt.name == "control characters" {
					require.NotContains(t, e.Message, "\u202e")
					require.NotContains(t, e.Message, "\x1b")
					require.Contains(t, e.Message, tt.want)
				} else if strings.HasSuffix(tt.want, signature) {
					require.True(t, strings.HasPrefix(e.Message, "the arguments do not match x: "+tt.want), e.Message)
				} else {
					require.Equal(t, "the arguments do not match x: "+tt.want, e.Message)
				}
				require.NotContains(t, err.Error(), "s3cret")
				require.NotContains(t, err.Error(), "31337")
				require.Zero(t, s.count("tools/call"))
			})
		}
	}
}

// Schemas and arguments of any size get an error of a bounded length.
func TestArgumentErrorsAreBounded(t *testing.T) {
	t.Parallel()
	numbers := strings.TrimSuffix(strings.Repeat("7,", 60_000), ",")
	var many, sent strings.Builder
	for i := range 4_000 {
		fmt.Fprintf(&many, `"p%d":{"type":"integer"},`, i)
		fmt.Fprintf(&sent, `"q%d":"s3cret",`, i)
	}
	for name, tt := range map[string]struct{ schema, args string }{
		"many names":       {`{"type":"object","properties":{` + strings.TrimSuffix(many.String(), ",") + `},"additionalProperties":false}`, `{` + strings.TrimSuffix(sent.String(), ",") + `}`},
		"a long name":      {`{"type":"object","properties":{"a":{}},"additionalProperties":false}`, `{"` + strings.Repeat("n", 100_000) + `":"s3cret"}`},
		"a long list":      {`{"type":"object","properties":{"a":{"type":"array","uniqueItems":true}},"required":["b"]}`, `{"a":[` + numbers + `]}`},
		"wrong items":      {`{"type":"object","properties":{"a":{"items":{"type":"string"}}}}`, `{"a":[` + numbers + `]}`},
		"a large value":    {`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":"` + strings.Repeat("s3cret", 100_000) + `"}`},
		"unions in unions": {`{"type":"object","properties":{"a":{"$ref":"#/$defs/u"}},"$defs":{"u":{"anyOf":[` + strings.Repeat(`{"type":"object","required":["w"],"properties":{"w":{"$ref":"#/$defs/u"},"x":{"$ref":"#/$defs/u"},"y":{"$ref":"#/$defs/u"}}},`, 12) + `false]}}}`, `{"a":{"w":{"w":{}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := ofVersion(t, "2025-11-25", `{"tools":[{"name":"x","inputSchema":`+tt.schema+`}]}`)
			_, err := c.CallTool(t.Context(), "x", json.RawMessage(tt.args))
			require.ErrorContains(t, err, "the arguments do not match x: ")
			require.Less(t, len(err.Error()), 2_000)
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
}
