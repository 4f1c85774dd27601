package family

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

func TestInvalidArgument_FormOfEachFamily(t *testing.T) {
	t.Parallel()
	fails := func(code int64) wire.Answer { return wire.Answer{Err: &wire.RPCError{Code: code}} }
	result := func(payload string) wire.Answer {
		b, err := json.Marshal(map[string]any{"isError": true, "content": []map[string]string{{"type": "text", "text": payload}}})
		require.NoError(t, err)
		return wire.Answer{Result: b}
	}
	envelope := func(code string) wire.Answer { return result(`{"success":false,"error":{"code":"` + code + `"}}`) }
	for _, tc := range []struct {
		family string
		a      wire.Answer
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
		require.Equal(t, tc.want, InvalidArgument(tc.family, tc.a), "%s %+v", tc.family, tc.a)
	}
}
