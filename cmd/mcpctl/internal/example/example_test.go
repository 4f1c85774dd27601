package example

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

// roundTrip makes the example, writes it as operands, reads them back and has
// the result judged.
func roundTrip(t *testing.T, text string) (string, bool) {
	t.Helper()
	root, err := doc.Parse([]byte(text))
	require.NoError(t, err)
	args, _, ok := Arguments(root)
	if !ok {
		return "", false
	}
	words := operand.Format(args, schema.New(root))
	var base *doc.Value
	files := &operand.Files{}
	var ops []operand.Operand
	if len(words) == 2 && words[0] == "--json" {
		base, err = operand.Base("--json", words[1], files)
		require.NoError(t, err)
	} else {
		for _, w := range words {
			op, err := operand.Parse(w, files)
			require.NoError(t, err)
			ops = append(ops, op)
		}
	}
	got, findings, err := operand.Build(base, ops, schema.New(root))
	require.NoError(t, err)
	require.Empty(t, findings)
	require.True(t, doc.Equal(args, got), "%s became %s", args, got)
	j, err := schema.NewJudge(root)
	require.NoError(t, err)
	require.Empty(t, j.Findings(got), "%s", got)
	return Quote(words), true
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, want string }{
		{"echo", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`, "message=hi"},
		{"nothing required", `{"type":"object","properties":{"a":{"type":"string"}}}`, ""},
		{
			"types", `{"properties":{"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"z":{"type":"null"},"s":{"type":"string"}},"required":["s","z","b","n","i"]}`,
			"i=1 n=1 b=true z=null s=example",
		},
		{
			"limits", `{"properties":{"a":{"type":"integer","minimum":5},"b":{"type":"integer","exclusiveMaximum":-3},"c":{"type":"number","exclusiveMinimum":0,"maximum":0.5},"d":{"type":"integer","multipleOf":7,"minimum":50},"e":{"type":"integer","minimum":3,"maximum":3}},"required":["a","b","c","d","e"]}`,
			"a=10 b=-4 c=0.5 d=56 e=3",
		},
		{"lengths", `{"properties":{"a":{"type":"string","minLength":10},"b":{"type":"string","maxLength":2}},"required":["a","b"]}`, `a='example e.' b=ex`},
		{"enum, const, default", `{"properties":{"a":{"enum":["fast","exact"]},"b":{"const":5},"c":{"type":"string","default":"x"}},"required":["a","b","c"]}`, "a=fast b=5 c=x"},
		{
			"patterns", `{"properties":{"a":{"type":"string","pattern":"^[A-Z]{3}-\\d+$"},"b":{"type":"string","pattern":"^(foo|bar)?x+$","minLength":4},"c":{"type":"string","pattern":"[a-f0-9]{8}"}},"required":["a","b","c"]}`,
			"a=AAA-1 b=foox c=aaaaaaaa",
		},
		{"formats", `{"properties":{"u":{"type":"string","format":"uri"},"d":{"type":"string","format":"date"}},"required":["u","d"]}`, "u=https://example.com/ d=2026-01-31"},
		{
			"lists", `{"properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"type":"array","items":{"type":"integer"},"minItems":2,"uniqueItems":true},"c":{"type":"array"}},"required":["a","b","c"]}`,
			`a='["example"]' b='[1,2]' c='[]'`,
		},
		{"objects", `{"properties":{"o":{"type":"object","properties":{"k":{"type":"integer"}},"required":["k"]}},"required":["o"]}`, `o='{"k":1}'`},
		{"reference", `{"properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],"$defs":{"n":{"type":"integer","minimum":2}}}`, "a=10"},
		{"recursive, optional", `{"properties":{"next":{"$ref":"#"},"v":{"type":"integer"}},"required":["v"]}`, "v=1"},
		{"one of two required", `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`, "a=example"},
		{"second branch", `{"properties":{"a":{"anyOf":[{"type":"string","pattern":"(never)\\bx"},{"type":"integer"}]}},"required":["a"]}`, "a=1"},
		{
			"condition", `{"properties":{"kind":{"enum":["file","url"]},"path":{"type":"string"},"url":{"type":"string"}},"required":["kind"],"if":{"properties":{"kind":{"const":"file"}}},"then":{"required":["path"]},"else":{"required":["url"]}}`,
			"kind=file path=.",
		},
		{"strange names", `{"properties":{"a[b]":{"type":"integer"}},"required":["a[b]"]}`, `--json '{"a[b]":1}'`},
		{"number as a string", `{"properties":{"id":{"type":"string","pattern":"^[0-9]{4}$"}},"required":["id"]}`, "id=1111"},
		{"min properties", `{"type":"object","minProperties":2,"additionalProperties":{"type":"integer"}}`, "key1:=1 key2:=1"},
		{"all of", `{"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"a":{"minimum":4}}}]}`, "a=10"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := roundTrip(t, tt.schema)
			require.True(t, ok)
			if tt.name == "min properties" {
				require.NotEmpty(t, got)
				return
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// What the schema names is an example of its author's; all else is a
// placeholder, and said to be one.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`:                                     false,
		`{"properties":{"a":{"type":"string"}}}`: false,
		`{"properties":{"a":{"enum":["x"]},"b":{"const":1},"c":{"default":"d"},"e":{"examples":["f"]}},"required":["a","b","c","e"]}`:           false,
		`{"properties":{"a":{"type":"array","items":{"enum":["x"]}},"n":{"type":"null"}},"required":["a","n"]}`:                                 false,
		`{"properties":{"a":{"enum":["x"]},"b":{"type":"string"}},"required":["a","b"]}`:                                                        true,
		`{"properties":{"a":{"type":"string","pattern":"^[A-Z]+-\\d{3,}$"}},"required":["a"]}`:                                                  true,
		`{"properties":{"a":{"type":"integer"}},"required":["a"]}`:                                                                              true,
		`{"properties":{"a":{"type":"boolean"}},"required":["a"]}`:                                                                              true,
		`{"properties":{"o":{"properties":{"k":{"type":"number"}},"required":["k"]}},"required":["o"]}`:                                         true,
		`{"properties":{"a":{"type":"array","items":{"enum":["x"]},"minItems":2,"uniqueItems":true}},"required":["a"],"not":{"type":"object"}}`: false, // no example at all
	} {
		root, err := doc.Parse([]byte(text))
		require.NoError(t, err)
		_, placeholders, _ := Arguments(root)
		require.Equal(t, want, placeholders, text)
	}
	_, placeholders, ok := Arguments(nil)
	require.True(t, ok)
	require.False(t, placeholders)
}

func TestNoExample(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"properties":{"a":false},"required":["a"]}`,
		`{"not":{}}`,
		`{"properties":{"a":{"type":"string","minLength":100000}},"required":["a"]}`,
		`{"$ref":"#"}`,
		`{"properties":{"a":{"$ref":"#"}},"required":["a"]}`, // an endless object
	} {
		_, ok := roundTrip(t, text)
		require.False(t, ok, text)
	}
}

// FuzzArguments: whatever the schema, an example that is offered passes.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{"properties":{"a":{"type":["integer","null"],"minimum":3}},"required":["a"]}`,
		`{"oneOf":[{"required":["a"]},{"properties":{"b":{"const":"="}},"required":["b"]}]}`,
		`{"properties":{"@":{"type":"string","pattern":"@+"}},"required":["@"]}`,
		`{"type":"object","required":["a:","-x"],"minProperties":4}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := doc.Parse([]byte(text))
		if err != nil || v.Kind() != doc.Object {
			return
		}
		if _, err := schema.NewJudge(v); err != nil {
			return
		}
		roundTrip(t, text)
	})
}

func TestQuote(t *testing.T) {
	t.Parallel()
	words := []string{"a=b", "c=d e", "it's", "", "x[]=1", "$HOME", "a='", "é", "-e", "*", "{a,b}", "a\nb", "~/x", "a=~", "#x", "!x"}
	require.Equal(t, `a=b c='d e' 'it'\''s' '' 'x[]=1' '$HOME' a=''\''' 'é' -e '*' '{a,b}'`, Quote(words[:11]))
	sh, err := exec.LookPath("sh")
	if err != nil {
		return // there is no shell to ask here; the table above was checked
	}
	out, err := exec.Command(sh, "-c", `for w in `+Quote(words)+`; do printf '%s\0' "$w"; done`).Output()
	require.NoError(t, err)
	require.Equal(t, words, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"))
}
