package jsonrpc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

var walked = []string{
	`{}`, ` { } `, `{"a":1}`, `{"a":1,"b":"x"}`, "{ \"a\" :\t[1, {\"b\": \"]\"}] ,\r\n\"c\" : null }",
	`{"a":"\"","b":"\\","c":"\\\"","d":"\\\\"}`, `{"a\"b":{"c":{}},"é":true}`, `{"":-1.5e3}`, `{"a":{"b":"}"},"c":[["]"]]}`,
	`[]`, `"a"`, `7`,
}

func members(visit func([]byte, func(name, value []byte) bool) error, object string) (out []string, err error) {
	err = visit([]byte(object), func(name, value []byte) bool {
		out = append(out, string(name), string(value))
		return true
	})
	return out, err
}

// Walk finds the same as Members in valid JSON, and ends for any other text.
func TestWalk(t *testing.T) {
	t.Parallel()
	for _, object := range walked {
		want, wantErr := members(jsonrpc.Members, object)
		got, err := members(jsonrpc.Walk, object)
		require.Equal(t, wantErr == nil, err == nil, object)
		require.Equal(t, want, got, object)
		for cut := range object {
			_, _ = members(jsonrpc.Walk, object[:cut])
		}
	}
	calls := 0
	require.NoError(t, jsonrpc.Walk([]byte(`{"a":1,"b":2}`), func(_, _ []byte) bool {
		calls++
		return false
	}))
	require.Equal(t, 1, calls)
	got, err := members(jsonrpc.Walk, `{"a":{"b":1},"c":"d"`) // without its brace, as params are kept
	require.NoError(t, err)
	require.Equal(t, []string{"a", `{"b":1}`, "c", `"d"`}, got)
}

func FuzzWalk(f *testing.F) {
	for _, object := range walked {
		f.Add(object)
	}
	f.Fuzz(func(t *testing.T, object string) {
		want, wantErr := members(jsonrpc.Members, object)
		got, err := members(jsonrpc.Walk, object)
		if wantErr == nil {
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})
}
