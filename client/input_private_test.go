package client

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A form and what was filled in come from others: whatever they are, what is
// sent is an object that keeps what the user said.
func FuzzForm(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"integer","default":7},"b":{"type":"string","enum":["x"]}},"required":["b"]}`, `{"b":"x"}`)
	f.Add(`{"properties":{"a":{"items":{"anyOf":[{"const":"y","title":"Y"}]},"type":"array"}}}`, `{"a":["y"]}`)
	f.Add(`{"type":"object","properties":{"\u0061":{"default":1}}}`, `{"a":2}`)
	f.Add(`{"$ref":"#"}`, ` {} `)
	f.Fuzz(func(t *testing.T, schema, content string) {
		if !json.Valid([]byte(schema)) {
			return // params are JSON before they get here
		}
		form, err := readForm(json.RawMessage(schema))
		if err != nil {
			return
		}
		out, err := form.complete(json.RawMessage(content))
		if err != nil {
			return
		}
		var got, said map[string]json.RawMessage
		require.NoError(t, jsonrpc.Unmarshal(out, &got))
		if content != "" {
			require.NoError(t, jsonrpc.Unmarshal([]byte(content), &said))
		}
		for name, value := range said {
			require.JSONEq(t, string(value), string(got[name]))
		}
	})
}

// Whatever state a server gives goes back as it is (MRTR-04).
func FuzzInterim(f *testing.F) {
	f.Add(`{"resultType":"input_required","requestState":"a\u2028<\ud83d\ude00"}`)
	f.Add(`{"inputRequests":{"a":{"method":"roots/list"}},"\u0072equestState":"x"}`)
	f.Add(`{"requestState":null,"inputRequests":{}}`)
	f.Fuzz(func(t *testing.T, result string) {
		message := []byte(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`)
		m, err := jsonrpc.Decode(message)
		if err != nil {
			return
		}
		raw := m.(jsonrpc.Response).Result
		need, err := readInputRequired(raw)
		if err != nil {
			return
		}
		responses := mcp.InputResponses{}
		for key := range need.Requests {
			responses[key] = json.RawMessage(`{}`)
		}
		round, err := encodeRound(responses, need.State)
		require.NoError(t, err)
		var back struct {
			InputResponses map[string]json.RawMessage `json:"inputResponses"`
			RequestState   json.RawMessage            `json:"requestState"`
		}
		require.NoError(t, jsonrpc.Unmarshal([]byte("{"+string(round)+"}"), &back))
		require.Len(t, back.InputResponses, len(need.Requests))
		require.Equal(t, string(need.State), string(back.RequestState))
	})
}
