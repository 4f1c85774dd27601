package jsonrpc

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

func TestMend(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"nothing to mend", `{"a":"é😀\n\\\""}`, `{"a":"é😀\n\\\""}`},
		{"a pair stays", `"\ud83d\ude00"`, `"\ud83d\ude00"`},
		{"capitals", `"\uD83D\uDE00"`, `"\uD83D\uDE00"`},
		{"high alone", `"a\ud83d"`, `"a\ufffd"`},
		{"high, then text", `"\ud83dx"`, `"\ufffdx"`},
		{"high, then another escape", `"\ud83d\n"`, `"\ufffd\n"`},
		{"high, then a plain escape", `"\ud83d\u0041"`, `"\ufffd\u0041"`},
		{"low alone", `"\ude00x"`, `"\ufffdx"`},
		{"low, high", `"\ude00\ud83d"`, `"\ufffd\ufffd"`},
		{"high, high, low", `"\ud83d\ud83d\ude00"`, `"\ufffd\ud83d\ude00"`},
		{"an escaped backslash is no escape", `"\\ud83d"`, `"\\ud83d"`},
		{"three backslashes are", `"\\\ud83d"`, `"\\\ufffd"`},
		{"invalid bytes, one by one", "\"\xff\xfea\xc3\"", "\"\uFFFD\uFFFDa\uFFFD\""},
		{"an emoji cut in the middle", "\"\xf0\x9f\x98\"", "\"\uFFFD\uFFFD\uFFFD\""},
		{"surrogates as bytes", "\"\xed\xa0\x80\"", "\"\uFFFD\uFFFD\uFFFD\""},
		{"U+FFFD itself", "\"\uFFFD\"", "\"\uFFFD\""},
		{"both kinds", "\"\xff\\ud800\"", "\"\uFFFD\\ufffd\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := []byte(tt.in)
			require.Equal(t, tt.want, string(mend(in)))
			require.Equal(t, tt.in, string(in), "the input must not change")
		})
	}
}

func FuzzMend(f *testing.F) {
	for _, seed := range []string{`"\ud800"`, `"\ud83d\ude00"`, "\"\xff\xff\"", `{"\ud800":1}`, `"\\ud800"`, `[1,"x"]`, `"\u`, `\`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if !json.Valid(in) {
			return // mend is only called for values that were scanned
		}
		got := mend(in)
		require.True(t, utf8.Valid(got))
		strict := jsontext.Value(got)
		require.True(t, strict.IsValid(jsontext.AllowDuplicateNames(true)), "%s", got)
		// Strict readers see the same text as lenient ones.
		require.Equal(t, leniently(t, in), leniently(t, got))
	})
}

// leniently decodes as encoding/json does, with numbers of any size.
func leniently(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&v))
	return v
}
