package ask

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The state of a server is returned unchanged.
func FuzzRound(f *testing.F) {
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
		asked, err := ReadRound(raw)
		if err != nil {
			return
		}
		responses := mcp.InputResponses{}
		for key := range asked.Requests {
			responses[key] = json.RawMessage(`{}`)
		}
		members, err := Encode(responses, asked.State)
		require.NoError(t, err)
		var back struct {
			InputResponses map[string]json.RawMessage `json:"inputResponses"`
			RequestState   json.RawMessage            `json:"requestState"`
		}
		require.NoError(t, jsonrpc.Unmarshal([]byte("{"+string(members)+"}"), &back))
		require.Len(t, back.InputResponses, len(asked.Requests))
		require.Equal(t, string(asked.State), string(back.RequestState))
	})
}
