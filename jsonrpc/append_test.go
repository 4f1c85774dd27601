package jsonrpc

import (
	stdjson "encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// A value is written the same by all functions.
func TestAppendMarshal(t *testing.T) {
	t.Parallel()
	type point struct {
		X int `json:"x,omitempty"`
	}
	many := map[string]any{}
	for _, name := range strings.Split("qwertyuiopasdfghjklzxcvbnm", "") {
		many[name] = name
	}
	for _, v := range []any{
		nil, true, false, "", "plain", "é世界\u2028<>&", "line\nbreak\t\"quoted\"\\ \x00\x1f\x7f", "bad \xff utf8",
		0, -1, math.MaxInt64, int64(7), uint(7), float32(0.1), 0.0, math.Copysign(0, -1), 1.5, 1e20, 1e21, -1e21, 1e-6, 1e-7, 1.5e-9, 1e-10, 1e300, math.MaxFloat64,
		stdjson.Number("12345678901234567890"), stdjson.Number("1e5"), stdjson.Number(""),
		map[string]any(nil),
		map[string]any{},
		[]any(nil),
		[]any{},
		[]string{"a"},
		many,
		map[string]any{"b": 1, "a": []any{nil, map[string]any{"z": point{}, "y": &point{X: 2}}}, "<": stdjson.RawMessage(`{"n": 1.0}`)},
		point{X: 1},
		&point{}, []byte("bytes"), strings.Repeat("line\n", 2000),
	} {
		want, err := Marshal(v)
		require.NoError(t, err)
		got, err := AppendMarshal([]byte("before "), v)
		require.NoError(t, err)
		require.Equal(t, "before "+string(want), string(got), "%#v", v)
	}
	loop := map[string]any{}
	loop["self"] = loop
	for _, v := range []any{math.NaN(), math.Inf(1), stdjson.Number("no"), func() {}, map[string]any{"f": make(chan int)}, loop} {
		_, err := AppendMarshal(nil, v)
		require.Error(t, err)
	}
}

// A large text is copied once.
func TestAppendMarshalAllocations(t *testing.T) {
	if testmain.Race {
		t.Skip("the race detector allocates")
	}
	small := map[string]any{"message": "hi", "count": 3, "flags": []any{true, nil}}
	buf := make([]byte, 0, 256)
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = AppendMarshal(buf, small) }))
	large := map[string]any{"text": strings.Repeat(strings.Repeat("x", 79)+"\n", 10000)}
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() { _, _ = AppendMarshal(nil, large) }), 2.0)
}
