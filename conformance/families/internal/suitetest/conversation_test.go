package suitetest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	conversations "github.com/mainstay-mcp/mainstay/conformance/checks/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// conversationRewrites has, for each check of the TALK conversations, a server that
// answers the first of its requests with the opposite of what has to come: an
// error for a result, a result for an error, an answer where none is due. The other
// conversations have servers of their own, which are subtler.
func conversationRewrites() map[string]rewritten {
	all := map[string]rewritten{}
	for _, c := range conversations.All() {
		for _, check := range c.Checks {
			if strings.HasPrefix(check, "TALK-") {
				all[check] = contradicts(c.Turns[check])
			}
		}
	}
	all["TALK-RESOURCES/traversal"] = answering("etc/passwd", func(m fakeMessage) any {
		return success(m.id, reply{"contents": []any{reply{"uri": "file:///etc/passwd", "text": "root:x:0:0"}}})
	})
	return all
}

func contradicts(turns []talk.Turn) rewritten {
	var sent, want talk.Turn
	for _, t := range turns {
		if t.Send != nil {
			sent = t
		} else {
			want = t
			break
		}
	}
	if want.None {
		stray := []any{success(json.RawMessage(`"stray"`), reply{})}
		return rewritten{line: func(line []byte) ([]any, bool) {
			in := wire.Received(sent.Send, nil)
			key := in.Method()
			if key == "" {
				key = in.ID()
			}
			return stray, strings.Contains(string(line), strings.Trim(key, `"`))
		}}
	}
	return rewritten{first: func(m fakeMessage) ([]any, bool) {
		if string(m.id) != sent.ID {
			return nil, false
		}
		wantsResult := false
		if pattern, _ := want.Want.Value.(map[string]any); pattern["error"] == "$absent" || pattern["error"] == nil {
			wantsResult = !strings.HasSuffix(m.method, "/list") // which may be refused, but not be without its list
		}
		if wantsResult {
			return []any{failure(m.id, wire.CodeInternal, "no", nil)}, true
		}
		return []any{success(m.id, reply{})}, true
	}}
}

func TestReadConversation(t *testing.T) {
	t.Parallel()
	const head = "id: T\n\n"
	const check = "-- T/x --\n> {\"id\":\"a\",\"method\":\"ping\"}\n"
	for name, text := range map[string]string{
		"no id":              "capability: tools\n",
		"an unknown line":    "id: T\ncolour: red\n",
		"a text of a check":  head + "-- T/x --\nMUST it holds\n> {\"id\":\"a\",\"method\":\"ping\"}\n",
		"nothing is said":    head + "-- T/x --\n",
		"a line that is bad": head + check + "> {\"id\":\n",
		"no pattern":         head + check + "< {\n",
		"an unknown kind":    head + check + "<newer {\"result\":{}}\n",
		"a row too short":    head + "-- T/$a --\neach: a | b\n- x\n> {\"id\":\"a\",\"method\":\"ping\"}\n",
		"nothing to look at": head + "-- T/x --\n< {\"result\":{}}\n",
		"a keep without why": head + check + "keep uri: /result/uri\n",
	} {
		_, err := talk.ReadConversations([]byte(text))
		require.Error(t, err, name)
	}
	c, err := talk.ReadConversations([]byte(head + check + "< {\"id\":\"a\",\"result\":\"$empty\"}\n"))
	require.NoError(t, err)
	require.Len(t, c, 1)
	require.Equal(t, []string{"T/x"}, c[0].Checks)
	require.Len(t, c[0].Turns["T/x"], 2)
}

func TestReadConversationRows(t *testing.T) {
	t.Parallel()
	all, err := talk.ReadConversations([]byte(`id: T-$list
each: list | number
- tools | 1
- prompts | 2

-- T/$list-$word --
each: word | params
- none | {}
- both | {"x":[1,2]}
> {"id":$number,"method":"$list/$word","params":$params}
< {"id":$number}

-- T/$list-all --
each: method
- ping
- $list/list
> {"id":"$id","method":"$method"}
< {"result":"$object"}

-- T/$list-again --
< {"error":"$absent"}
`))
	require.NoError(t, err)
	require.Len(t, all, 2)
	c := all[1]
	require.Equal(t, "T-prompts", c.Scenario.ID)
	require.Equal(t, []string{"T/prompts-none", "T/prompts-both", "T/prompts-all", "T/prompts-again"}, c.Checks)
	require.JSONEq(t, `{"id":2,"method":"prompts/both","params":{"x":[1,2]}}`, string(c.Turns["T/prompts-both"][0].Send))
	require.Len(t, c.Turns["T/prompts-all"], 4, "a row that is not in the id is lines of the check")
	again := c.Turns["T/prompts-again"]
	require.Len(t, again, 3, "it sends what the section before sends")
	require.JSONEq(t, `{"id":"$id","method":"prompts/list"}`, string(again[1].Send))
}

func TestPattern(t *testing.T) {
	t.Parallel()
	tests := []struct{ pattern, value, fault string }{
		{`{"a":1}`, `{"a":1,"b":2}`, ""},
		{`{"a":1}`, `{"a":2}`, "(/a: another value)"},
		{`{"a":1}`, `{}`, "(/a: is missing)"},
		{`{"a":"$absent"}`, `{}`, ""},
		{`{"a":"$absent"}`, `{"a":null}`, "(/a: is there)"},
		{`{"a":"x"}`, `{"a":"y"}`, "(/a: another text)"},
		{`{"a":null}`, `{"a":null}`, ""},
		{`[1,"$any"]`, `[1,{}]`, ""},
		{`[1]`, `[1,2]`, "(/: not an array of 1)"},
		{`{"a":"$string"}`, `{"a":7}`, "(/a: not string)"},
		{`{"a":"$integer"}`, `{"a":7.5}`, "(/a: not integer)"},
		{`{"a":"$integer"}`, `{"a":-32601}`, ""},
		{`{"a":"$boolean"}`, `{"a":false}`, ""},
		{`{"a":"$object"}`, `{"a":[]}`, "(/a: not object)"},
		{`{"a":"$array"}`, `{"a":[]}`, ""},
		{`{"a":"$empty"}`, `{"a":{"_meta":{},"resultType":"complete"}}`, ""},
		{`{"a":"$empty"}`, `{"a":{"x":1}}`, "(/a: not empty)"},
		{`{"a":{"$or":[1,2]}}`, `{"a":2}`, ""},
		{`{"a":{"$or":[1,2]}}`, `{"a":3}`, "(/a: none of what is allowed)"},
		{`{}`, `[]`, "(/: not an object)"},
		{`{}`, `x`, "it is no JSON: invalid character 'x' looking for beginning of value"},
	}
	for _, tt := range tests {
		p, err := talk.ReadPattern([]byte(tt.pattern))
		require.NoError(t, err, tt.pattern)
		require.Equal(t, tt.fault, p.Fault([]byte(tt.value)), "%s against %s", tt.value, tt.pattern)
	}
}
