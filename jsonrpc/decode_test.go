package jsonrpc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestDecode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     Message
	}{
		{"request", `{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}}`, Request{ID: StringID("a"), Method: "m", Params: raw(`{"x":1}`)}},
		{"any order, any space", " {\t\"params\" : { } ,\r\n\"method\":\"m\", \"id\" : 1 , \"jsonrpc\":\"2.0\" } \r\n", Request{ID: IntID(1), Method: "m", Params: raw(`{ }`)}},
		{"notification", `{"jsonrpc":"2.0","method":"m"}`, Notification{Method: "m"}},
		{"success", `{"jsonrpc":"2.0","id":7,"result":{"a":[1,2]}}`, Response{ID: IntID(7), Result: raw(`{"a":[1,2]}`)}},
		{"failure", `{"jsonrpc":"2.0","id":7,"error":{"code":404,"message":"x","data":[1.0]}}`, Response{ID: IntID(7), Error: &Error{Code: 404, Message: "x", Data: raw(`[1.0]`)}}},
		{"RPC-02: an id over 2^53", `{"jsonrpc":"2.0","id":9007199254740993,"result":{}}`, Response{ID: IntID(9007199254740993), Result: raw(`{}`)}},
		{"RPC-02: an escaped id is its text", `{"jsonrpc":"2.0","id":"\u0061b","result":{}}`, Response{ID: StringID("ab"), Result: raw(`{}`)}},
		{"RPC-02: minus zero is zero", `{"jsonrpc":"2.0","id":-0,"result":{}}`, Response{ID: IntID(0), Result: raw(`{}`)}},
		{"RPC-08: odd but legal code", `{"jsonrpc":"2.0","id":1,"error":{"message":"","code":0}}`, Response{ID: IntID(1), Error: &Error{}}},
		{"RPC-08: escaped names of the error are its names", `{"jsonrpc":"2.0","id":1,"error":{"\u0063ode":1,"mess\u0061ge":"m"}}`, Response{ID: IntID(1), Error: &Error{Code: 1, Message: "m"}}},
		{"RPC-09: an error without id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}`, Response{Error: &Error{Code: -32700, Message: "?"}}},
		{"RPC-10: an error with a null id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`, Response{Error: &Error{Code: -32700, Message: "?"}}},
		{"a null result", `{"jsonrpc":"2.0","id":1,"result":null}`, Response{ID: IntID(1), Result: raw(`null`)}},
		{"a null error after a result", `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, Response{ID: IntID(1), Result: raw(`{}`)}},
		{"a null error before a result", `{"jsonrpc":"2.0","error":null,"id":1,"result":{}}`, Response{ID: IntID(1), Result: raw(`{}`)}},
		{"a null result beside an error", `{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"m"}}`, Response{ID: IntID(1), Error: &Error{Code: 1, Message: "m"}}},
		{"null params", `{"jsonrpc":"2.0","method":"m","params":null}`, Notification{Method: "m"}},
		{"RPC-19: unknown members", `{"x":{"y":[]},"jsonrpc":"2.0","id":1,"result":{"z":1},"é":null}`, Response{ID: IntID(1), Result: raw(`{"z":1}`)}},
		{"RPC-20: capitals are other names", `{"jsonrpc":"2.0","id":1,"ID":2,"Result":5,"RESULT":6,"result":{}}`, Response{ID: IntID(1), Result: raw(`{}`)}},
		{"an escaped name is its name", `{"jsonrpc":"2.0","\u0069d":1,"res\u0075lt":{}}`, Response{ID: IntID(1), Result: raw(`{}`)}},
		{"RPC-21: numbers as written", `{"jsonrpc":"2.0","id":1,"result":{"n":9007199254740993,"m":1.10}}`, Response{ID: IntID(1), Result: raw(`{"n":9007199254740993,"m":1.10}`)}},
		{"method with escapes", `{"jsonrpc":"2.0","method":"a\/b\u00e9"}`, Notification{Method: "a/bé"}},
		{"raw line breaks between members", "{\"jsonrpc\":\"2.0\",\n\"id\":1,\n\"result\":{\n}}", Response{ID: IntID(1), Result: raw("{\n}")}},

		{"decisions 10: lone surrogate in a result", `{"jsonrpc":"2.0","id":1,"result":{"t":"cut \ud83d"}}`, Response{ID: IntID(1), Result: raw(`{"t":"cut \ufffd"}`)}},
		{"decisions 10: invalid UTF-8 in a result", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":\"\xf0\x9f\x98\"}}", Response{ID: IntID(1), Result: raw("{\"t\":\"\uFFFD\uFFFD\uFFFD\"}")}},
		{"decisions 10: in params", `{"jsonrpc":"2.0","method":"m","params":{"t":"\udc00\ud83d\ude00"}}`, Notification{Method: "m", Params: raw(`{"t":"\ufffd\ud83d\ude00"}`)}},
		{"decisions 10: in error data", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":"\uD800\uD800\n"}}`, Response{ID: IntID(1), Error: &Error{Code: 1, Message: "m", Data: raw(`"\ufffd\ufffd\n"`)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Decode([]byte(tt.in))
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	// id is the id that can still be read, so that the call fails at once.
	tests := []struct {
		name, in string
		syntax   bool
		id       ID
	}{
		{"nothing", ``, true, ID{}},
		{"white space", " \r\n", true, ID{}},
		{"not JSON", `Listening on port 1`, true, ID{}},
		{"a string", `"x"`, false, ID{}},
		{"null", `null`, false, ID{}},
		{"RPC-17: a batch", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, false, ID{}},
		{"an empty object", `{}`, false, ID{}},
		{"bytes after the end", `{"jsonrpc":"2.0","id":1,"result":{}}x`, true, IntID(1)},
		{"two messages", `{"jsonrpc":"2.0","id":1,"result":{}}{"jsonrpc":"2.0","id":2,"result":{}}`, true, IntID(1)},
		{"cut short", `{"jsonrpc":"2.0","id":1,"result":{"a":`, true, IntID(1)},

		{"RPC-01: no version", `{"id":1,"result":{}}`, false, IntID(1)},
		{"RPC-01: another version", `{"jsonrpc":"1.0","id":1,"result":{}}`, false, IntID(1)},
		{"RPC-01: a number", `{"jsonrpc":2.0,"id":1,"result":{}}`, false, IntID(1)},
		{"RPC-02: fraction", `{"jsonrpc":"2.0","id":1.0,"result":{}}`, false, ID{}},
		{"RPC-02: exponent", `{"jsonrpc":"2.0","id":1e3,"result":{}}`, false, ID{}},
		{"RPC-02: true", `{"jsonrpc":"2.0","id":true,"result":{}}`, false, ID{}},
		{"RPC-02: a request with a null id", `{"jsonrpc":"2.0","id":null,"method":"m"}`, false, ID{}},
		{"a result without id", `{"jsonrpc":"2.0","result":{}}`, false, ID{}},
		{"a result with a null id", `{"jsonrpc":"2.0","id":null,"result":{}}`, false, ID{}},
		{"surrogate in an id", `{"jsonrpc":"2.0","id":"\ud800","result":{}}`, false, ID{}},
		{"invalid UTF-8 in an id", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"result\":{}}", false, ID{}},
		{"surrogate in a method", `{"jsonrpc":"2.0","id":1,"method":"\udfff"}`, false, IntID(1)},
		{"invalid UTF-8 in a method", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", false, IntID(1)},
		{"method is a number", `{"jsonrpc":"2.0","id":1,"method":1}`, false, IntID(1)},

		{"RPC-07: both", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, false, IntID(1)},
		{"RPC-07: neither", `{"jsonrpc":"2.0","id":1}`, false, IntID(1)},
		{"RPC-07: only a null error", `{"jsonrpc":"2.0","id":1,"error":null}`, false, IntID(1)},
		{"RPC-20: only RESULT", `{"jsonrpc":"2.0","id":1,"RESULT":{}}`, false, IntID(1)},
		{"method and result", `{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, false, IntID(1)},
		{"RPC-08: error is a string", `{"jsonrpc":"2.0","id":1,"error":"x"}`, false, IntID(1)},
		{"RPC-08: no code", `{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}`, false, IntID(1)},
		{"RPC-08: no message", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, false, IntID(1)},
		{"RPC-08: fractional code", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"x"}}`, false, IntID(1)},
		{"RPC-08: code is a string", `{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"x"}}`, false, IntID(1)},
		{"RPC-08: message is null", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null}}`, false, IntID(1)},
		{"RPC-12: params is an array", `{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`, false, IntID(1)},
		{"RPC-12: params is a string", `{"jsonrpc":"2.0","method":"m","params":"x"}`, false, ID{}},

		{"RPC-20: two results", `{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`, false, IntID(1)},
		{"RPC-20: two ids", `{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`, false, IntID(1)},
		{"RPC-20: two ids, one escaped", `{"jsonrpc":"2.0","id":1,"\u0069d":2,"result":{}}`, false, IntID(1)},
		{"RPC-20: two unknown members", `{"jsonrpc":"2.0","id":1,"x":1,"x":2,"result":{}}`, false, IntID(1)},
		{"RPC-20: duplicates in a result, id first", `{"jsonrpc":"2.0","id":1,"result":{"a":[{"b":1,"b":2}]}}`, false, IntID(1)},
		{"RPC-20: duplicates in a result, id last", `{"jsonrpc":"2.0","result":{"a":[{"b":1,"b":2}]},"id":"x"}`, false, StringID("x")},
		{"RPC-20: duplicates in error data", `{"result":1,"jsonrpc":"2.0","error":{"code":1,"message":"","data":{"a":1,"a":1}},"id":3}`, false, IntID(3)},

		{"performance 5: raw newline in a string", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"x\ny\"}}", true, IntID(1)},
		{`performance 5: \x41`, `{"jsonrpc":"2.0","id":1,"result":{"a":"\x41"}}`, true, IntID(1)},
		{"performance 5: [tru]", `{"jsonrpc":"2.0","id":1,"result":{"a":[tru]}}`, true, IntID(1)},
		{"performance 5: 01", `{"jsonrpc":"2.0","id":1,"result":{"a":01}}`, true, IntID(1)},
		{"a comma too many", `{"jsonrpc":"2.0","id":1,"result":{},}`, true, IntID(1)},

		{"salvage: the id is the last member", `{"jsonrpc":"2.0","result":{"a":tru},"id":"a\u0062"}`, true, StringID("ab")},
		{"salvage: then only the version", `{"result":{"a":tru}, "id" : 12 , "jsonrpc":"2.0" }`, true, IntID(12)},
		{"salvage: with CRLF", "{\"result\":tru,\"id\":5}\r\n", true, IntID(5)},
		{"salvage: not an id of the result", `{"jsonrpc":"2.0","result":{"a":tru,"b":{"id":5}}}`, true, ID{}},
		{"salvage: not text that looks like one", `{"jsonrpc":"2.0","result":tru,"x":"\"id\":5"}`, true, ID{}},
		{"salvage: not a fraction", `{"jsonrpc":"2.0","result":tru,"id":5.5}`, true, ID{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Decode([]byte(tt.in))
			require.Nil(t, got)
			require.ErrorIs(t, err, ErrInvalid)
			var de *DecodeError
			require.ErrorAs(t, err, &de)
			require.NotEmpty(t, de.Reason)
			require.Equal(t, tt.syntax, de.Syntax, de.Reason)
			require.Equal(t, tt.id, de.ID, de.Reason)
			require.True(t, strings.HasPrefix(tt.in, string(de.Head)))
		})
	}
}

// nested returns a result nested to depth, counting the message itself.
func nested(depth int, before, after string) string {
	return `{"jsonrpc":"2.0",` + before + `"result":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + after + `}`
}

func TestDecodeBoundsDepth(t *testing.T) {
	t.Parallel()
	_, err := Decode([]byte(nested(DefaultDepth, `"id":1,`, "")))
	require.NoError(t, err)
	// 20,000 and 5,000,000 levels are hostile messages.
	for _, depth := range []int{DefaultDepth + 1, 9_999, 20_000, 5_000_000} {
		for name, text := range map[string]string{
			"id first": nested(depth, `"id":"x",`, ""),
			"id last":  nested(depth, "", `,"id":"x"`),
			"unclosed": `{"jsonrpc":"2.0","id":"x","result":` + strings.Repeat(`{"a":`, depth),
		} {
			_, err := Decode([]byte(text))
			var de *DecodeError
			require.ErrorAs(t, err, &de, "%s %d", name, depth)
			require.Contains(t, de.Reason, "deeper than 512", "%s %d", name, depth)
			require.False(t, de.Syntax, "%s %d", name, depth)
			require.True(t, de.TooLarge, "%s %d", name, depth)
			require.Equal(t, StringID("x"), de.ID, "%s %d", name, depth)
		}
	}
	brackets := `{"jsonrpc":"2.0","id":1,"result":{"a":"` + strings.Repeat(`[{\"`, 2_000) + `"}}`
	_, err = Decode([]byte(brackets))
	require.NoError(t, err, "brackets in text are no nesting")
	wide := `{"jsonrpc":"2.0","id":1,"result":[` + strings.Repeat(`[],`, 2_000) + `[]]}`
	_, err = Decode([]byte(wide))
	require.NoError(t, err, "many brackets are not deep")
}

func TestDecodeErrorSaysWhatItSaw(t *testing.T) {
	t.Parallel()
	_, err := Decode([]byte("\x1b[2J" + strings.Repeat("x", 10_000)))
	var de *DecodeError
	require.ErrorAs(t, err, &de)
	require.Len(t, de.Head, 200)
	require.NotContains(t, err.Error(), "\x1b")
	require.Less(t, len(err.Error()), 500)
}

// A pooled decoder must not keep its last message in memory.
func TestScannerKeepsNoLargeMessage(t *testing.T) {
	t.Parallel()
	s := newScanner()
	var e envelope
	large := []byte(`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 1<<20) + `"}`)
	require.NoError(t, s.scan(large, DefaultDepth, &e))
	require.Empty(t, s.dec.UnreadBuffer())
	require.Less(t, cap(s.dec.UnreadBuffer()), 1<<20)
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\ud800"}}`,
		`{"jsonrpc":"2.0","method":"m"}`,
		`{"jsonrpc":"2.0","id":"a","result":{"a":[1,2,{"b":null}]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m","data":"x"}}`,
		`{"jsonrpc":"2.0","result":tru,"id":5}`,
		`{"jsonrpc":"2.0","id":1,"id":1}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"\xff\":1,\"\xff\xff\":2}}",
		`{"jsonrpc":"2.0","id":1,"result":{"\ud800":1,"\ud801":2}}`,
		`[]`, `{`, `{}`, ``, `{}{}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := string(in)
		got, err := Decode(in)
		require.Equal(t, before, string(in), "the input was changed")
		if err != nil {
			var de *DecodeError
			require.ErrorAs(t, err, &de)
			require.False(t, de.Syntax && json.Valid(in), "JSON, but called none: %v", err)
			return
		}
		require.True(t, json.Valid(in), "not JSON, but taken")
		text := got.AppendJSON(nil)
		require.True(t, json.Valid(text))
		again, err := Decode(text)
		require.NoError(t, err, "%s", text)
		require.Equal(t, got, again)
	})
}

// DecodeAnswer agrees with Decode.
func TestDecodeAnswer(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"1","result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{"a":1}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`, `{"jsonrpc":"2.0","id":1,"method":"m"}`,
		`{"jsonrpc":"2.0","method":"m","params":{}}`, `{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`, `[]`, ``,
	} {
		want, wantErr := Decode([]byte(text))
		resp, other, err := DecodeAnswer([]byte(text), DefaultDepth, IntID(1))
		require.Equal(t, wantErr, err, text)
		switch want := want.(type) {
		case Response:
			require.Nil(t, other, text)
			require.Equal(t, want, resp, text)
		default:
			require.Equal(t, want, other, text)
			require.Zero(t, resp, text)
		}
	}
}
