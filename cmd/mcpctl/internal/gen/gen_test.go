package gen

import (
	"encoding/json"
	"errors"
	"flag"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden: each file of tools has its code beside it, which compiles.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			tools, err := doc.Parse(text)
			require.NoError(t, err)
			code := Go("sample", "a server", tools.Items())
			compiles(t, code)
			golden := strings.TrimSuffix(name, ".json") + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, code, 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(code))
			for i, j := 0, len(tools.Items())-1; i < j; i, j = i+1, j-1 {
				first, last := tools.Items()[i], tools.Items()[j]
				tools.SetItem(i, last)
				tools.SetItem(j, first)
			}
			require.Equal(t, string(want), string(Go("sample", "a server", tools.Items())), "the order of the list does not matter")
		})
	}
}

// compiles parses code, checks that gofmt would leave it alone, and that its types are right.
func compiles(t testing.TB, code []byte) {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "tools.go", code, parser.ParseComments)
	require.NoError(t, err, "%s", code)
	formatted, err := format.Source(code)
	require.NoError(t, err)
	require.Equal(t, string(formatted), string(code))
	_, err = (&types.Config{Importer: stubs{}}).Check("sample", files, []*ast.File{parsed}, nil)
	require.NoError(t, err, "%s", code)
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			require.True(t, c.Text == "//" || strings.HasPrefix(c.Text, "// "), "%q", c.Text)
		}
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			require.NotNil(t, f.Recv, "%s is not a method", f.Name.Name)
		}
	}
}

// stubs are the packages that generated code imports, as far as it uses them.
type stubs struct{}

var stubSources = map[string]string{
	"context":       `package context; type Context interface{}`,
	"encoding/json": `package json; type RawMessage []byte`,
	clientImport: `package client; import "context"; type Caller interface{}; type CallOption interface{}
func CallAs[Out any](ctx context.Context, c Caller, tool string, in any, opts ...CallOption) (Out, error) { var out Out; return out, nil }`,
	mcpImport: `package mcp; type CallToolResult struct{}`,
}

var errNoStub = errors.New("generated code does not import this")

func (s stubs) Import(path string) (*types.Package, error) {
	if stubSources[path] == "" {
		return nil, errNoStub
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, stubSources[path], 0)
	if err != nil {
		return nil, err
	}
	return (&types.Config{Importer: s}).Check(path, files, []*ast.File{parsed}, nil)
}

// one returns the code for one tool.
func one(t testing.TB, input string) string {
	t.Helper()
	tool, err := doc.Parse([]byte(`{"name":"t","inputSchema":` + input + `}`))
	require.NoError(t, err)
	code := Go("sample", "", []*doc.Value{tool})
	compiles(t, code)
	return string(code)
}

func TestTypes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ member, want string }{
		"optional":            {`{"type":"string"}`, "M *string `json:\"m,omitzero\"`"},
		"integer":             {`{"type":"integer"}`, "M *int64 "},
		"array":               {`{"type":"array","items":{"type":"number"}}`, "M []float64 `json:\"m,omitzero\"`"},
		"nullable items":      {`{"type":"array","items":{"type":["number","null"]}}`, "M []*float64 "},
		"any items":           {`{"type":"array"}`, "M []any "},
		"tuple":               {`{"type":"array","prefixItems":[{}]}`, "M json.RawMessage "},
		"map":                 {`{"type":"object","additionalProperties":{"type":"boolean"}}`, "M map[string]bool "},
		"free object":         {`{"type":"object"}`, "M map[string]any "},
		"pattern":             {`{"type":"object","patternProperties":{"^x":{"type":"string"}}}`, "M map[string]string "},
		"anything":            {`{}`, "M any "},
		"nothing":             {`{"type":"object","properties":{"x":false},"additionalProperties":false}`, "M *TInputM "},
		"nullable":            {`{"anyOf":[{"type":"string"},{"type":"null"}]}`, "M *string "},
		"union":               {`{"anyOf":[{"type":"string"},{"type":"object"}]}`, "M json.RawMessage "},
		"formats":             {`{"anyOf":[{"type":"string","format":"uri"},{"type":"string"}]}`, "M *string "},
		"constants":           {`{"oneOf":[{"const":"a"},{"const":"b"}]}`, "M *TInputM "},
		"number or integer":   {`{"type":["number","integer"]}`, "M *float64 "},
		"two types":           {`{"type":["string","integer"]}`, "M json.RawMessage "},
		"integers":            {`{"enum":[1,2]}`, "M *int64 "},
		"mixed values":        {`{"enum":[1,"a"]}`, "M json.RawMessage "},
		"unknown type":        {`{"type":"file"}`, "M json.RawMessage "},
		"elsewhere":           {`{"$ref":"https://x/y"}`, "M json.RawMessage "},
		"parts":               {`{"allOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}`, "M *TInputM "},
		"parts that disagree": {`{"allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"a":{}}}]}`, "M json.RawMessage "},
		"itself":              {`{"$ref":"#"}`, "M *TInput "},
		"circle":              {`{"$ref":"#/properties/m"}`, "M json.RawMessage "},
		"in a list":           {`{"type":"array","items":{"$ref":"#/properties/m"}}`, "M []json.RawMessage "},
		"typed rest":          {`{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"string"}}`, "M json.RawMessage "},
		"strange member":      {`{"type":"object","properties":{"a,b":{}}}`, "M json.RawMessage "},
	} {
		require.Contains(t, one(t, `{"type":"object","properties":{"m":`+tt.member+`}}`), tt.want, name)
	}
	required := one(t, `{"type":"object","required":["a","b","c"],"properties":{"a":{"type":"string"},"b":{"type":["string","null"]},"c":{"$ref":"#"}}}`)
	require.Contains(t, required, "\tA string  `json:\"a\"`\n\tB *string `json:\"b\"`\n\tC *TInput `json:\"c\"`\n")
	require.Contains(t, one(t, `{"type":"object"}`), "type TInput map[string]any\n")
	require.Contains(t, one(t, `{"type":"object","properties":{}}`), "type TInput struct{}\n")
	require.Contains(t, one(t, `{"type":"object","properties":{},"additionalProperties":true}`), "type TInput map[string]any\n")
}

