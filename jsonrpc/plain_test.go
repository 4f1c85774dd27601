package jsonrpc

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// byDecoder is scan without the shortcut.
func byDecoder(data []byte) (envelope, error) {
	var e envelope
	err := newScanner().members(data, &e)
	return e, err
}

var plainMessages = []string{
	`{"jsonrpc":"2.0","id":"a-1","result":{}}`,
	`{"result":{"content":[{"type":"text","text":"it is 7"}],"isError":false},"id":7,"jsonrpc":"2.0"}`,
	`{"jsonrpc":"2.0","id":-12,"result":[1,-0,0,[],[[]],{"a":null,"b":true},"~ !"]}`,
	`{"jsonrpc":"2.0","id":0,"result":null}`,
	`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{}}}`,
	`{"method":"ping","id":"a","jsonrpc":"2.0"}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`,
}

func TestPlainMessage(t *testing.T) {
	t.Parallel()
	for _, message := range plainMessages {
		var e envelope
		require.True(t, plainMessage([]byte(message), &e), "%s", message)
		want, err := byDecoder([]byte(message))
		require.NoError(t, err, "%s", message)
		require.Equal(t, want, e, "%s", message)
		for cut := range message {
			require.False(t, plainMessage([]byte(message[:cut]), &e), "%s", message[:cut])
		}
	}
}

// Invalid messages, and those that are not plain, are left to the decoder.
func TestNotPlain(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", maxFlatDepth) + strings.Repeat("]", maxFlatDepth)
	var names []string
	for n := range maxFlatNames + 1 {
		names = append(names, `"`+string(rune('a'+n))+`":1`)
	}
	for name, message := range map[string]string{
		"white space":          `{"jsonrpc": "2.0","id":1,"result":{}}`,
		"an escape":            `{"jsonrpc":"2.0","id":1,"result":"\u0041"}`,
		"not ASCII":            `{"jsonrpc":"2.0","id":1,"result":"é"}`,
		"a control character":  "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\t\"}",
		"duplicate names":      `{"jsonrpc":"2.0","id":1,"result":{"a":1,"b":2,"a":3}}`,
		"a member twice":       `{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`,
		"an id twice":          `{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`,
		"a version twice":      `{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"result":{}}`,
		"another version":      `{"jsonrpc":"1.0","id":1,"result":{}}`,
		"no version":           `{"id":1,"result":{}}`,
		"no id":                `{"jsonrpc":"2.0","result":{}}`,
		"a null id":            `{"jsonrpc":"2.0","id":null,"result":{}}`,
		"an object as id":      `{"jsonrpc":"2.0","id":{},"result":{}}`,
		"no result":            `{"jsonrpc":"2.0","id":1}`,
		"an error":             `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}`,
		"a request and result": `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`,
		"a request with null":  `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		"a method twice":       `{"jsonrpc":"2.0","id":1,"method":"","method":"a"}`,
		"params twice":         `{"jsonrpc":"2.0","id":1,"method":"a","params":{},"params":{}}`,
		"params of null":       `{"jsonrpc":"2.0","id":1,"method":"a","params":null}`,
		"params of a list":     `{"jsonrpc":"2.0","id":1,"method":"a","params":[]}`,
		"a method of a number": `{"jsonrpc":"2.0","id":1,"method":1}`,
		"no method":            `{"jsonrpc":"2.0","id":1,"params":{}}`,
		"another member":       `{"jsonrpc":"2.0","id":1,"result":{},"x":1}`,
		"bytes behind":         `{"jsonrpc":"2.0","id":1,"result":{}}{}`,
		"a leading zero":       `{"jsonrpc":"2.0","id":1,"result":01}`,
		"a lone minus":         `{"jsonrpc":"2.0","id":1,"result":-}`,
		"a fraction":           `{"jsonrpc":"2.0","id":1,"result":1.5}`,
		"an exponent":          `{"jsonrpc":"2.0","id":1,"result":1e5}`,
		"a word":               `{"jsonrpc":"2.0","id":1,"result":trux}`,
		"a trailing comma":     `{"jsonrpc":"2.0","id":1,"result":[1,]}`,
		"one in an object":     `{"jsonrpc":"2.0","id":1,"result":{"a":1,}}`,
		"no comma":             `{"jsonrpc":"2.0","id":1,"result":[1 2]}`,
		"no colon":             `{"jsonrpc":"2.0","id":1,"result":{"a"1}}`,
		"deep nesting":         `{"jsonrpc":"2.0","id":1,"result":` + deep + `}`,
		"many names":           `{"jsonrpc":"2.0","id":1,"result":{` + strings.Join(names, ",") + `}}`,
		"a long one":           `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", maxFlat) + `"}`,
	} {
		require.False(t, plainMessage([]byte(message), &envelope{}), name)
	}
}

// The shortcut must not accept a message that the decoder rejects or reads differently.
func FuzzPlainMessage(f *testing.F) {
	for _, message := range plainMessages {
		f.Add([]byte(message))
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		require.True(t, !isPlainValue(data) || jsontext.Value(data).IsValid())
		var e envelope
		if !plainMessage(data, &e) {
			return
		}
		want, err := byDecoder(data)
		require.NoError(t, err)
		require.Equal(t, want, e)
	})
}
