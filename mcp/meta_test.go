package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckMetaKey(t *testing.T) {
	t.Parallel()
	good := []string{
		"", "a", "A9", "a-b_c.d", "progressToken", "com.example/", "com.example/x", "a/b", "x.y-z.w9/n",
		"io.modelcontextprotocol/protocolVersion", "9", "9a",
	}
	bad := []string{
		"/", "/a", ".com/a", "com./a", "com..example/a", "9com/a", "com-/a", "-com/a", "co_m/a", "com/a/b", "com/-a",
		"com/a-", "_a", "a_", ".a", "a b", "a/b ", "é", "com.é/a", "a\n",
	}
	for _, key := range good {
		require.NoError(t, CheckMetaKey(key), "%q", key)
	}
	for _, key := range bad {
		require.Error(t, CheckMetaKey(key), "%q", key)
	}
}

func TestReservedMetaKey(t *testing.T) {
	t.Parallel()
	reserved := []string{
		"io.modelcontextprotocol/x", "dev.mcp/", "com.mcp.tools/x", "mcp.dev/x", "modelcontextprotocol.io/x",
		"api.modelcontextprotocol.org/x", "tools.mcp.com/x", "org.modelcontextprotocol.api/x",
	}
	free := []string{
		"com.example.mcp/x", "mcp", "mcp/x", "modelcontextprotocol/x", "x", "com.example/mcp", "com.mcpx/x", "progressToken",
		"traceparent", "a.b.mcp/x",
	}
	for _, key := range reserved {
		require.True(t, ReservedMetaKey(key), "%q", key)
	}
	for _, key := range free {
		require.False(t, ReservedMetaKey(key), "%q", key)
	}
}

func TestCheckMeta(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"nil", "", ""},
		{"empty", `{}`, ""},
		{"own keys", `{"com.example/a":1,"b":{}}`, ""},
		{"bare names of the protocol", `{"progressToken":1,"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","tracestate":"a=1,b@c=2","baggage":"k=v;p"}`, ""},
		{"a later traceparent", `{"traceparent":"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"}`, ""},
		{"no traceparent", `{"traceparent":"x"}`, "W3C"},
		{"a traceparent of zeros", `{"traceparent":"00-00000000000000000000000000000000-00f067aa0ba902b7-01"}`, "W3C"},
		{"a traceparent in upper case", `{"traceparent":"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"}`, "W3C"},
		{"a traceparent that is no text", `{"traceparent":7}`, "W3C"},
		{"a tracestate without values", `{"tracestate":"abc"}`, "W3C"},
		{"a baggage with control characters", `{"baggage":"a=\u0000"}`, "W3C"},
		{"bad key", `{"a":1,"/b":2}`, `"/b"`},
		{"reserved", `{"io.modelcontextprotocol/clientInfo":{}}`, "reserved"},
		{"the first fault is reported", `{"dev.mcp/a":1,"/b":2}`, `"dev.mcp/a"`},
		{"not an object", `[]`, "want an object"},
		{"not JSON", `{`, "_meta"},
		{"repeated", `{"a":1,"a":2}`, "duplicate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var meta json.RawMessage
			if tt.in != "" {
				meta = json.RawMessage(tt.in)
			}
			err := CheckMeta(meta)
			if tt.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.want)
			}
		})
	}
}

func TestMetaValue(t *testing.T) {
	t.Parallel()
	meta := json.RawMessage(`{"a":{"b":1},"io.modelcontextprotocol/subscriptionId":"1"}`)
	got, ok := MetaValue(meta, MetaSubscriptionID)
	require.True(t, ok)
	require.Equal(t, `"1"`, string(got))
	for _, tt := range []struct{ meta, key string }{
		{`{"a":{"b":1}}`, "b"}, {`{"A":1}`, "a"}, {``, "a"}, {`[]`, "a"}, {`{"a":1`, "a"},
	} {
		_, ok = MetaValue(json.RawMessage(tt.meta), tt.key)
		require.False(t, ok, tt.meta)
	}
}

func FuzzMetaKey(f *testing.F) {
	for _, key := range []string{"", "a", "a/b", "io.modelcontextprotocol/x", "mcp.dev/", "/", "a..b/c", "é/ü", "traceparent"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		err := CheckMetaKey(key)
		if err == nil {
			for _, r := range key {
				if r > 0x7f || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./", r) {
					t.Fatalf("%q taken", key)
				}
			}
			if strings.Count(key, "/") > 1 || strings.HasPrefix(key, "/") {
				t.Fatalf("%q taken", key)
			}
		}
		// A single key is checked as in an object.
		raw, encodeErr := Marshal(map[string]int{key: 1})
		if encodeErr != nil || strings.ToValidUTF8(key, "") != key || checkTrace(key, []byte("1")) != nil {
			return
		}
		if got, want := CheckMeta(raw) == nil, err == nil && !ReservedMetaKey(key); got != want {
			t.Fatalf("%q: CheckMeta %v, key %v", key, got, want)
		}
	})
}
