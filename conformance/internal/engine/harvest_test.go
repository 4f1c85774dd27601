package engine

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestGuesses: values that a server returns, or that its descriptions quote, become arguments of
// its tools where they fit.
func TestGuesses(t *testing.T) {
	t.Parallel()
	tool := func(properties, required string) wire.Tool {
		return wire.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":` + properties + `,"required":` + required + `}`)}
	}
	text := json.RawMessage(`{"structuredContent":{"items":[{"sku":"F-1","qty":3},{"sku":"R-2","qty":3}],"owner_id":"u7"},"content":[{"type":"text","text":"{\"id\":12}"},{"type":"text","text":"no JSON"}]}`)
	for name, tt := range map[string]struct {
		tool wire.Tool
		want []string
	}{
		"the same name":      {tool(`{"sku":{"type":"string"}}`, `["sku"]`), []string{`{"sku":"F-1"}`, `{"sku":"R-2"}`}},
		"another spelling":   {tool(`{"ownerId":{"type":"string"}}`, `["ownerId"]`), []string{`{"ownerId":"u7"}`}},
		"an id of something": {tool(`{"note_id":{"type":"integer"}}`, `["note_id"]`), []string{`{"note_id":12}`}},
		"another type":       {tool(`{"sku":{"type":"integer"}}`, `["sku"]`), nil},
		"a quoted word":      {tool(`{"city":{"type":"string","description":"A city, such as 'Oslo'."}}`, `["city"]`), []string{`{"city":"Oslo"}`}},
		"a number is no word": {tool(`{"sku":{"type":"string"},"n":{"type":"integer","description":"for example -2"}}`, `["sku","n"]`), []string{
			`{"n":1,"sku":"F-1"}`, `{"n":1,"sku":"R-2"}`,
		}},
		"an optional member":       {tool(`{"sku":{"type":"string"},"owner":{"type":"string"}}`, `[]`), []string{`{"owner":"u7"}`, `{"sku":"F-1"}`}},
		"optional besides it":      {tool(`{"sku":{"type":"string"},"full":{"type":"boolean"}}`, `["sku"]`), []string{`{"sku":"F-1"}`, `{"sku":"R-2"}`}},
		"what the schema chooses":  {tool(`{"sku":{"enum":["a"]}}`, `["sku"]`), nil},
		"nothing":                  {tool(`{}`, `[]`), nil},
		"a schema nobody can read": {wire.Tool{InputSchema: json.RawMessage(`7`)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRevisionRun(&runner{}, mcp.LatestSession)
			l.Learn(wire.Answer{Result: text})
			var got []string
			for _, a := range l.Guesses(tt.tool) {
				got = append(got, string(a.JSON))
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// TestVariants: what is known to be an id stays, and everything else changes.
func TestVariants(t *testing.T) {
	t.Parallel()
	l := newRevisionRun(&runner{}, mcp.LatestSession)
	tool := wire.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","required":["sku","n"],"properties":{
		"sku":{"type":"string"},"n":{"type":"integer","minimum":1,"maximum":3},"full":{"type":"boolean"},"unit":{"enum":["C","F"]}}}`)}
	var got []string
	for _, a := range l.Variants(tool, Arguments{fixture.Arguments{JSON: json.RawMessage(`{"sku":"F-1","n":1}`)}, false}) {
		got = append(got, string(a.JSON))
	}
	require.Equal(t, []string{
		`{"full":true,"n":1,"sku":"F-1"}`, `{"n":1,"sku":"F-1","unit":"C"}`,
		`{"full":true,"n":1,"sku":"F-1","unit":"C"}`, `{"full":false,"n":1,"sku":"F-1","unit":"C"}`, `{"full":true,"n":3,"sku":"F-1","unit":"F"}`,
		`{"full":false,"n":1,"sku":"F-1","unit":"F"}`, `{"full":true,"n":1,"sku":"F-1","unit":"F"}`,
	}, got)
	require.Empty(t, l.Variants(wire.Tool{InputSchema: json.RawMessage(`7`)}, Arguments{}))
}

// TestKnown_URI: an id is a guess for a name that nothing was returned for, but not for a URI.
func TestKnown_URI(t *testing.T) {
	t.Parallel()
	l := newRevisionRun(&runner{}, mcp.LatestSession)
	l.LearnValue("id", "static-text")
	require.Equal(t, []string{"static-text"}, l.Known("note"))
	require.Empty(t, l.Known("resourceUri"))
	require.Empty(t, l.Known("image_url"))
}

// FuzzLearn: whatever a server returns, learning ends and keeps little.
func FuzzLearn(f *testing.F) {
	f.Add(`{"structuredContent":{"a":[[[{"b":1}]]]},"content":[{"text":"[1,2,{\"c\":null}]"}]}`)
	f.Fuzz(func(t *testing.T, result string) {
		l := newRevisionRun(&runner{}, mcp.LatestSession)
		l.Learn(wire.Answer{Result: json.RawMessage(result)})
		require.LessOrEqual(t, len(l.known), mostNames)
		for _, values := range l.known {
			require.LessOrEqual(t, len(values), mostKnown)
		}
	})
}
