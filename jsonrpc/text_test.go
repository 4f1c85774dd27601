package jsonrpc_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// quoted returns a text as the codec writes it.
func quoted(s string) string {
	out, _ := jsontext.AppendQuote(nil, s) // the error reports what was replaced
	return string(out)
}

// Every character, at each of the eight positions that are examined together.
func TestAppendStringWritesWhatTheCodecDoes(t *testing.T) {
	t.Parallel()
	for _, fill := range []string{"a", "\x1f", " ", "\x7f", "é", "\xff", `"`} {
		for c := range 256 {
			for at := range 10 {
				s := strings.Repeat(fill, at) + string([]byte{byte(c)}) + strings.Repeat(fill, 11-at)
				require.Equal(t, quoted(s), string(jsonrpc.AppendString(nil, s)), "%q", s)
			}
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "a", "a\n\"\\b\u2028é\U0001F600", "\xed\xa0\x80", strings.Repeat("x", 79) + "\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		require.Equal(t, quoted(s), string(jsonrpc.AppendString(nil, s)))
	})
}
