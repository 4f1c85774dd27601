package front

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func TestParse(t *testing.T) {
	t.Parallel()
	deepOK := `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":` + strings.Repeat("[", 510) + strings.Repeat("]", 510) + `}}`
	deepBad := strings.Replace(strings.Replace(deepOK, "[", "[[", 1), "]", "]]", 1)
	for _, tc := range []struct {
		name, in string
		code     int64 // 0: accepted
		reason   string
		id       string
	}{
		{"request", `{"jsonrpc":"2.0","id":1,"method":"m"}`, 0, "", "1"},
		{"string id", `{"jsonrpc":"2.0","id":"a\u0062","method":"m","params":null}`, 0, "", `"a\u0062"`},
		{"big id", `{"jsonrpc":"2.0","id":123456789012345678901,"method":"m"}`, 0, "", "123456789012345678901"},
		{"notification", `{"jsonrpc":"2.0","method":"m","params":{}}`, 0, "", ""},
		{"response", `{"jsonrpc":"2.0","id":1,"result":{}}`, 0, "", "1"},
		{"no JSON", `{oops`, -32700, "", "null"},
		{"two values", `{} {}`, -32700, "", "null"},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"m"}]`, -32600, "batch", "null"},
		{"scalar", `17`, -32600, "not_object", "null"},
		{"no jsonrpc", `{"id":7,"method":"m"}`, -32600, "jsonrpc", "7"},
		{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":"x","method":"m"}`, -32600, "jsonrpc", `"x"`},
		{"jsonrpc number", `{"jsonrpc":2.0,"id":"x","method":"m"}`, -32600, "jsonrpc", `"x"`},
		{"other case", `{"JSONRPC":"2.0","id":7,"method":"m"}`, -32600, "jsonrpc", "7"},
		{"no method", `{"jsonrpc":"2.0","id":7}`, -32600, "method", "7"},
		{"nothing", `{"jsonrpc":"2.0"}`, -32600, "method", "null"},
		{"method number", `{"jsonrpc":"2.0","id":7,"method":1}`, -32600, "method", "7"},
		{"method null", `{"jsonrpc":"2.0","id":7,"method":null}`, -32600, "method", "7"},
		{"method and result", `{"jsonrpc":"2.0","id":7,"method":"m","result":1}`, -32600, "method", "7"},
		{"result and error", `{"jsonrpc":"2.0","id":7,"result":1,"error":{}}`, -32600, "method", "7"},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"m"}`, -32600, "id", "null"},
		{"id object", `{"jsonrpc":"2.0","id":{},"method":"m"}`, -32600, "id", "null"},
		{"id fraction", `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, -32600, "id", "1.5"},
		{"id twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, -32600, "duplicate_member", "1"},
		{"params array", `{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, 0, "", "1"},
		{"depth 512", deepOK, 0, "", "1"},
		{"depth 513", deepBad, -32600, "too_deep", "null"},
		{"brackets in text", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat(`[\"`, 600) + `"}`, 0, "", "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, f := parse([]byte(tc.in))
			if tc.code == 0 {
				require.Nil(t, f)
				require.Equal(t, tc.id, string(m.id))
				return
			}
			require.Nil(t, m)
			var out struct {
				ID    json.RawMessage
				Error struct {
					Code int64
					Data struct{ Reason string }
				}
			}
			require.NoError(t, json.Unmarshal(f.encode(), &out))
			require.Equal(t, tc.code, out.Error.Code)
			require.Equal(t, tc.reason, out.Error.Data.Reason)
			require.Equal(t, tc.id, string(out.ID))
		})
	}
	_, f := parse([]byte(`{"jsonrpc":"2.0","method":"m","params":[]}`))
	require.Nil(t, f.err, "a bad notification has no answer")
}

func TestCheckParams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		method, params string
		want           string // of the error; "" is none
	}{
		{"tools/call", `{"name":"x","arguments":[1],"_meta":{"a":1}}`, ""},
		{"tools/call", `{}`, ""}, // an unknown tool
		{"tools/call", `null`, "tools/call needs params"},
		{"tools/call", `[]`, "params must be an object"},
		{"tools/call", `{"name":{}}`, "name has a wrong type"},
		{"tools/call", `{"name":"x","_meta":1}`, "_meta has a wrong type"},
		{"tools/list", `null`, ""},
		{"tools/list", `{"cursor":1}`, "cursor has a wrong type"},
		{"resources/list", `{"cursor":[]}`, "cursor has a wrong type"},
		{"resources/templates/list", `{"cursor":[]}`, "cursor has a wrong type"},
		{"resources/read", `{"uri":1}`, "uri has a wrong type"},
		{"resources/subscribe", `{"uri":1}`, "uri has a wrong type"},
		{"resources/unsubscribe", `{"uri":1}`, "uri has a wrong type"},
		{"prompts/list", `{"cursor":1}`, "cursor has a wrong type"},
		{"prompts/get", `{"name":"x","arguments":{"a":1}}`, "has a wrong type"},
		{"completion/complete", `{"ref":{"type":"odd"}}`, "they are not what completion/complete takes"},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":1}}`, "argument.value has a wrong type"},
		{"logging/setLevel", `{"level":1}`, "level has a wrong type"},
		{"subscriptions/listen", `{"notifications":1}`, "notifications has a wrong type"},
		{"ping", `{"x":1}`, ""},
		{"ping", `{"_meta":"x"}`, "_meta has a wrong type"},
		{"notifications/initialized", `{}`, "is a notification and has no id"},
	} {
		m, f := parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + tc.method + `","params":` + tc.params + `}`))
		require.Nil(t, f)
		f = m.check()
		if tc.want == "" {
			require.Nil(t, f, tc.method+tc.params)
			continue
		}
		require.NotNil(t, f, tc.method+tc.params)
		require.Contains(t, f.err.Message, tc.want)
	}
	for params, good := range map[string]bool{`{"progressToken":1,"progress":0.5}`: true, `{"progress":"x"}`: false, `null`: false} {
		m, f := parse([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":` + params + `}`))
		require.Nil(t, f)
		f = m.check()
		require.Equal(t, good, f == nil, params)
		require.True(t, good || f.err == nil, "nobody may answer it")
	}
}

func TestIDInPart(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"abc","method":"m","params":{"x":"yyy`: `"abc"`,
		`{"params":{"id":1},"id":2,"x`:                                `2`,
		`{"params":{"id":1,"x":"yyyy`:                                 ``,
		`{"id":12`:                                                    ``,
		`[{"id":1}`:                                                   ``,
		``:                                                            ``,
	} {
		require.Equal(t, want, string(idInPart([]byte(in))), in)
	}
}

func TestLineReader(t *testing.T) {
	t.Parallel()
	read := func(in string, most int) (out []string) {
		r := newLineReader(oneByte{strings.NewReader(in)}, most)
		for {
			l, err := r.next()
			if err == io.EOF {
				return out
			}
			require.NoError(t, err)
			s := string(l.data)
			if l.over {
				s = "!" + s
			}
			out = append(out, s)
		}
	}
	require.Equal(t, []string{"a", "b", "c"}, read("a\n\r\n  \nb\r\nc", 10))
	require.Equal(t, []string{"12345", "!1234567", "ok"}, read("12345\r\n12345678\nok\n", 5))
	require.Equal(t, []string{"!123456", "ok"}, read("123456\nok", 5))
}

// oneByte hands out a byte at a time, so that no test depends on reads
// that end where lines do.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x","result":null}`))
	f.Add([]byte(`{"id":1,"id":2}`))
	f.Add([]byte(`[[[`))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"\"}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		m, fault := parse(in)
		require.NotEqual(t, m == nil, fault == nil)
		idInPart(in) // must not panic on anything
		if m != nil {
			require.True(t, m.kind == kindNotification || exactID(m.id))
			if m.kind == kindRequest {
				require.True(t, json.Valid(canonicalID(m.id)))
			}
			return
		}
		if fault.err != nil {
			out := fault.encode()
			require.True(t, json.Valid(out))
			require.NotContains(t, string(out), "\n")
		}
	})
}

// Framing does not depend on how the stream is cut into reads, and every line over the
// limit is reported.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\nccccccccc\nd"), 4)
	f.Add([]byte("\r\n\r\r\n"), 1)
	f.Fuzz(func(t *testing.T, in []byte, most int) {
		most = 1 + (most&0xffff)%64
		all := func(r io.Reader) (out []line) {
			lr := newLineReader(r, most)
			for {
				l, err := lr.next()
				if err != nil {
					return out
				}
				out = append(out, line{bytes.Clone(l.data), l.over})
			}
		}
		got := all(bytes.NewReader(in))
		require.Equal(t, got, all(oneByte{bytes.NewReader(in)}))
		for _, l := range got {
			require.LessOrEqual(t, len(l.data), most+2)
			require.NotContains(t, string(l.data), "\n")
			if !l.over {
				require.LessOrEqual(t, len(l.data), most)
			}
		}
	})
}

// An answer must go out even when its data cannot: the call waits for it.
func TestFaultWithBadData(t *testing.T) {
	t.Parallel()
	f := &fault{id: json.RawMessage(`"x"`), err: &jsonrpc.Error{Code: 1, Message: "m", Data: json.RawMessage(`{"uri":"\x00"}`)}}
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`, string(f.encode()))
}
