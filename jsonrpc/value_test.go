package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUnmarshalKeepsNumbersExact(t *testing.T) {
	t.Parallel()
	var got any
	require.NoError(t, Unmarshal([]byte(`{"a":9007199254740993,"b":[1.0,1e400,-0],"c":"9"}`), &got))
	require.Equal(t, map[string]any{
		"a": json.Number("9007199254740993"),
		"b": []any{json.Number("1.0"), json.Number("1e400"), json.Number("-0")},
		"c": "9",
	}, got)
	text, err := Marshal(got)
	require.NoError(t, err)
	require.Equal(t, `{"a":9007199254740993,"b":[1.0,1e400,-0],"c":"9"}`, string(text))
}

func TestNumbersAreNumbersInBothDirections(t *testing.T) {
	t.Parallel()
	type holder struct {
		N json.Number            `json:"n"`
		P *json.Number           `json:"p,omitempty"`
		K map[json.Number]string `json:"k,omitempty"`
	}
	p := json.Number("1.50")
	tests := []struct {
		name, in string
		want     holder
		out      string // "" when refused
	}{
		{"digits", `{"n":9007199254740993,"p":1.50}`, holder{N: "9007199254740993", P: &p}, `{"n":9007199254740993,"p":1.50}`},
		{"none are zero", `{}`, holder{}, `{"n":0}`},
		{"null leaves it", `{"n":null,"p":null}`, holder{}, `{"n":0}`},
		{"in a string", `{"n":"1e3"}`, holder{N: "1e3"}, `{"n":1e3}`},
		{"as a name", `{"n":1,"k":{"5":"five"}}`, holder{N: "1", K: map[json.Number]string{"5": "five"}}, `{"n":1,"k":{"5":"five"}}`},
		{"a word", `{"n":"one"}`, holder{}, ""},
		{"a boolean", `{"n":true}`, holder{}, ""},
		{"an object", `{"n":{}}`, holder{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got, std holder
			stdErr := json.Unmarshal([]byte(tt.in), &std)
			err := Unmarshal([]byte(tt.in), &got)
			if tt.out == "" {
				require.Error(t, stdErr)
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			require.Equal(t, std, got, "as encoding/json")
			text, err := Marshal(got)
			require.NoError(t, err)
			require.Equal(t, tt.out, string(text))
		})
	}
	for _, bad := range []json.Number{"x", "1 2", "01", `"1"`, "1,2"} {
		_, err := Marshal(bad)
		require.Error(t, err, bad)
	}
}

func TestUnmarshalIsStrictAboutNames(t *testing.T) {
	t.Parallel()
	var got struct {
		Name string `json:"name"`
	}
	require.NoError(t, Unmarshal([]byte(`{"NAME":"x","Name":"y"}`), &got))
	require.Empty(t, got.Name, "RPC-20: names match exactly")
	require.Error(t, Unmarshal([]byte(`{"name":"x","name":"y"}`), &got))
	var tree any
	require.Error(t, Unmarshal([]byte(`{"a":{"b":1,"b":2}}`), &tree))
	require.Error(t, Unmarshal([]byte(`{"a":1} {"a":2}`), &tree))
}

func TestMarshalBehavesAsEncodingJSON(t *testing.T) {
	t.Parallel()
	type inner struct {
		When  time.Duration   `json:"when"`
		Empty []int           `json:"empty"`
		Omit  int             `json:"omit,omitempty"`
		Raw   json.RawMessage `json:"raw,omitempty"`
		Bytes []byte          `json:"bytes"`
		Any   any             `json:"any"`
		Flag  *bool           `json:"flag"`
	}
	tests := []any{
		nil, 1, "x", 1.5, 1e21, []string(nil),
		map[string]any{"b": 1, "a": []any{nil, true}},
		map[int]string{2: "b", 1: "a"},
		inner{When: time.Second, Raw: json.RawMessage(`{ "a" : 1 }`), Bytes: []byte("hi")},
		&inner{}, "\u2028", json.Number("12345678901234567890"),
		struct{ A, b int }{1, 2},
	}
	for _, v := range tests {
		want := &bytes.Buffer{}
		enc := json.NewEncoder(want)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(v))
		got, err := Marshal(v)
		require.NoError(t, err)
		// encoding/json always escapes U+2028; AppendMarshal need not.
		got = bytes.ReplaceAll(got, []byte("\u2028"), []byte(`\u2028`))
		require.Equal(t, strings.TrimSuffix(want.String(), "\n"), string(got), "%#v", v)
		require.NotContains(t, string(got), "\n", "a frame is one line")
	}
	got, err := Marshal("a\xff")
	require.NoError(t, err)
	require.Equal(t, "\"a\uFFFD\"", string(got))
	got, err = Marshal("<a&b>")
	require.NoError(t, err)
	require.Equal(t, `"<a&b>"`, string(got))
	_, err = Marshal(make(chan int))
	require.Error(t, err)
}

func FuzzValueRoundTrip(f *testing.F) {
	for _, seed := range []string{`null`, `{"a":[1,2.50,1e3,"x\n",true]}`, `{"a":1,"a":2}`, `"\ud800"`, `[01]`, `[tru]`, "\"\xff\"", ` 1 `, `[1,]`, `-0`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var got, want any
		err := Unmarshal(in, &got)
		dec := json.NewDecoder(bytes.NewReader(in))
		dec.UseNumber()
		wantErr := dec.Decode(&want)
		if wantErr == nil {
			if _, trailing := dec.Token(); !errors.Is(trailing, io.EOF) {
				wantErr = errors.New("more after the value")
			}
		}
		if err != nil {
			require.True(t, wantErr != nil || strings.Contains(err.Error(), "duplicate"), "refused without need: %v", err)
			return
		}
		require.NoError(t, wantErr, "taken, but encoding/json refuses it")
		require.Equal(t, want, got)
		text, err := Marshal(got)
		require.NoError(t, err)
		var again any
		require.NoError(t, Unmarshal(text, &again))
		require.Equal(t, got, again)
		require.NotContains(t, string(text), "\n")
	})
}