// TestMembersKeepTheirNames: encoding a struct gives the names of the schema back.
func TestMembersKeepTheirNames(t *testing.T) {
	t.Parallel()
	type sample struct {
		Dash *int `json:"-,omitzero"` //nolint:staticcheck // the name is meant
	}
	text, err := json.Marshal(sample{Dash: new(1)})
	require.NoError(t, err)
	require.JSONEq(t, `{"-":1}`, string(text))
	require.Contains(t, one(t, `{"properties":{"-":{"type":"integer"}}}`), "`json:\"-,omitzero\"`")
	require.Contains(t, one(t, `{"required":["-"],"properties":{"-":{"type":"integer"}}}`), "`json:\"-,\"`")
}

func TestNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"get-sum": "GetSum", "taskId": "TaskID", "url": "URL", "": "Empty", "7zip": "X7zip", "type": "Type", "größe": "Größe",
		"名前": "X名前", "…": "X", "a\u200bb": "AU200BB", "HTTPServer": "HTTPServer", "__": "X",
	} {
		require.Equal(t, want, goName(text), "%q", text)
	}
	names := goNames([]string{"a_b", "a-b", "c"})
	require.Equal(t, "C", names[2])
	require.NotEqual(t, names[0], names[1])
	require.Equal(t, names[1], goNames([]string{"a b", "a-b", "a_b"})[1], "the suffix depends on the text alone")
	require.NotEqual(t, "Caller", goNames([]string{"caller"}, "Caller")[0])
}

// TestShortNames: a nested type has the shortest name that no other of its document has.
func TestShortNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, map[string]string{
		"T.Entities.Item":        "TEntity",
		"T.Filter":               "TFilter",
		"T.Filter.State":         "TFilterState", // there are two states
		"T.Entities.Item.State":  "TEntityState",
		"T.Entities.Item.Color":  "TColor",
		"T.Labels.Value":         "TLabel",
		"T.Status.Item":          "TStatusItem",
		"T.Rows.Item.Item":       "TRowItem",
		"T.Item":                 "TItem",
		"T.A.BC":                 "TABC",
		"T.AB.C":                 "TC",
		"T.X.BC":                 "TXBC",
		"T.Addresses.Item.Boxes": "TBoxes",
	}, shortNames("T", []string{
		"T.Entities.Item", "T.Filter", "T.Filter.State", "T.Entities.Item.State", "T.Entities.Item.Color", "T.Labels.Value",
		"T.Status.Item", "T.Rows.Item.Item", "T.Item", "T.A.BC", "T.AB.C", "T.X.BC", "T.Addresses.Item.Boxes",
	}))
	for plural, want := range map[string]string{
		"Entities": "Entity", "Observations": "Observation", "Boxes": "Box", "Addresses": "Address", "Movies": "Movie", "Databases": "Database",
		"Status": "", "Series": "", "Address": "", "Analysis": "", "As": "A", "S": "", "Data": "", "": "",
	} {
		require.Equal(t, want, singular(plural), plural)
	}
}

// TestNewToolRenamesNothing: the code for a tool is the same beside any other.
func TestNewToolRenamesNothing(t *testing.T) {
	t.Parallel()
	tool := func(name string) string {
		return `{"name":"` + name + `","inputSchema":{"properties":{"entities":{"type":"array","items":{"properties":{"kind":{"enum":["a"]},"entity":{"properties":{"x":{}}}}}}}}}`
	}
	list, err := doc.Parse([]byte("[" + tool("create") + "," + tool("create_entity") + "," + tool("a") + "," + tool("entities") + "]"))
	require.NoError(t, err)
	both := string(Go("sample", "", list.Items()))
	for i := range list.Items() {
		alone := string(Go("sample", "", list.Items()[i:i+1]))
		_, types, _ := strings.Cut(alone, "Caller client.Caller\n}\n")
		require.Contains(t, both, types)
	}
	compiles(t, []byte(both))
}

func TestPackageNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"tools": true, "go_2": true, "größe": true, "gofer": true, "go": false, "_": false, "": false, "2go": false, "a-b": false, "a\nfunc": false} {
		require.Equal(t, want, IsPackageName(name), "%q", name)
		require.Equal(t, want, token.IsIdentifier(name) && name != "_", "%q", name)
	}
}

// TestHostileText: nothing that a server says leaves its comment or its string.
func TestHostileText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"*/ func init() { panic(1) } /*", "a\nfunc init() {}", "a\r\nb\rc", "x\n//go:embed secret", "go:generate rm -rf /", "+build ignore",
		"a\u2028b\u2029c", "a\u202eb", "# Heading", "One\n\nAlone\n\nLast", "[x]: https://example.com", "``quoted'' ```go\nx\n```",
		"- a\n- b\n\n  1. c\n\tcode", "line a.go:1", strings.Repeat("long ", 100), "\x00\x1b[31m", "Deprecated: no", "{\n\tx\n}", "`\"\\", "json.RawMessage",
	} {
		tool := doc.NewObject()
		tool.Set("name", doc.Text(text))
		tool.Set("description", doc.Text(text))
		input, err := doc.Parse([]byte(`{"properties":{"a":{}},"required":["a"]}`))
		require.NoError(t, err)
		input.Set("description", doc.Text(text))
		values := doc.NewObject()
		values.Set("enum", doc.NewArray(doc.Text(text), doc.Text("b")))
		values.Set("description", doc.Text(text))
		values.Set("default", doc.Text(text))
		input.Get("properties").Set("a", values)
		tool.Set("inputSchema", input)
		compiles(t, Go("sample", text, []*doc.Value{tool}))
		input.Get("properties").Set(text, values)
		compiles(t, Go("sample", text, []*doc.Value{tool}))
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	code := func(tools string) []byte {
		list, err := doc.Parse([]byte(tools))
		require.NoError(t, err)
		return Go("sample", "", list.Items())
	}
	was := code(`[{"name":"a","inputSchema":{"properties":{"x":{"type":"string"},"z":{"enum":["one"]}}}},{"name":"gone","inputSchema":{"properties":{"x":{"enum":["a"]}}}}]`)
	now := code(`[{"name":"a","inputSchema":{"required":["x"],"properties":{"x":{"type":"string"},"y":{"type":"string"},"z":{"enum":["one","two"]}}}},{"name":"new","inputSchema":{"properties":{"x":{}}}}]`)
	require.Empty(t, Changes(was, was))
	require.Equal(t, []Change{
		{What: "tool gone", Was: "Gone(GoneInput) (*mcp.CallToolResult, error)"},
		{What: "tool new", Now: "New(NewInput) (*mcp.CallToolResult, error)"},
		{What: "AInput.X", Was: "*string `json:\"x,omitzero\"`", Now: "string `json:\"x\"`"},
		{What: "AInput.Y", Now: "*string `json:\"y,omitzero\"`"},
		{What: "AInputZ.AInputZTwo", Now: `AInputZ = "two"`},
	}, Changes(was, now))
	require.Len(t, Changes(was, []byte(strings.Replace(string(was), "calls the tool a.", "calls it.", 1))), 1)
	name, ok := Package(was)
	require.True(t, ok)
	require.Equal(t, "sample", name)
	_, ok = Package([]byte("package sample\n"))
	require.False(t, ok)
}

// FuzzGo: any tool with any schema has code that compiles and is formatted.
func FuzzGo(f *testing.F) {
	f.Add("a", "about", `{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"$ref":"#/$defs/n"}},"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}}}}}`)
	f.Add("", "*/", `{"allOf":[{"$ref":"#"},{"anyOf":[{"type":"null"},{"type":["string","number"]}]}]}`)
	f.Add("caller", "# x", `{"type":"array","items":{"additionalProperties":{"oneOf":[{"const":1},{"const":2}]}}}`)
	f.Fuzz(func(t *testing.T, name, about, text string) {
		input, err := doc.Parse([]byte(text))
		if err != nil || input.Kind() != doc.Object || name == "" || len(text) > 1<<16 {
			return
		}
		tool := doc.NewObject()
		tool.Set("name", doc.Text(name))
		tool.Set("description", doc.Text(about))
		tool.Set("inputSchema", input)
		tool.Set("outputSchema", input)
		compiles(t, Go("sample", name, []*doc.Value{tool}))
	})
}
