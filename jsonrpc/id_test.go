package jsonrpc

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestID(t *testing.T) {
	t.Parallel()
	const huge = "123456789012345678901234567890123456789012345678901234567890"
	tests := []struct {
		name, in string
		want     string // its JSON; "" when refused
		text     string
	}{
		{"string", `"a"`, `"a"`, "a"},
		{"empty string", `""`, `""`, ""},
		{"escapes have one canonical form", `"\u0061\u002f\/\""`, `"a//\""`, `a//"`},
		{"surrogate pair", `"\ud83d\ude00"`, `"😀"`, "😀"},
		{"not ASCII", `"é"`, `"é"`, "é"},
		{"integer", `42`, `42`, "42"},
		{"minus zero is zero", `-0`, `0`, "0"},
		{"over 2^53", `9007199254740993`, `9007199254740993`, "9007199254740993"},
		{"over 2^64", huge, huge, huge},
		{"spaces around", " 7 ", `7`, "7"},
		{"fraction", `1.0`, "", ""},
		{"exponent", `1e3`, "", ""},
		{"lone surrogate", `"\ud800"`, "", ""},
		{"invalid UTF-8", "\"\xff\"", "", ""},
		{"true", `true`, "", ""},
		{"object", `{}`, "", ""},
		{"array", `[1]`, "", ""},
		{"nothing", ``, "", ""},
		{"half a string", `"`, "", ""},
		{"string without end", `"abc`, "", ""},
		{"two strings", `"a" "b"`, "", ""},
		{"leading zero", `01`, "", ""},
		{"a sign alone", `-`, "", ""},
		{"raw newline in a string", "\"a\nb\"", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var id ID
			err := id.UnmarshalJSON([]byte(tt.in))
			if tt.want == "" {
				require.Error(t, err)
				require.True(t, id.IsZero())
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, string(id.AppendJSON(nil)))
			require.Equal(t, tt.text, id.String())
			require.Equal(t, tt.want[0] == '"', id.IsString())
			require.False(t, id.IsZero())
		})
	}
}

// The string "1" and the number 1 are different ids.
func TestIDsCompare(t *testing.T) {
	t.Parallel()
	require.NotEqual(t, StringID("1"), IntID(1))
	require.Equal(t, StringID("1").String(), IntID(1).String())
	var id ID
	require.NoError(t, json.Unmarshal([]byte(`"\u0031"`), &id))
	require.Equal(t, StringID("1"), id)
	require.NoError(t, json.Unmarshal([]byte(`1`), &id))
	require.Equal(t, IntID(1), id)
	require.NoError(t, id.UnmarshalJSON([]byte(`null`)))
	require.Equal(t, ID{}, id)
	text, err := json.Marshal(struct{ A, B ID }{B: StringID("x")})
	require.NoError(t, err)
	require.JSONEq(t, `{"A":null,"B":"x"}`, string(text))
	require.Equal(t, "a\uFFFDb", StringID("a\xffb").String())
}

func FuzzID(f *testing.F) {
	for _, seed := range []string{`"a"`, `1`, `-0`, `1.5`, `"\ud800"`, `"`, `"\u00"`, `null`, ` 1 `, "\"\x7f\"", `"a"b"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var id ID
		if id.UnmarshalJSON(in) != nil {
			return
		}
		require.True(t, json.Valid(in), "not JSON, but taken: %q", in)
		text := id.AppendJSON(nil)
		require.True(t, json.Valid(text))
		var again ID
		require.NoError(t, again.UnmarshalJSON(text))
		require.Equal(t, id, again)
		if id.IsString() {
			var want string
			require.NoError(t, json.Unmarshal(in, &want))
			require.Equal(t, want, id.String())
			require.Equal(t, StringID(want), id)
			require.True(t, utf8.ValidString(id.String()))
		}
	})
}

// An id from any JSON text of a value equals the id from the value.
func TestParseID(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]ID{
		`"a-1"`: StringID("a-1"), `""`: StringID(""), `"\u0061"`: StringID("a"), `"é"`: StringID("é"), `7`: IntID(7), `null`: {},
	} {
		id, err := ParseID(token)
		require.NoError(t, err, token)
		require.Equal(t, want, id, token)
	}
	for _, token := range []string{``, `"`, `1.5`, `{}`, `"a" ` + `"b"`} {
		_, err := ParseID(token)
		require.Error(t, err, token)
	}
}
