package doc_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

func TestOpenAndAppend(t *testing.T) {
	t.Parallel()
	require.Nil(t, doc.OpenObject(nil))
	for given, want := range map[string]string{
		`{}`:         `{"b":2`,
		`{"a":{}}`:   `{"a":{},"b":2`,
		`{"a":"}"} `: `{"a":"}","b":2`,
	} {
		raw := json.RawMessage(given)
		require.Equal(t, want, string(doc.AppendMembers(doc.OpenObject(raw), doc.Pair("b", []byte(`2`)))))
		require.Equal(t, given, string(raw), "appending copies: the rest of the object stays as it is")
	}
	require.Equal(t, `{`, string(doc.AppendMembers([]byte{'{'}, nil)))
}

func TestCut(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ given, open, value string }{
		"absent":      {`{"a":1}`, `{"a":1`, ``},
		"alone":       {`{"_meta":{"k":1}}`, `{`, `{"k":1}`},
		"first":       {`{"_meta":{},"a":1}`, `{"a":1`, `{}`},
		"in between":  {`{"a":1,"_meta":2,"b":3}`, `{"a":1,"b":3`, `2`},
		"escaped":     {`{"\u005fmeta":2,"b":3}`, `{"b":3`, `2`},
		"not its own": {`{"a":{"_meta":1}}`, `{"a":{"_meta":1}`, ``},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open, value, err := doc.Cut(json.RawMessage(tt.given), "_meta")
			require.NoError(t, err)
			require.Equal(t, tt.open, string(open))
			require.Equal(t, tt.value, string(value))
		})
	}
	_, _, err := doc.Cut(json.RawMessage(`[1]`), "_meta")
	require.Error(t, err)
}

func TestReading(t *testing.T) {
	t.Parallel()
	members, err := doc.MembersOf(json.RawMessage(`{ "a" : 1, "b":{} }`))
	require.NoError(t, err)
	require.Equal(t, `"a":1,"b":{}`, string(members))
	_, err = doc.MembersOf(json.RawMessage(`7`))
	require.Error(t, err)

	require.Equal(t, json.RawMessage(`null`), doc.Find([]byte(`{"a":null}`), "a"))
	require.Equal(t, json.RawMessage(`{"a":1}`), doc.Find([]byte(`{"b":{"a":1}`), "b"), "without the closing brace")
	require.Nil(t, doc.Find([]byte(`{"b":{"a":1}}`), "a"))
	require.Nil(t, doc.Find([]byte(`"a"`), "a"))

	require.Equal(t, byte('{'), doc.First(json.RawMessage(" \t{}")))
	require.Zero(t, doc.First(nil))
}
