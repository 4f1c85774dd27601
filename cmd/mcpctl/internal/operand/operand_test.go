package operand

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

const toolSchema = `{"type":"object","properties":{
	"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},
	"tags":{"type":"array","items":{"type":"string"}},
	"ids":{"type":"array","items":{"type":"integer"}},
	"o":{"type":"object","properties":{"k":{"type":"integer"},"0":{"type":"string"}}},
	"m":{"type":"array","items":{"type":"object","properties":{"k":{"type":"integer"}}}}}}`

func build(t testing.TB, base string, args ...string) (*doc.Value, []schema.Finding, error) {
	t.Helper()
	root, err := doc.Parse([]byte(toolSchema))
	require.NoError(t, err)
	files := &Files{Stdin: strings.NewReader("from stdin")}
	var object *doc.Value
	if base != "" {
		if object, err = Base("--json", base, files); err != nil {
			return nil, nil, err
		}
	}
	var ops []Operand
	for _, arg := range args {
		op, err := Parse(arg, files)
		if err != nil {
			return nil, nil, err
		}
		ops = append(ops, op)
	}
	return Build(object, ops, schema.New(root))
}

func TestBuild(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("9876543210", 1000)
	for _, tt := range []struct {
		name string
		base string
		args []string
		want string
	}{
		{"nothing", "", nil, `{}`},
		{"typed", "", []string{"s=007", "i=7", "n=1.0", "b=true"}, `{"s":"007","i":7,"n":1.0,"b":true}`},
		{"order as typed", "", []string{"n=1", "b=true", "i=2"}, `{"n":1,"b":true,"i":2}`},
		{
			"exact numbers", "",
			[]string{"a:=9007199254740993", "b:=1.0", "c:=1e400", "d:=-0", "e:=" + digits},
			`{"a":9007199254740993,"b":1.0,"c":1e400,"d":-0,"e":` + digits + `}`,
		},
		{"exact text", "", []string{`a:={"z": 1.0, "a":[ ]}`}, `{"a":{"z": 1.0, "a":[ ]}}`},
		{"exact over several lines", "", []string{"a:={\n\"z\": 1.0\n}"}, `{"a":{"z":1.0}}`},
		{"unknown name is a string", "", []string{"x=5"}, `{"x":"5"}`},
		{"empty value", "", []string{"s="}, `{"s":""}`},
		{"value with an equals sign", "", []string{"s=a=b", "x==c"}, `{"s":"a=b","x":"=c"}`},
		{"name with a colon", "", []string{"a:b=1"}, `{"a:b":"1"}`},
		{"literal at sign", "", []string{"s=@@home", `x:="@home"`}, `{"s":"@home","x":"@home"}`},
		{"standard input", "", []string{"s=@-"}, `{"s":"from stdin"}`},
		{"list", "", []string{"tags[]=1", "tags[]=b"}, `{"tags":["1","b"]}`},
		{"typed items", "", []string{"ids[]=1", "ids[]=2"}, `{"ids":[1,2]}`},
		{"nested", "", []string{"o[k]=5", "x[a][b]=c"}, `{"o":{"k":5},"x":{"a":{"b":"c"}}}`},
		{"list of objects", "", []string{"m[0][k]:=1", "m[1][k]=2", "m[0][j]=x"}, `{"m":[{"k":1,"j":"x"},{"k":2}]}`},
		{"digits in an object", "", []string{"o[0]=a"}, `{"o":{"0":"a"}}`},
		{"digits without a schema", "", []string{"x[0]=a"}, `{"x":["a"]}`},
		{"base below", `{"i": 1.0, "s": "a"}`, []string{"s=b", "n=2"}, `{"i":1.0,"s":"b","n":2}`},
		{"base untouched", `{"i": 1.0}`, nil, `{"i": 1.0}`},
		{"nested in the base", `{"o":{"k":1,"z":9007199254740993}}`, []string{"o[k]=2"}, `{"o":{"k":2,"z":9007199254740993}}`},
		{"left out", `{"i":1,"o":{"k":1,"j":2}}`, []string{"i==", "o[k]==", "zzz==", "zz[z]=="}, `{"o":{"j":2}}`},
		{"base from standard input", "-", nil, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, findings, err := build(t, tt.base, tt.args...)
			if tt.want == "" {
				require.ErrorIs(t, err, ErrForm) // "from stdin" is not JSON
				return
			}
			require.NoError(t, err)
			require.Empty(t, findings)
			require.Equal(t, tt.want, got.String())
		})
	}
}

func TestFormErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		base string
		args []string
		want string
	}{
		{"no equals sign", "", []string{"hi"}, "is not name=value"},
		{"an object", "", []string{`{"a":"b=c"}`}, "write --json before it"},
		{"no name", "", []string{"=v"}, "no name before"},
		{"exact without a name", "", []string{":=1"}, "no name before"},
		{"open bracket", "", []string{"a[=v"}, "is not name=value"},
		{"open bracket before", "", []string{"a[b[c]=v"}, "is not name=value"},
		{"close bracket", "", []string{"a]=v"}, "] without a ["},
		{"text after a bracket", "", []string{"a[b]c=v"}, "text after a ]"},
		{"bad JSON", "", []string{"a:={b:1}"}, "is not JSON: invalid character 'b'"},
		{"name twice in JSON", "", []string{`a:={"b":1,"b":2}`}, "duplicate"},
		{"no file", "", []string{"a=@/nowhere/at/all"}, "cannot be read"},
		{"no file name", "", []string{"a=@"}, "there is no file name"},
		{"standard input twice", "", []string{"a=@-", "b=@-"}, "only once"},
		{"given twice", "", []string{"s=1", "s=2"}, "given twice"},
		{"gap", "", []string{"tags[1]=x"}, "out of range"},
		{"into a string", "", []string{"s=1", "s[a]=2"}, `needs an object or a list, but the value is "1"`},
		{"name in a list", "", []string{"tags[]=1", "tags[a]=2"}, "needs an object"},
		{"end of an object", "", []string{"o[k]=1", "o[]=2"}, "needs a list"},
		{"base is a list", `[1]`, nil, "must be an object, is array"},
		{"base is not JSON", `{a:1}`, nil, "--json: is not JSON"},
		{"not UTF-8", "", []string{"s=\xff"}, "not UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := build(t, tt.base, tt.args...)
			require.ErrorIs(t, err, ErrForm)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestSyntaxErrorIsInside(t *testing.T) {
	t.Parallel()
	_, _, err := build(t, "", "a:={b:1}")
	var syntax *doc.SyntaxError
	require.ErrorAs(t, err, &syntax)
	require.Equal(t, 2, syntax.Column)
}

func TestFindings(t *testing.T) {
	t.Parallel()
	got, findings, err := build(t, "", "i=foo", "ids[]=1", "ids[]=x", "o[k]=y")
	require.NoError(t, err)
	require.Equal(t, []schema.Finding{
		{Pointer: "/i", Message: `must be an integer, got "foo"`},
		{Pointer: "/ids/1", Message: `must be an integer, got "x"`},
		{Pointer: "/o/k", Message: `must be an integer, got "y"`},
	}, findings)
	require.Equal(t, `{"i":"foo","ids":[1,"x"],"o":{"k":"y"}}`, got.String())
}

func TestFromFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	text, number, object, bytes := file("t.txt", "two\nlines\n"), file("n", "9007199254740993\n"), file("o.json", "{\n \"k\": 1.0\n}\n"), file("b", "\xff\x00")
	got, findings, err := build(t, "", "s=@"+text, "i=@"+number, "o:=@"+object, "x=@base64:"+bytes)
	require.NoError(t, err)
	require.Empty(t, findings)
	require.Equal(t, `{"s":"two\nlines\n","i":9007199254740993,"o":{"k":1.0},"x":"/wA="}`, got.String())

	_, _, err = build(t, "", "s=@"+bytes)
	require.ErrorContains(t, err, "not UTF-8")
	got, _, err = build(t, "@"+object)
	require.NoError(t, err)
	require.Equal(t, `{"k":1.0}`, got.String())
}

func TestFormat(t *testing.T) {
	t.Parallel()
	root, err := doc.Parse([]byte(toolSchema))
	require.NoError(t, err)
	for _, tt := range []struct {
		args string
		want []string
	}{
		{`{"s":"a b","i":5,"b":false}`, []string{"s=a b", "i=5", "b=false"}},
		{`{"s":"@x","x":"=","y":5,"tags":["a"]}`, []string{"s=@@x", `x:="="`, "y:=5", `tags=["a"]`}},
		{`{"i":"5"}`, []string{`i:="5"`}},
		{`{"a[b]":1}`, []string{"--json", `{"a[b]":1}`}},
		{`{"-s":1}`, []string{"--json", `{"-s":1}`}},
		{`{}`, []string{}},
	} {
		args, err := doc.Parse([]byte(tt.args))
		require.NoError(t, err)
		require.Equal(t, tt.want, Format(args, schema.New(root)), tt.args)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a=1", "a:=[1]", "a[b][]=c", "a==", "a=@@b", "a[", "=", ":=", "[]=", "a[0][k]:=1", "a=@base64:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		if strings.Contains(arg, "@") {
			return // no file is to be read here
		}
		op, err := Parse(arg, &Files{})
		if err != nil {
			require.ErrorIs(t, err, ErrForm)
			return
		}
		if _, _, err := Build(nil, []Operand{op}, schema.Schema{}); err != nil {
			require.ErrorIs(t, err, ErrForm)
		}
	})
}

// FuzzFormat says that what Format writes is what Parse and Build read.
func FuzzFormat(f *testing.F) {
	for _, seed := range []string{`{"s":"@@a","i":1.0,"x":[1,{"a":"="}]}`, `{"s":"=","b":true,"n":null}`, `{"":1}`, `{"a:":"b"}`, `{"s":"a\nb","i":"5","o":{"k":1}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args, err := doc.Parse([]byte(text))
		if err != nil || args.Kind() != doc.Object {
			return
		}
		root, err := doc.Parse([]byte(toolSchema))
		require.NoError(t, err)
		words := Format(args, schema.New(root))
		base := ""
		if len(words) == 2 && words[0] == "--json" {
			base, words = words[1], nil
		}
		got, findings, err := build(t, base, words...)
		require.NoError(t, err)
		require.Empty(t, findings)
		require.True(t, doc.Equal(args, got), "%s became %s", args, got)
	})
}
