package jsonrpc

import (
	stdjson "encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// AppendMarshal writes the same bytes as Marshal.
func FuzzAppendMarshal(f *testing.F) {
	f.Add("a", 1.5, int64(3), "k", uint8(3))
	f.Add("\xff\u2028</>&", math.Inf(1), int64(math.MinInt64), "", uint8(9))
	f.Add("1 ", 0.0, int64(0), " 2\n", uint8(1))
	f.Fuzz(func(t *testing.T, text string, x float64, n int64, key string, depth uint8) {
		var nested any = map[string]any{
			key: text, text: x, "n": n, "i": int(n), "num": stdjson.Number(text), "u": depth, "f32": float32(x),
			"l": []any{nil, true, text, x, map[string]any{}, []any(nil), map[string]any(nil)},
		}
		for range depth {
			nested = []any{nested}
		}
		for _, v := range []any{nested, text, x, n, stdjson.Number(text), stdjson.Number(key), map[string]any{key: text, text: key}} {
			want, wantErr := Marshal(v)
			got, err := AppendMarshal([]byte("before"), v)
			require.Equal(t, wantErr == nil, err == nil, "%v, %v", wantErr, err)
			if err == nil {
				require.Equal(t, "before"+string(want), string(got))
			}
		}
	})
}
