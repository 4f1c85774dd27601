package doc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseKeepsBytes(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("1234567890", 1000)
	for _, text := range []string{
		`9007199254740993`, `1.0`, `1e400`, `-0`, digits, `-1E+2`, `0.10`,
		`{"b": 1.0, "a":[ 1e400 , -0 ]}`, `"\u00e9\/"`, `null`, `true`, `false`, `[]`, `{}`, `{"z":1,"a":2}`,
	} {
		v, err := Parse([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, text, v.String())
	}
}

func TestParseDropsLineBreaksOnly(t *testing.T) {
	t.Parallel()
	v, err := Parse([]byte("{\n  \"b\": 1.0,\n  \"a\": [1e400, \"x y\"]\n}\n"))
	require.NoError(t, err)
	require.Equal(t, `{"b":1.0,"a":[1e400, "x y"]}`, v.String())
}

// manyNames is an open object with the members n0 to n39.
var manyNames = func() string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range 40 {
		fmt.Fprintf(&b, `"n%d":0,`, i)
	}
	return b.String()
}()

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text   string
		line, column int
		reason       string
	}{
		{"bare word", `{a:1}`, 1, 2, "invalid character 'a'"},
		{"end", `{"a":`, 1, 6, "unexpected end"},
		{"empty", ``, 1, 1, "unexpected end"},
		{"second line", "{\"a\":1,\n \"b\" 2}", 2, 6, "invalid character '2'"},
		{"trailing", `1 2`, 1, 3, "after top-level value"},
		{"duplicate", `{"a":1,"\u0061":2}`, 1, 8, "duplicate"},
		{"duplicate of many", manyNames + `"n3":1,"n40":1}`, 1, len(manyNames) + 1, "duplicate"},
		{"late duplicate", manyNames + `"x":1,"n39":1}`, 1, len(manyNames) + 7, "duplicate"},
		{"not UTF-8", "\"\xff\"", 1, 2, "UTF-8"},
		{"leading zero", `01`, 1, 2, "after top-level value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(tt.text))
			var got *SyntaxError
			require.ErrorAs(t, err, &got)
			require.Equal(t, []int{tt.line, tt.column}, []int{got.Line, got.Column})
			require.Contains(t, got.Reason, tt.reason)
			require.True(t, strings.HasSuffix(got.Caret, "^"))
		})
	}
}

func TestParseShowsPartOfALongLine(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(`{"a":"` + strings.Repeat("x", 500) + `",}`))
	var got *SyntaxError
	require.ErrorAs(t, err, &got)
	require.LessOrEqual(t, len(got.Text), maxShown)
	require.Equal(t, byte('}'), got.Text[len(got.Caret)-1])
}

func TestChange(t *testing.T) {
	t.Parallel()
	v, err := Parse([]byte(`{"b": 1.0, "a": {"x": 1e400}}`))
	require.NoError(t, err)
	v.Set("c", Text("new"))
	v.Set("b", Text("<&>"))
	require.Equal(t, `{"b":"<&>","a":{"x": 1e400},"c":"new"}`, v.String())
	v.Delete("a")
	v.Delete("nothing")
	require.Equal(t, `{"b":"<&>","c":"new"}`, v.String())
	list := NewArray()
	list.SetItem(0, Text("x"))
	list.SetItem(0, Text("y"))
	require.Equal(t, `["y"]`, list.String())
}

func TestEqual(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`"\u0061"`, `"a"`, true},
		{`"1"`, `1`, false},
		{`true`, `false`, false},
		{`null`, `null`, true},
	} {
		a, err := Parse([]byte(tt.a))
		require.NoError(t, err)
		b, err := Parse([]byte(tt.b))
		require.NoError(t, err)
		require.Equal(t, tt.want, Equal(a, b), "%s = %s", tt.a, tt.b)
	}
}

func TestNilIsNothing(t *testing.T) {
	t.Parallel()
	var v *Value
	require.Zero(t, v.Kind())
	require.Nil(t, v.Get("a").Get("b"))
	require.Empty(t, v.Str())
	require.False(t, v.True())
	require.Nil(t, v.Any())
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.0,{"b":null}],"c":"\ud83d\ude00"}`, ` [ ] `, `"\"\\"`, `-0e+1`, `{"":{"":[]}}`, "\xff", `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data)
		if err != nil {
			var syntax *SyntaxError
			require.ErrorAs(t, err, &syntax)
			return
		}
		require.True(t, json.Valid(data))
		again, err := Parse(v.AppendJSON(nil))
		require.NoError(t, err)
		require.True(t, Equal(v, again))
	})
}
