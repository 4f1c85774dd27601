package params

import (
	"encoding/json"
	"math"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// first returns the field and reason of the first violation, "" without one.
func first(o *Object) string {
	err := o.Err()
	if err == nil {
		return ""
	}
	v, ok := err.(*Violation)
	if !ok {
		return "no violation: " + err.Error()
	}
	return v.Field + " " + v.Reason
}

func read(raw string, known ...string) *Object { return Read(json.RawMessage(raw), known...) }

func TestRead(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``: "", `null`: "", ` {} `: "", `{"a":1}`: "",
		`[]`: "arguments type", `7`: "arguments type", `{"a":`: "arguments type", "{\"a\":\"\xff\"}": "",
		`{"z":1,"y":1,"a":1}`:                     "y unknown",
		`{"` + strings.Repeat("é", 99) + `\n":1}`: strings.Repeat("é", 64) + "… unknown",
	} {
		require.Equal(t, want, first(read(raw, "a")), raw)
	}
	require.Empty(t, first(Loose(json.RawMessage(`{"anything":1}`))))
}

func TestRead_Twice(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"a":1,"a":1}`: "a duplicate",
		`{"a":{"b":1,"c":[{"d":1},{"d":2,"d":3}]}}`:       "a.c[1].d duplicate",
		`{"a":[[{"x":1}],{"x":1,"\u0078":2}]}`:            "a[1].x duplicate",
		`{"a":{"a":{"a":1}},"b":{"a":[{"a":1},{"a":1}]}}`: "",
		`{"z":1,"z":2}`: "z unknown",
	} {
		require.Equal(t, want, first(read(raw, "a", "b")), raw)
	}
	require.Empty(t, first(Loose(json.RawMessage(`{"a":1,"a":1}`))), "what is loose is loose")
	deep := strings.Repeat(`{"a":[`, 4000) + strings.Repeat(`]}`, 4000)
	require.Empty(t, first(read(deep, "a")))
}

func TestGetters(t *testing.T) {
	t.Parallel()
	tests := []struct {
		raw  string
		get  func(*Object) any
		want any
		bad  string
	}{
		{`{}`, func(o *Object) any { return o.Text("a", 1) }, "", ""},
		{`{"a":"é"}`, func(o *Object) any { return o.Text("a", 1) }, "é", ""},
		{`{"a":"éé"}`, func(o *Object) any { return o.Text("a", 1) }, "", "a length"},
		{`{"a":null}`, func(o *Object) any { return o.Text("a", 1) }, "", "a type"},
		{`{"a":" \t"}`, func(o *Object) any { return o.Filled("a", 0) }, " \t", "a length"},
		{`{"a":"x"}`, func(o *Object) any { return o.Enum("a", "x", "y") }, "x", ""},
		{`{"a":"X"}`, func(o *Object) any { return o.Enum("a", "x", "y") }, "", "a enum"},
		{`{"a":["x"]}`, func(o *Object) any { return o.Enum("a", "x") }, "", "a type"},
		{`{}`, func(o *Object) any { return o.Bool("a", true) }, true, ""},
		{`{"a":false}`, func(o *Object) any { return o.Bool("a", true) }, false, ""},
		{`{"a":0}`, func(o *Object) any { return o.Bool("a", true) }, true, "a type"},
		{`{"a":1e2}`, func(o *Object) any { return o.Number("a", 0, 100) }, 100.0, ""},
		{`{"a":100.1}`, func(o *Object) any { return o.Number("a", 0, 100) }, 0.0, "a range"},
		{`{"a":-1}`, func(o *Object) any { return o.Number("a", 0, math.Inf(1)) }, 0.0, "a range"},
		{`{"a":1e999}`, func(o *Object) any { return o.Number("a", 0, math.Inf(1)) }, 0.0, "a type"},
		{`{}`, func(o *Object) any { return o.Int("a", 1, 3, 2) }, 2, ""},
		{`{"a":3.0}`, func(o *Object) any { return o.Int("a", 1, 3, 2) }, 3, ""},
		{`{"a":2.5}`, func(o *Object) any { return o.Int("a", 1, 3, 2) }, 2, "a type"},
		{`{"a":4}`, func(o *Object) any { return o.Int("a", 1, 3, 2) }, 2, "a range"},
		{`{"a":1e300}`, func(o *Object) any { return o.Int("a", 1, math.MaxInt32, 2) }, 2, "a range"},
		{`{"a":null}`, func(o *Object) any { return o.Int("a", 1, 3, 2) }, 2, "a type"},
		{`{"a":["x\u0000","y"]}`, func(o *Object) any { return o.Texts("a") }, []string{"x", "y"}, ""},
		{`{"a":["x",1]}`, func(o *Object) any { return o.Texts("a") }, []string(nil), "a[1] type"},
		{`{"a":{"b":1}}`, func(o *Object) any { return o.Object("a", "b").Number("b", 0, 1) }, 1.0, ""},
		{`{"a":{"b":2}}`, func(o *Object) any { return o.Object("a", "b").Number("b", 0, 1) }, 0.0, "a.b range"},
		{`{"a":{"c":2}}`, func(o *Object) any { return o.Object("a", "b").Has("c") }, true, "a.c unknown"},
		{`{"a":[]}`, func(o *Object) any { return o.Object("a").Members() }, []string{}, "a type"},
		{`{"a":{"c":2,"b":1}}`, func(o *Object) any { return o.Any("a").Members() }, []string{"b", "c"}, ""},
		{`{"a":[{"b":"x"},{"b":7}]}`, func(o *Object) any { return o.Objects("a", "b")[1].Text("b", 0) }, "", "a[1].b type"},
		{`{"a":[null]}`, func(o *Object) any { return len(o.Objects("a")) }, 0, "a[0] type"},
		{`{"a":[1,2]}`, func(o *Object) any { o.AtMost("a", 2); return nil }, nil, ""},
		{`{"a":[1,2,3]}`, func(o *Object) any { o.AtMost("a", 2); return nil }, nil, "a length"},
		{`{"a":{}}`, func(o *Object) any { o.AtMost("a", 2); return nil }, nil, "a type"},
		{`{}`, func(o *Object) any { o.AtMost("a", 2); return nil }, nil, ""},
		{`{"a":"TASK-001"}`, func(o *Object) any { return o.ID("a") }, "TASK-001", ""},
		{`{}`, func(o *Object) any { o.Need("a", "b"); return nil }, nil, "a required"},
	}
	for _, tt := range tests {
		o := read(tt.raw, "a")
		require.Equal(t, tt.want, tt.get(o), tt.raw)
		require.Equal(t, tt.bad, first(o), tt.raw)
	}
}

func TestFirstViolationStays(t *testing.T) {
	t.Parallel()
	o := read(`{"a":1,"b":2}`, "a", "b")
	o.Text("b", 0)
	o.Text("a", 0)
	o.Fail("c", Range, "c is odd")
	require.Equal(t, "b type", first(o))
	require.Equal(t, "b must be a string", o.Err().Error())
}

func TestPaths_S1_SEC_02(t *testing.T) {
	t.Parallel()
	for p, ok := range map[string]bool{
		"src/a.go": true, "a..b/c..": true, "...": true, "100%": true, "src/a b.go": true, "dir/.hidden": true, "a%20b": true, "": true,
		"..": false, "../x": false, "a/../../b": false, `a\..\b`: false, "/etc/passwd": false, `\\host\share`: false, `C:\x`: false, "c:x": false,
		"~/x": false, "%2e%2e/x": false, "%252e%252e%252fx": false, "%25252e%25252e/x": false, "a\x00b": false, "a\nb": false, "%00": false, "..%5cx": false,
	} {
		raw, err := json.Marshal(map[string]any{"a": p, "l": []string{"ok", p}})
		require.NoError(t, err)
		o := Read(raw, "a", "l")
		got := o.Path("a")
		require.Equal(t, ok, o.Err() == nil, "%q", p)
		require.Equal(t, p, got)
		o = Read(raw, "a", "l")
		require.Equal(t, []string{"ok", p}, o.Paths("l"))
		require.Equal(t, ok, o.Err() == nil, "%q", p)
	}
}

func TestIDs_X_SEC_01(t *testing.T) {
	t.Parallel()
	for id, ok := range map[string]bool{
		"TASK-001": true, "a1b2c3d4-e5f6": true, "trace:y.z": true, strings.Repeat("é", 128): true,
		"": false, strings.Repeat("é", 129): false, "..": false, "../x": false, "a/b": false, `a\b`: false, "%2e%2e": false, "a\x00": false, "a\n": false,
	} {
		raw, err := json.Marshal(map[string]string{"a": id})
		require.NoError(t, err)
		o := Read(raw, "a")
		o.ID("a")
		require.Equal(t, ok, o.Err() == nil, "%q", id)
	}
}

func FuzzPath(f *testing.F) {
	for _, p := range []string{"src/a.go", "..", "%2e%2e/x", "a/%252e%252e/b", `C:\x`, "~", "\x00", "%"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		raw, err := json.Marshal(map[string]string{"a": p})
		require.NoError(t, err)
		o := Read(raw, "a")
		got := o.Path("a")
		if o.Err() != nil {
			return
		}
		require.False(t, strings.ContainsFunc(got, unicode.IsControl))
		for { // however often somebody decodes it
			require.False(t, strings.HasPrefix(got, "/"))
			require.NotContains(t, strings.Split(strings.ReplaceAll(got, `\`, "/"), "/"), "..")
			decoded, err := url.PathUnescape(got)
			if err != nil || decoded == got {
				break
			}
			got = decoded
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"a":{"b":["x"]}}`))
	f.Add([]byte(`{"a":[{"b":1}]}`))
	f.Add([]byte(`[[[`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, get := range []func(*Object){
			func(o *Object) { o.Any("a").Texts("b") }, func(o *Object) { o.Objects("a", "b") }, func(o *Object) { o.Paths("a") },
			func(o *Object) { o.Int("a", 0, 1, 0) }, func(o *Object) { o.Filled("a", 3) }, func(o *Object) { o.ID("a") },
		} {
			o := Read(raw, "a")
			get(o)
			if err := o.Err(); err != nil {
				require.Less(t, len(err.Error()), 600, "a message is short whatever was sent")
			}
		}
	})
}
