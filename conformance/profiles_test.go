package conformance

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInvalidArgument_FormOfEachFamily(t *testing.T) {
	t.Parallel()
	fails := func(code int64) answer { return answer{err: &rpcError{Code: code}} }
	result := func(payload string) answer {
		b, err := json.Marshal(map[string]any{"isError": true, "content": []map[string]string{{"type": "text", "text": payload}}})
		require.NoError(t, err)
		return answer{result: b}
	}
	envelope := func(code string) answer { return result(`{"success":false,"error":{"code":"` + code + `"}}`) }
	for _, tc := range []struct {
		family string
		a      answer
		want   bool
	}{
		{"", fails(-32602), true},
		{"", fails(-32603), false},
		{"", result("no"), true},
		{"artifact", fails(-32602), true},
		{"artifact", fails(400), false},
		{"artifact", result("no"), false},
		{"docling", fails(-32602), true},
		{"docling", fails(-32002), false},
		{"coe", fails(-32602), true},
		{"coe", fails(400), true},
		{"coe", fails(429), false},
		{"coe", envelope("INVALID_PARAM"), true},
		{"coe", envelope("RATE_LIMIT"), false},
		{"coe", result("no"), false},
		{"preflights", envelope("VALIDATION_FAILED"), true},
		{"preflights", envelope("FILESYSTEM_ERROR"), false},
		{"preflights", result(`{"status":"error","code":"VALIDATION_FAILED"}`), true},
		{"assistant", result("Error: session context not found"), true},
	} {
		require.Equal(t, tc.want, invalidArgument(tc.family, tc.a), "%s %+v", tc.family, tc.a)
	}
}
