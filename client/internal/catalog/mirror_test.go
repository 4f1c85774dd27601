package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// found lists the paths and headers of a tree.
func (n *node) found(path string) []string {
	if n == nil {
		return nil
	}
	var out []string
	if n.header != "" {
		out = append(out, path+"="+n.header)
	}
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		out = append(out, n.children[name].found(path+"/"+name)...)
	}
	return out
}

func TestFindMirrors_HDR_06(t *testing.T) {
	t.Parallel()
	const a = `{"type":"string","x-mcp-header":"A"}`
	tests := []struct {
		name, schema string
		want         []string
		err          string
	}{
		{"none", `{"type":"object","properties":{"a":{"type":"string"}}}`, nil, ""},
		{"no schema", `[]`, nil, ""},
		{"not even JSON", `{"x-mcp-header"`, nil, ""},
		{"string, integer, boolean", `{"properties":{"a":` + a + `,"b":{"type":"integer","x-mcp-header":"B"},"c":{"type":"boolean","x-mcp-header":"C"}}}`, []string{"/a=A", "/b=B", "/c=C"}, ""},
		{"deep", `{"properties":{"a":{"type":"object","properties":{"b":` + a + `}}}}`, []string{"/a/b=A"}, ""},
		{"with null", `{"properties":{"a":{"type":["null","string"],"x-mcp-header":"A"}}}`, []string{"/a=A"}, ""},
		{"all token characters", `{"properties":{"a":{"type":"string","x-mcp-header":"!#$%&'*+-.^_` + "`" + `|~09azAZ"}}}`, []string{"/a=!#$%&'*+-.^_`|~09azAZ"}, ""},
		{"escaped name", `{"properties":{"a":{"type":"string","x-mcp-\u0068eader":"A"}}}`, []string{"/a=A"}, ""},

		{"number", `{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, nil, "property a: only a string"},
		{"object", `{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`, nil, "only a string"},
		{"array", `{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}`, nil, "only a string"},
		{"null", `{"properties":{"a":{"type":"null","x-mcp-header":"A"}}}`, nil, "only a string"},
		{"no type", `{"properties":{"a":{"x-mcp-header":"A"}}}`, nil, "only a string"},
		{"two types", `{"properties":{"a":{"type":["string","integer"],"x-mcp-header":"A"}}}`, nil, "only a string"},
		{"null alone in a list", `{"properties":{"a":{"type":["null"],"x-mcp-header":"A"}}}`, nil, "only a string"},
		{"empty", `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, nil, "not a header name"},
		{"blank", `{"properties":{"a":{"type":"string","x-mcp-header":"A B"}}}`, nil, "not a header name"},
		{"line break", `{"properties":{"a":{"type":"string","x-mcp-header":"A\r\nB"}}}`, nil, "not a header name"},
		{"not ASCII", `{"properties":{"a":{"type":"string","x-mcp-header":"Ä"}}}`, nil, "not a header name"},
		{"no text", `{"properties":{"a":{"type":"string","x-mcp-header":true}}}`, nil, "not a header name"},
		{"twice, ignoring case", `{"properties":{"a":` + a + `,"b":{"type":"object","properties":{"c":{"type":"string","x-mcp-header":"a"}}}}}`, nil, "used twice"},

		{"the root", `{"type":"string","x-mcp-header":"A"}`, nil, "the schema itself"},
		{"items", `{"properties":{"l":{"type":"array","items":` + a + `}}}`, nil, "below items"},
		{"items in a list", `{"properties":{"l":{"items":[true,` + a + `]}}}`, nil, "below items"},
		{"properties below items", `{"properties":{"l":{"items":{"properties":{"a":` + a + `}}}}}`, nil, "property a is annotated"},
		{"oneOf", `{"oneOf":[{},{"properties":{"a":` + a + `}}]}`, nil, "property a"},
		{"allOf", `{"properties":{"a":{"allOf":[` + a + `]}}}`, nil, "below allOf"},
		{"not", `{"not":` + a + `}`, nil, "below not"},
		{"then", `{"if":{},"then":{"properties":{"a":` + a + `}}}`, nil, "property a"},
		{"$defs", `{"$defs":{"d":` + a + `},"properties":{"a":{"$ref":"#/$defs/d"}}}`, nil, "below $defs"},
		{"additionalProperties", `{"additionalProperties":` + a + `}`, nil, "below additionalProperties"},
		{"patternProperties", `{"patternProperties":{"^a":` + a + `}}`, nil, "below patternProperties"},
		{"dependentSchemas", `{"dependentSchemas":{"a":` + a + `}}`, nil, "below dependentSchemas"},
		{"prefixItems", `{"properties":{"a":{"prefixItems":[` + a + `]}}}`, nil, "below prefixItems"},

		{"SEC-10: too large", `{"properties":{"a":` + a + `},"enum":[{}` + strings.Repeat(",{}", maxSearched/3) + `]}`, nil, "over 1048576 bytes"},

		{"HDR-08: a parameter of that name", `{"properties":{"x-mcp-header":{"type":"string"}}}`, nil, ""},
		{"HDR-08: the parameter of that name is annotated", `{"properties":{"x-mcp-header":` + a + `}}`, []string{"/x-mcp-header=A"}, ""},
		{"HDR-08: a parameter called items", `{"properties":{"items":` + a + `}}`, []string{"/items=A"}, ""},
		{"HDR-08: values are no schemas", `{"properties":{"a":{"type":"object","default":{"x-mcp-header":"A"},"const":{"x-mcp-header":"A"},"enum":[{"x-mcp-header":"A"}],"examples":[{"x-mcp-header":"A"}]}}}`, nil, ""},
		{"HDR-08: words of others are no schemas", `{"x-vendor":{"x-mcp-header":"A"},"dependencies":{"a":["x-mcp-header"]}}`, nil, ""},
	}
	for _, tt := range tests {
		tree, err := search(json.RawMessage(tt.schema))
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err, tt.name)
			require.Nil(t, tree)
			continue
		}
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, tree.found(""), tt.name)
	}
}

