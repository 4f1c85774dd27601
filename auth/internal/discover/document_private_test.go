package discover

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       string // "" for an object, "absent" for no JSON, else part of the error
	}{
		{"an object", ` {"a":1}` + "\n", ""},
		{"an empty object", `{}`, ""},
		{"a byte order mark", "\ufeff{}", ""},
		{"nested doubles are nobody's business", `{"a":{"b":1,"b":2}}`, ""},

		{"nothing", ``, "absent"},
		{"blanks", " \n", "absent"},
		{"HTML", `<!DOCTYPE html><html></html>`, "absent"},
		{"text", `Not Found`, "absent"},
		{"an array", `[{"a":1}]`, "not a JSON object"},
		{"a string", `"Not Found"`, "not a JSON object"},
		{"null", `null`, "not a JSON object"},
		{"a broken array", `[{`, "absent"},
		{"half an object", `{"a":`, "not valid JSON"},
		{"two objects", `{}{}`, "not valid JSON"},
		{"text after it", `{} x`, "not valid JSON"},
		{"a comma too many", `{"a":1,}`, "not valid JSON"},
		{"bytes that are not UTF-8", "{\"a\":\"\xff\"}", "not valid JSON"},
		{"doubles", `{"issuer":"a","issuer":"b"}`, "duplicate"},
		{"doubles in another spelling", `{"issuer":"a","\u0069ssuer":"b"}`, "duplicate"},
		{"a deep one", `{"a":` + strings.Repeat("[", 1<<20), "not valid JSON"},
		{"a deep and closed one", `{"a":` + strings.Repeat("[", 1<<18) + strings.Repeat("]", 1<<18) + `}`, "not valid JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := parse([]byte(tt.body))
			if tt.want == "" {
				require.NoError(t, err)
				require.NotNil(t, d)
				return
			}
			require.Error(t, err)
			require.Equal(t, tt.want == "absent", errors.Is(err, errAbsent))
			if tt.want != "absent" {
				require.ErrorContains(t, err, tt.want)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	d, err := parse([]byte(`{"s":"x","n":1,"z":null,"b":true,"l":["a","","b","a"],"m":["a",1],"k":["a",null],"e":[],"S2":"big",
		"c":["a b","ok","","a\"","ü","a\\","x:y/z","a\u0000"]}`))
	require.NoError(t, err)
	require.Equal(t, "x", d.text("s"))
	require.Empty(t, d.text("S"), "names are exact")
	require.Empty(t, d.text("s2"), "names are exact")
	require.Empty(t, d.text("z"))
	require.True(t, d.flag("b"))
	require.False(t, d.flag("none"))
	list, ok := d.list("l")
	require.True(t, ok)
	require.Equal(t, []string{"a", "b"}, list)
	list, ok = d.list("e")
	require.True(t, ok)
	require.Empty(t, list)
	_, ok = d.list("z")
	require.False(t, ok)
	require.Equal(t, []string{"ok", "x:y/z"}, d.scopes("c"))
	require.NoError(t, d.err)

	for name, read := range map[string]func(*document){
		"n is not a string":          func(d *document) { d.text("n") },
		"s is not a boolean":         func(d *document) { d.flag("s") },
		"s is not a list of strings": func(d *document) { d.list("s") },
		"m is not a list of strings": func(d *document) { d.list("m") },
		"k is not a list of strings": func(d *document) { d.list("k") },
	} {
		d.err = nil
		read(d)
		d.text("n") // the first fault is reported
		require.EqualError(t, d.err, "its member "+name)
	}
}

func FuzzParseDocument(f *testing.F) {
	for _, s := range []string{`{"issuer":"a","l":["x",null],"b":true}`, `{"a":1,"a":2}`, `[]`, `<html>`, `{"a":{"b":[1,2,{}]}}`, "\ufeff{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := parse(body)
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(string(body), "\ufeff")), &want))
		require.Len(t, d.members, len(want))
		for name := range d.members {
			d.text(name)
			d.flag(name)
			list, _ := d.list(name)
			require.NotContains(t, list, "")
			for _, s := range d.scopes(name) {
				require.False(t, strings.ContainsAny(s, " \t\r\n\"\\\x00"))
			}
		}
	})
}