func TestHeaderText_HDR_03(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"a\nb"`: "a\nb", `""`: "", `true`: "true", `false`: "false",
		`0`: "0", `-0`: "0", `42`: "42", `-42`: "-42", `42.0`: "42", `42.000e0`: "42", `4.2e1`: "42", `4200E-2`: "42", `1e3`: "1000", `0e999999999999999999999`: "0",
		`9007199254740991`: "9007199254740991", `-9007199254740991.0`: "-9007199254740991", `0.9007199254740991e16`: "9007199254740991",
	} {
		text, ok, err := headerText([]byte(value))
		require.NoError(t, err, value)
		require.True(t, ok, value)
		require.Equal(t, want, text, value)
	}
	for _, value := range []string{`null`, `{}`, `[1]`, `1.5`, `1e-1`, `42.00000000000000000000001`, `9007199254740990.9999999`, `1e-99999999999999999999`} {
		_, ok, err := headerText([]byte(value))
		require.NoError(t, err, value)
		require.False(t, ok, value)
	}
	for _, value := range []string{`9007199254740992`, `-9007199254740992`, `9007199254740993`, `1e16`, `1e999999999`, `1e99999999999999999999`, `123456789012345678901234567890`} {
		_, _, err := headerText([]byte(value))
		require.ErrorIs(t, err, errHeaderInteger, value)
	}
}

// A schema is searched once per text.
func TestMirrorsAreKept(t *testing.T) {
	t.Parallel()
	var m Mirrors
	text := json.RawMessage(`{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`)
	one, first := m.Get("t", text)
	require.True(t, first)
	again, first := m.Get("t", slices.Clone(text))
	require.False(t, first)
	require.Same(t, one, again)
	other, first := m.Get("t", json.RawMessage(`{}`))
	require.True(t, first)
	require.Nil(t, other.tree)
	for i := range 2000 {
		m.Get(fmt.Sprint(i), text)
	}
	require.LessOrEqual(t, m.cache.Len(), 1024)
}

// With any schema and arguments, there is no panic, and every header name is valid.
func FuzzMirror(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`, `{"a":"x"}`)
	f.Add(`{"properties":{"a":{"properties":{"b":{"type":["integer","null"],"x-mcp-header":"B"}}}}}`, `{"a":{"b":1e2}}`)
	f.Add(`{"items":[{"x-mcp-header":1}]}`, `[]`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		tree, err := search(json.RawMessage(schema))
		if err != nil || tree == nil {
			return
		}
		var params []transport.Param
		params, err = (&Mirror{tree: tree}).Params(json.RawMessage(args))
		for _, p := range params {
			if err == nil && (p.Name == "" || slices.ContainsFunc([]rune(p.Name), notToken)) {
				t.Fatalf("header %q", p.Name)
			}
		}
	})
}

// TestShowPlain: a list without annotations is not read until a tool of it is called, and a later list
// with annotations, or without them again, counts.
func TestShowPlain(t *testing.T) {
	t.Parallel()
	var c Catalog
	plain := json.RawMessage(`{"tools":[{"name":"a\"b","inputSchema":{"type":"object"}},{"name":"c","inputSchema":{"type":"object"}}]}`)
	c.Show(plain)
	for i := range plain {
		plain[i] = ' ' // its owner may write over it
	}
	for name, want := range map[string]bool{"a\"b": true, "c": true, "d": false, "ab": false, "": false} {
		s, ok := c.headers.Shown(name)
		require.Equal(t, want, ok, name)
		require.True(t, !ok || s.tree == nil, name)
	}
	c.Show(json.RawMessage(`{"tools":[{"name":"c","inputSchema":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"X"}}}}]}`))
	s, ok := c.headers.Shown("c")
	require.True(t, ok)
	require.NotNil(t, s.tree)
	c.Show(json.RawMessage(`{"tools":[{"name":"c","inputSchema":{"type":"object"}}]}`))
	s, ok = c.headers.Shown("c")
	require.True(t, ok)
	require.Nil(t, s.tree)
	var same Catalog
	for range 2 * mostPlain {
		same.Show(json.RawMessage(`{"tools":[{"name":"c","inputSchema":{}}]}`))
	}
	require.Len(t, same.headers.plain, 1, "a list that is shown again is kept once")
	require.Zero(t, same.headers.tools().Len(), "and not read")
	var many Catalog
	for i := range 2 * mostPlain {
		name := fmt.Sprint("tool", i)
		many.Show(fmt.Appendf(nil, `{"tools":[{"name":%q,"inputSchema":{}}]}`, name))
		_, ok = many.headers.Shown(name)
		require.True(t, ok, name)
	}
}
